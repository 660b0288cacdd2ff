"""The plan of micro-batches, and the proof that the engine carried it out."""

from dataclasses import replace

import pytest

pytest.importorskip("pyarrow")

from conformance.engine import NotDriven
from conformance.model import Advance, Case, Deliver, Event, Pack, Restart, Schedule
from engines.spark.driving import MicroBatch, millis, plan, prove

SCHEDULE = Schedule(
    (
        Advance(0, 1_000),
        Deliver(1, (Event("e1", "a", None, 1_500), Event("e2", "b", None, 1_600))),
        Deliver(2),
        Advance(3, 2_000),
        Advance(4, 3_000),
        Deliver(5, (Event("e3", "a", None, 3_500),)),
        Advance(6, 9_000),
    )
)
PACK = Pack((Case("s", "p", SCHEDULE),))


def _progress(rows=(1, 1, 3, 1, 1, 1, 1, 2, 1), watermarks=(0, 1_000, 1_000, 1_000, 2_000, 2_000, 3_000, 3_000, 9_000)):
    return [
        {
            "batchId": i,
            "runId": "one",
            "numInputRows": n,
            "eventTime": {"watermark": f"1970-01-01T00:00:{w // 1000:02d}.{w % 1000:03d}Z"},
        }
        for i, (n, w) in enumerate(zip(rows, watermarks, strict=True))
    ]


def test_the_plan_settles_every_advance():
    """The first advance takes two batches; a bundle carries the next advance; an advance alone takes two."""
    assert plan(SCHEDULE.clock) == [
        MicroBatch(0, False, 1_000),
        MicroBatch(0, False, 1_000),
        MicroBatch(1, True, 1_000),
        MicroBatch(2, True, 2_000),
        MicroBatch(3, False, 2_000),
        MicroBatch(4, False, 3_000),
        MicroBatch(4, False, 3_000),
        MicroBatch(5, True, 9_000),
        MicroBatch(6, False, 9_000),
    ]


def test_chains_of_timers_settle_longer():
    assert len(plan(SCHEDULE.clock, settling=3)) == len(plan(SCHEDULE.clock)) + 2 * 4


def test_a_restart_begins_another_query():
    steps = (*SCHEDULE.clock[:4], Restart(10), *(replace(step, id=step.id + 10) for step in SCHEDULE.clock[4:]))
    assert [batch.query for batch in plan(steps)] == [0] * 5 + [1] * 4


def test_a_schedule_that_was_driven_is_proven():
    prove(PACK, plan(SCHEDULE.clock), _progress())


@pytest.mark.parametrize(
    ("progress", "says"),
    [
        (_progress(rows=(1, 1, 2, 1, 1, 1, 1, 2, 1)), "read 2 rows, not 3"),
        (_progress(rows=(1, 1, 5, 1, 1, 1, 1, 2, 1)), "read 5 rows, not 3"),
        (
            _progress(watermarks=(0, 1_001, 1_001, 1_001, 2_000, 2_000, 3_000, 3_000, 9_000)),
            "at watermark 1001, not 1000",
        ),
        (
            _progress(watermarks=(0, 1_000, 1_000, 1_000, 2_000, 2_000, 2_999, 3_000, 9_000)),
            "at watermark 2999, not 3000",
        ),
        (_progress()[:-1], "9 micro-batches were planned"),
        ([*_progress(), _progress()[3]], "9 micro-batches were planned"),
    ],
)
def test_anything_else_is_not(progress, says):
    with pytest.raises(NotDriven, match=says):
        prove(PACK, plan(SCHEDULE.clock), progress)


def test_a_restart_is_proven_by_the_run_ids():
    """One that was planned and missed is not driven, nor one that nobody planned."""
    steps = tuple(replace(step, id=step.id + (step.id > 3)) for step in SCHEDULE.steps)
    pack = Pack((Case("s", "p", Schedule((*steps[:4], Restart(4), *steps[4:]))),))
    batches = plan(pack.clock)
    progress = [{**p, "runId": f"query {batch.query}"} for p, batch in zip(_progress(), batches, strict=True)]
    prove(pack, batches, progress)
    with pytest.raises(NotDriven, match="a restart was missed"):
        prove(pack, batches, _progress())
    with pytest.raises(NotDriven, match="wrong query"):
        prove(PACK, plan(SCHEDULE.clock), progress)


@pytest.mark.parametrize("left_out", range(9))
def test_a_plan_that_lacks_a_batch_is_not_proven(left_out):
    """The proof follows the schedule, not the plan that was carried out."""
    batches = plan(SCHEDULE.clock)
    del batches[left_out]
    watermarks, rows, moved = [], [], 0
    for batch in batches:
        watermarks.append(moved)
        rows.append(1 + sum(1 for _ in PACK.bundle(batch.step)) if batch.bundle else 1)
        moved = batch.moves_to
    with pytest.raises(NotDriven):
        prove(PACK, batches, _progress(rows, watermarks))


def test_times_of_progress_reports():
    assert millis("1970-01-01T00:16:40.001Z") == 1_000_001
    assert millis("2024-02-29T00:00:00.000Z") == 1_709_164_800_000

"""The plan of micro-batches, and the proof that the engine carried it out."""

from dataclasses import replace
from datetime import datetime, timezone
from decimal import Decimal
from types import SimpleNamespace

import pytest

pytest.importorskip("pyarrow")

from conformance.engines.spark.driving.micro_batches import (
    SENTINELS,
    MicroBatch,
    flush,
    plan,
    rows_of,
    sentinels,
    write_file,
)
from conformance.engines.spark.driving.proof import millis, prove
from conformance.engines.spark.driving.traces import told
from conformance.engines.spark.jobs.job import Job
from conformance.engines.spark.operators.operator import HEARTBEAT
from conformance.generation.timelines import Family, draw_timelines
from conformance.model.case import Case
from conformance.model.engine import NotDriven
from conformance.model.perturbation import PERTURBATIONS
from conformance.model.runs import Pack
from conformance.model.schedule import (
    Advance,
    Deliver,
    Event,
    FailOnce,
    NoData,
    Partitions,
    Restart,
    Schedule,
    renumbered,
)

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


def _progress(
    rows=(1, 1, 3, 1, 1, 1, 1, 2, 1),
    watermarks=(0, 1_000, 1_000, 1_000, 2_000, 2_000, 3_000, 3_000, 9_000),
    queries="",
    partitions=2,
):
    return [
        {
            "batchId": i,
            "runId": f"query {query}",
            "sources": [{"numInputRows": n}],
            "eventTime": {"watermark": f"1970-01-01T00:00:{w // 1000:02d}.{w % 1000:03d}Z"},
            "stateOperators": [{"numShufflePartitions": partitions}],
        }
        for i, (n, w, query) in enumerate(zip(rows, watermarks, queries or "0" * len(rows), strict=True))
    ]


def _pack(*steps):
    return Pack((Case("s", "p", renumbered(steps)),))


def test_the_plan_settles_every_advance():
    """The first advance takes two batches; a bundle carries the next advance; an advance alone takes two."""
    assert plan(SCHEDULE.timeline) == [
        MicroBatch(0, False, 1_000, settled=0),
        MicroBatch(0, False, 1_000, settled=1_000),
        MicroBatch(1, True, 1_000, settled=1_000),
        MicroBatch(2, True, 2_000, settled=1_000),
        MicroBatch(3, False, 2_000, settled=2_000),
        MicroBatch(4, False, 3_000, settled=2_000),
        MicroBatch(4, False, 3_000, settled=3_000),
        MicroBatch(5, True, 9_000, settled=3_000),
        MicroBatch(6, False, 9_000, settled=9_000),
    ]


QUIET = Schedule((*SCHEDULE.steps[:4], NoData(10), Deliver(11), NoData(12), Advance(13, 3_000)))
"""Without data: after an advance, and after a bundle."""


def test_what_an_aggregation_behind_needs_comes_after_the_last_step():
    """The watermark moves a little further, in the query that ran last, and nothing fails again."""
    planned = plan(SCHEDULE.steps)
    assert [(batch.step, batch.bundle, batch.moves_to, batch.query) for batch in flush(planned)] == [
        (planned[-1].step, False, planned[-1].moves_to + 2, planned[-1].query)
    ] * 2


def test_a_step_without_data_has_a_micro_batch_without_rows():
    """What settles an advance right before it has none either, and the advance after it has a heartbeat of its own."""
    assert plan(QUIET.timeline)[3:] == [
        MicroBatch(2, True, 2_000, settled=1_000),
        MicroBatch(3, False, 2_000, settled=2_000, without_rows=True),
        MicroBatch(10, False, 2_000, settled=2_000, without_rows=True),
        MicroBatch(11, True, 2_000, settled=2_000),
        MicroBatch(12, False, 2_000, settled=2_000, without_rows=True),
        MicroBatch(13, False, 3_000, settled=2_000),
        MicroBatch(13, False, 3_000, settled=3_000),
    ]


def test_a_micro_batch_without_rows_is_a_file_without_rows(tmp_path):
    batches = plan(QUIET.timeline)
    for number, batch in enumerate(batches):
        write_file(tmp_path / "input", number, rows_of(batch, []))
    pq = pytest.importorskip("pyarrow.parquet")
    rows = [pq.read_table(path).num_rows for path in sorted((tmp_path / "input").glob("*.parquet"))]
    assert rows == [0 if batch.without_rows else 1 for batch in batches]


def test_a_row_where_none_was_planned_is_not_driven():
    batches, pack = plan(QUIET.timeline), Pack((Case("s", "p", QUIET),))
    watermarks = (0, 1_000, 1_000, 1_000, 2_000, 2_000, 2_000, 2_000, 2_000, 3_000)
    prove(pack, batches, _progress((1, 1, 3, 1, 0, 0, 1, 0, 1, 1), watermarks))
    with pytest.raises(NotDriven, match="read 1 rows, not 0"):
        prove(pack, batches, _progress((1, 1, 3, 1, 0, 1, 1, 0, 1, 1), watermarks))


def test_chains_of_timers_settle_longer():
    """But before the first element, when no timer can be set."""
    assert len(plan(SCHEDULE.timeline, settling=3)) == len(plan(SCHEDULE.timeline)) + 2 * 3


def test_a_restart_begins_another_query():
    steps = (*SCHEDULE.timeline[:4], Restart(10), *(replace(step, id=step.id + 10) for step in SCHEDULE.timeline[4:]))
    assert [batch.query for batch in plan(steps)] == [0] * 5 + [1] * 4


E1, E2, E3 = (Event(f"e{n}", "a", None, 1_500) for n in (1, 2, 3))
FIRST, BUNDLE, ADVANCE, LAST = Advance(0, 1_000), Deliver(0, (E1,)), Advance(0, 2_000), Advance(0, 9_000)
AFTER = Deliver(0, (E2, E3))
COALESCED = _pack(FIRST, BUNDLE, replace(ADVANCE, coalesced=True), AFTER, LAST)
SETTLED = _pack(FIRST, BUNDLE, ADVANCE, AFTER, LAST)
RESTARTED_AFTER_A_BUNDLE = _pack(FIRST, BUNDLE, Restart(0), ADVANCE, AFTER, LAST)
RETRIED = _pack(FIRST, FailOnce(0), BUNDLE, AFTER, LAST)
RESUMED = _pack(FIRST, FailOnce(0, resume=True), BUNDLE, AFTER, LAST)
REPARTITIONED = _pack(Partitions(0, 5), FIRST, BUNDLE, LAST)


def test_a_coalesced_advance_does_not_settle_before_the_next_bundle():
    """That bundle is filtered by the watermark before; the one after it is not."""
    assert plan(COALESCED.timeline) == [
        MicroBatch(0, False, 1_000, settled=0),
        MicroBatch(0, False, 1_000, settled=1_000),
        MicroBatch(1, True, 2_000, settled=1_000),
        MicroBatch(3, True, 9_000, settled=1_000),
        MicroBatch(4, False, 9_000, settled=9_000),
    ]
    another = _pack(FIRST, replace(ADVANCE, coalesced=True), BUNDLE, AFTER, LAST)
    assert plan(another.timeline)[2:] == [
        MicroBatch(1, False, 2_000, settled=1_000),
        MicroBatch(2, True, 2_000, settled=1_000),
        MicroBatch(3, True, 9_000, settled=2_000),
        MicroBatch(4, False, 9_000, settled=9_000),
    ]


def test_after_a_restart_the_bundle_before_it_carries_no_advance():
    assert plan(RESTARTED_AFTER_A_BUNDLE.timeline)[2:] == [
        MicroBatch(1, True, 1_000, settled=1_000),
        MicroBatch(3, False, 2_000, settled=1_000, query=1),
        MicroBatch(3, False, 2_000, settled=2_000, query=1),
        MicroBatch(4, True, 9_000, settled=2_000, query=1),
        MicroBatch(5, False, 9_000, settled=9_000, query=1),
    ]


@pytest.mark.parametrize(("pack", "query"), [(RETRIED, 0), (RESUMED, 1)], ids=["retried", "resumed"])
def test_a_bundle_that_fails_once_gets_sentinels(pack, query):
    """A retry stays in its query; where the job fails, another one resumes with that bundle."""
    fails = pack.timeline[1]
    batches = plan(pack.timeline)
    assert batches[2:] == [
        MicroBatch(2, True, 1_000, settled=1_000, query=query, fails=fails),
        MicroBatch(3, True, 9_000, settled=1_000, query=query),
        MicroBatch(4, False, 9_000, settled=9_000, query=query),
    ]
    assert [batch.query for batch in batches[:2]] == [0, 0]
    assert [batch.query - batch.begun for batch in batches] == [0, 0, fails.resume, 0, 0]
    assert [len(sentinels(batch)) for batch in batches] == [0, 0, SENTINELS, 0, 0]


@pytest.mark.parametrize("perturbation", [p for p in PERTURBATIONS if not p.keeps_timeline], ids=lambda p: p.id)
def test_bundles_and_timers_meet_the_watermarks_of_the_schedule(perturbation):
    """With Spark's rules: a micro-batch runs at the watermark that those before it set, and filters by that of the one
    before it."""
    for timeline in draw_timelines(0)[Family.SEVERAL]:
        events = {bundle.id: (Event(f"e{bundle.id}", "a", None, 1_300_000),) for bundle in timeline.bundles}
        case = Case("s", "p", timeline.with_bundles(events))
        twin = perturbation.twin(case, 0) or case
        schedule = twin.schedule
        batches = plan(schedule.timeline)
        ran_at = [0, *(batch.moves_to for batch in batches)]
        for arrival in schedule.arrivals:
            number = next(n for n, batch in enumerate(batches) if batch.bundle and batch.step == arrival.step)
            assert (ran_at[number], ran_at[number - 1]) == (arrival.watermark, arrival.settled)
        for time in [a.watermark + more for a in schedule.advances for more in (0, 1)]:
            fires_in = next((batch.step for batch, at in zip(batches, ran_at, strict=False) if at >= time), None)
            assert fires_in == schedule.due(time)


def test_a_schedule_that_was_driven_is_proven():
    prove(PACK, plan(SCHEDULE.timeline), _progress())


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
        prove(PACK, plan(SCHEDULE.timeline), progress)


OF_COALESCED = {"rows": (1, 1, 2, 3, 1), "watermarks": (0, 1_000, 1_000, 2_000, 9_000)}
OF_SETTLED = {"rows": (1, 1, 2, 1, 3, 1), "watermarks": (0, 1_000, 1_000, 2_000, 2_000, 9_000)}
OF_RESTARTED = {"rows": (1, 1, 2, 1, 1, 3, 1), "watermarks": (0, 1_000, 1_000, 1_000, 2_000, 2_000, 9_000)}
OF_FAILED = {"rows": (1, 1, 2 + SENTINELS, 3, 1), "watermarks": (0, 1_000, 1_000, 1_000, 9_000)}
OF_REPARTITIONED = {"rows": (1, 1, 2, 1), "watermarks": (0, 1_000, 1_000, 9_000)}


@pytest.mark.parametrize(
    ("pack", "progress"),
    [
        (COALESCED, _progress(**OF_COALESCED)),
        (SETTLED, _progress(**OF_SETTLED)),
        (RESTARTED_AFTER_A_BUNDLE, _progress(**OF_RESTARTED, queries="0001111")),
        (RETRIED, _progress(**OF_FAILED)),
        (RESUMED, _progress(**OF_FAILED, queries="00111")),
        (REPARTITIONED, _progress(**OF_REPARTITIONED, partitions=5)),
    ],
    ids=["coalesced", "settled", "restarted", "retried", "resumed", "repartitioned"],
)
def test_what_steps_ask_for_is_proven(pack, progress):
    prove(pack, plan(pack.timeline), progress)


@pytest.mark.parametrize(
    ("pack", "progress", "says"),
    [
        # the watermark moved one bundle too late, or too early
        (COALESCED, _progress((1, 1, 2, 3, 1), (0, 1_000, 1_000, 1_000, 9_000)), "3 .* watermark 1000, not 2000"),
        (COALESCED, _progress((1, 1, 2, 3, 1), (0, 1_000, 2_000, 2_000, 9_000)), "2 .* watermark 2000, not 1000"),
        (RESTARTED_AFTER_A_BUNDLE, _progress(**OF_RESTARTED), "3 .* a restart was missed"),
        (RESTARTED_AFTER_A_BUNDLE, _progress(**OF_RESTARTED, queries="0011111"), "2 .* wrong query"),
        (RESTARTED_AFTER_A_BUNDLE, _progress(**OF_RESTARTED, queries="0001222"), "4 .* wrong query"),
        (RETRIED, _progress(**OF_FAILED, queries="00111"), "2 .* wrong query"),
        (RETRIED, _progress((1, 1, 2, 3, 1), OF_FAILED["watermarks"]), f"2 .* read 2 rows, not {2 + SENTINELS}"),
        (RESUMED, _progress(**OF_FAILED), "2 .* a restart was missed"),
        (
            RESUMED,
            _progress((1, 1, 2, 3, 1), OF_FAILED["watermarks"], "00111"),
            f"2 .* read 2 rows, not {2 + SENTINELS}",
        ),
        (REPARTITIONED, _progress(**OF_REPARTITIONED), r"0 .* in \{2\} partitions, not 5"),
    ],
)
def test_steps_that_were_not_carried_out_are_noticed(pack, progress, says):
    with pytest.raises(NotDriven, match=f"micro-batch {says}"):
        prove(pack, plan(pack.timeline), progress)


@pytest.mark.parametrize(
    ("asked", "done", "progress"),
    [(COALESCED, SETTLED, OF_SETTLED), (SETTLED, COALESCED, OF_COALESCED)],
    ids=["settled", "did not settle"],
)
def test_an_engine_that_settled_elsewhere_is_noticed(asked, done, progress):
    """Before the bundle after a coalesced advance, or not before that after another."""
    with pytest.raises(NotDriven, match="was for step"):
        prove(asked, plan(done.timeline), _progress(**progress))


def test_a_bundle_that_was_filtered_by_another_watermark_is_noticed():
    """As where an advance gets no micro-batch to settle in."""
    batches = plan(SETTLED.timeline, settling=0)
    progress = _progress(rows=(1, 2, 3), watermarks=(0, 1_000, 2_000))
    with pytest.raises(NotDriven, match=r"micro-batch 1 .* filtered late rows at watermark 0, not 1000"):
        prove(SETTLED, batches, progress, settling=0)


def test_every_operator_has_the_partitions_asked_for():
    progress = _progress(**OF_REPARTITIONED, partitions=5)
    progress[2]["stateOperators"].append({"numShufflePartitions": 2})
    with pytest.raises(NotDriven, match=r"micro-batch 2 .* partitions, not 5"):
        prove(REPARTITIONED, plan(REPARTITIONED.timeline), progress)


def test_a_restart_is_proven_by_the_run_ids():
    """One that was planned and missed is not driven, nor one that nobody planned."""
    steps = tuple(replace(step, id=step.id + (step.id > 3)) for step in SCHEDULE.steps)
    pack = Pack((Case("s", "p", Schedule((*steps[:4], Restart(4), *steps[4:]))),))
    batches = plan(pack.timeline)
    progress = _progress(queries="000001111")
    prove(pack, batches, progress)
    with pytest.raises(NotDriven, match="a restart was missed"):
        prove(pack, batches, _progress())
    with pytest.raises(NotDriven, match="wrong query"):
        prove(PACK, plan(SCHEDULE.timeline), progress)


@pytest.mark.parametrize("left_out", range(9))
def test_a_plan_that_lacks_a_batch_is_not_proven(left_out):
    """The proof follows the schedule, not the plan that was carried out."""
    batches = plan(SCHEDULE.timeline)
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


def test_what_a_job_hands_on_has_rows_of_every_type(tmp_path):
    """An operator of Spark's own puts out moments and decimals, which JSON has no spelling of."""
    rows = {0: [{"at": datetime(2026, 1, 1, tzinfo=timezone.utc), "sum": Decimal("1.50"), "key": b"\x00"}]}
    left, taken = (
        SimpleNamespace(folder=tmp_path, rows=found, progress=[{"batchId": 0}], next_query=number)
        for found, number in ((rows, 2), ({}, 0))
    )
    Job.leave(left)
    Job.take_over(taken)
    assert (taken.rows, taken.progress, taken.next_query) == (rows, [{"batchId": 0}], 2)


def row(value, key="a", **more):
    told = {"program": "s/p", "case": "c", "key": key, "step": None, "value": value, "emitted_at": None, "error": None}
    return {**told, "nonce": object(), **more}


def test_in_complete_mode_a_table_that_comes_out_again_in_its_step_is_told_once():
    """A row that comes out twice in a micro-batch stays, as does what changed within a step, and every table of the
    next step."""
    batches = plan(SCHEDULE.steps)
    mine = [number for number, batch in enumerate(batches) if batch.step == 0]
    later = mine[-1] + 1
    heartbeat = row("2", program=HEARTBEAT)
    rows = {number: [row("1"), row("1", "b")] for number in (*mine, later)}
    rows[mine[0]].insert(0, heartbeat)
    assert told(rows, batches, "complete") == {mine[0]: rows[mine[0]], later: rows[later]}
    assert len(mine) > 1
    doubled = {number: [row("1"), row("1")] for number in mine}
    assert told(doubled, batches, "complete") == {mine[0]: doubled[mine[0]]}
    changed = {mine[0]: [row("1")], mine[1]: [row("2")]}
    assert told(changed, batches, "complete") == changed
    assert told(rows, batches, "append") is rows

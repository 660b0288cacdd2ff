"""Schedules, cases and traces: what is refused, and what travels as a file."""

import json
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.generation.schedules import schedules
from conformance.generation.timelines import SLOTS, timelines
from conformance.model.case import Case
from conformance.model.runs import Pack
from conformance.model.scenario import Domain
from conformance.model.schedule import (
    Advance,
    Deliver,
    Event,
    FailOnce,
    InvalidSchedule,
    Partitions,
    Restart,
    Schedule,
    renumbered,
)
from conformance.model.trace import DRAIN, Emission, Trace
from conformance.model.values import canonical

EVENT = Event("e1", "a", None, 1_500)
GOOD = (Advance(0, 1_000), Deliver(1, (EVENT,)), Advance(2, 5_000))

any_schedule = (
    st.sampled_from([*SLOTS, (1,)])
    .flatmap(timelines)
    .flatmap(lambda timeline: schedules(timeline, Domain(offsets=(0, 1, -1), on_time=False)))
)


def test_a_schedule_knows_its_arrivals():
    """An arrival has the watermark it met."""
    schedule = Schedule((*GOOD, Deliver(3, (Event("e2", "a", None, 5_000),)), Advance(4, 9_000)))
    assert [(a.event.id, a.step, a.watermark) for a in schedule.arrivals] == [("e1", 1, 1_000), ("e2", 3, 5_000)]
    assert [(a.on_time, a.at_watermark, a.behind) for a in schedule.arrivals] == [
        (True, False, False),
        (False, True, False),
    ]


LATER = Event("e2", "a", None, 3_000)
SETTLED = Schedule((*GOOD, Deliver(3, (LATER,)), Deliver(4), Advance(5, 9_000)))
COALESCED = Schedule((*GOOD[:2], Advance(2, 5_000, coalesced=True), *SETTLED.steps[3:]))


@pytest.mark.parametrize(
    ("schedule", "step", "time", "settled", "lies"),
    [
        (SETTLED, 3, 3_000, 5_000, ["behind"]),
        (COALESCED, 3, 5_001, 1_000, ["on time"]),
        (COALESCED, 3, 5_000, 1_000, []),
        (COALESCED, 3, 3_000, 1_000, []),
        (COALESCED, 3, 1_000, 1_000, []),
        (COALESCED, 3, 999, 1_000, ["behind"]),
        (COALESCED, 4, 5_000, 5_000, ["at the watermark"]),
        (COALESCED, 4, 3_000, 5_000, ["behind"]),
    ],
)
def test_after_a_coalesced_advance_the_next_bundle_comes_before_the_engine_settles(schedule, step, time, settled, lies):
    """What lies between the two watermarks is neither on time nor behind, whichever of them an engine goes by."""
    arriving = schedule.with_bundles({1: (), 3: (), step: (replace(LATER, event_time=time),)})
    (arrival,) = arriving.arrivals
    assert (arrival.watermark, arrival.settled) == (5_000, settled)
    where = {"on time": arrival.on_time, "at the watermark": arrival.at_watermark, "behind": arrival.behind}
    assert [name for name, there in where.items() if there] == lies


@pytest.mark.parametrize(
    ("time", "settled", "coalesced"),
    [(0, 0, 0), (1_000, 0, 0), (1_001, 2, 3), (5_000, 2, 3), (5_001, 5, 5), (9_000, 5, 5), (9_001, None, None)],
)
def test_a_timer_is_due_at_the_first_advance_that_reaches_it(time, settled, coalesced):
    """Or in the bundle after it, where the two are coalesced."""
    assert SETTLED.due(time) == settled
    assert COALESCED.due(time) == coalesced


def test_what_fails_once_is_the_bundle_right_after():
    failing = renumbered([*GOOD, Deliver(0), FailOnce(0), Deliver(0, (LATER,)), Deliver(0), Advance(0, 9_000)])
    assert failing.bundle_after(failing.steps[4]) is failing.steps[5]


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ((), "begins with an advance"),
        ((Deliver(0), Advance(1, 10)), "begins with an advance"),
        ((Advance(0, 10), Deliver(1)), "ends with one"),
        ((Advance(0, 10), Advance(1, 10)), "from 10 to 10 ms; it may only rise"),
        ((Advance(0, 10), Advance(1, 9)), "from 10 to 9 ms; it may only rise"),
        ((Advance(1, 10), Deliver(1), Advance(2, 20)), "step ids rise"),
        ((Advance(0, 10), Deliver(1, (Event("e", "a", None, -1),)), Advance(2, 20)), "not before the epoch"),
        ((Advance(0, 10), Deliver(1, (Event("e", "a", None, 1.5),)), Advance(2, 20)), "a whole number of ms"),
        ((Advance(0, 10), Deliver(1, (EVENT, EVENT)), Advance(2, 20)), "'e1' is used twice"),
        ((Advance(0, 10), Deliver(1, (Event("e", 7, None, 11),)), Advance(2, 20)), "strings"),
        ((Restart(0), Advance(1, 20)), "begins with an advance"),
        ((Advance(0, -5), Advance(1, 20)), "whole number of ms since the epoch, not -5"),
        ((Advance(0, 10), "wait", Advance(1, 20)), "a step is not a str"),
        ((Advance(0, 10, coalesced=True), Deliver(1), Advance(2, 20)), "step 0: a coalesced advance is not the first"),
        ((Advance(0, 10), Deliver(1), Advance(2, 20, coalesced=True)), "step 2: .* has a bundle right after it"),
        ((Advance(0, 10), Advance(1, 20, coalesced=True), Advance(2, 30)), "step 1: .* a bundle right after it"),
        (
            (Advance(0, 10), Advance(1, 20, coalesced=True), Restart(2), Deliver(3), Advance(4, 30)),
            "step 1: .* has a bundle right after it",
        ),
        (
            (Advance(0, 10), Advance(1, 20, coalesced=True), FailOnce(2), Deliver(3), Advance(4, 30)),
            "step 1: .* has a bundle right after it",
        ),
        ((Advance(0, 10), FailOnce(1), Advance(2, 20)), "step 1: what fails once is the bundle right after it"),
        ((Advance(0, 10), FailOnce(1), Restart(2), Deliver(3), Advance(4, 20)), "step 1: what fails once is"),
        ((Advance(0, 10), FailOnce(1), FailOnce(2), Deliver(3), Advance(4, 20)), "step 1: what fails once is"),
        ((FailOnce(0), Deliver(1), Advance(2, 20)), "begins with an advance"),
        ((Advance(0, 10), Deliver(1), Advance(2, 20), Restart(3)), "ends with one"),
        ((Advance(0, 10), Partitions(1, 2), Deliver(2), Advance(3, 20)), "step 1: .* comes first"),
        ((Partitions(0, 2), Partitions(1, 2), Advance(2, 20)), "begins with an advance"),
        ((Partitions(0, 2), Restart(1), Advance(2, 20)), "begins with an advance"),
        ((Partitions(0, 2),), "begins with an advance"),
        ((Partitions(0, 0), Advance(1, 10), Advance(2, 20)), "number of partitions is above 0 .*: 0"),
        ((Partitions(0, "5"), Advance(1, 10), Advance(2, 20)), "number of partitions is above 0 .*: '5'"),
    ],
)
def test_an_invalid_schedule_is_refused(steps, says):
    """One clear sentence, at construction."""
    with pytest.raises(InvalidSchedule, match=says) as refused:
        Schedule(steps)
    assert "\n" not in str(refused.value)


@given(any_schedule)
def test_a_schedule_survives_its_file(schedule):
    """to_json and from_json are inverse."""
    assert Schedule.from_json(schedule.to_json()) == schedule


def test_every_kind_of_step_survives_its_file():
    """Also a restart after a bundle, and two in a row."""
    steps = [Partitions(0, 3), *GOOD, Restart(0), FailOnce(0), Deliver(0, (LATER,)), Restart(0), Restart(0)]
    more = [FailOnce(0, resume=True), Deliver(0), Advance(0, 7_000, coalesced=True), Deliver(0), Advance(0, 9_000)]
    schedule = renumbered([*steps, *more])
    assert Schedule.from_json(json.loads(canonical(schedule.to_json()))) == schedule


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        [{"id": 0}],
        [{"advance": 5}],
        [{"id": 0, "deliver": [[1]]}],
        [{"id": 0, "fail_once": "never"}],
        [{"id": 0, "fail_once": ["retry"]}],
        [{"partitions": 3}],
    ],
)
def test_foreign_data_is_not_a_schedule(data):
    with pytest.raises(InvalidSchedule):
        Schedule.from_json(data)


def test_a_twin_has_an_id_of_its_own():
    """Even one with the schedule of another case: ids tell the cases of a pack apart."""
    base = Case("s", "p", Schedule(GOOD))
    twin = Case("s", "p", Schedule(GOOD), "alone", base.id)
    assert twin.id != base.id
    assert twin.digest == base.digest
    assert Pack((base, twin)).timeline == base.schedule.timeline


def test_a_pack_has_one_timeline():
    other = Case("s", "p", Schedule((Advance(0, 1), Advance(1, 2))))
    with pytest.raises(InvalidSchedule, match="share one timeline"):
        Pack((Case("s", "p", Schedule(GOOD)), other))


def test_a_trace_is_in_order_of_step_and_keeps_the_order_within_a_key():
    trace = Trace.collect([Emission("b", 1, 2), Emission("a", 2, 1), Emission("b", 0, 2), Emission("a", 9, DRAIN)])
    assert [(e.key, e.value) for e in trace.emissions] == [("a", 2), ("b", 1), ("b", 0), ("a", 9)]
    assert [e.value for e in trace.judged] == [2, 1, 0]


def test_a_program_that_stops_ends_its_trace():
    trace = Trace.collect([Emission("a", 1, 1), Emission("a", None, 2, None, "ValueError: no"), Emission("a", 3, 3)])
    assert [e.step for e in trace.emissions] == [1, 2]
    assert trace.error == "ValueError: no"


def test_a_trace_of_its_text_is_the_trace():
    """Its emissions are read once they are asked for. Whether it ended with an error is seen by its text."""
    told = [Emission("a", {"n": 1}, 1, 5), Emission("a", None, 2)], [Emission("a", "null]]", 1)], []
    stopped = [Emission("a", 1, 1), Emission("a", None, 1, error="KeyError: null]]")]
    for emissions in (*told, stopped):
        trace = Trace.collect(emissions)
        read = Trace.of_text(trace.text)
        assert read.error == trace.error
        assert ("emissions" in vars(read)) is bool(trace.error)
        assert read.spelled_as(trace)
        assert read == trace
        assert pickle.loads(pickle.dumps(Trace.of_text(trace.text))) == trace
    assert not Trace.collect(stopped).spelled_as(Trace.of_text(trace.text)), "one has no text yet"
    with pytest.raises(AttributeError, match="no 'nonsense'"):
        getattr(Trace.of_text("[]"), "nonsense")  # noqa: B009


def test_an_empty_bundle_that_a_step_is_about_stays():
    """What fails once, or comes with a coalesced advance, is that bundle and no other."""
    event = Event("e1", "a", None, 11)
    failing = Schedule((Advance(0, 10), FailOnce(1), Deliver(2), Deliver(3, (event,)), Deliver(4), Advance(5, 20)))
    assert [step.id for step in failing.without_empty_bundles().steps] == [0, 1, 2, 3, 5]
    coalesced = Schedule((Advance(0, 10), Deliver(1, (event,)), Advance(2, 20, True), Deliver(3), Advance(4, 30)))
    assert coalesced.without_empty_bundles() == coalesced

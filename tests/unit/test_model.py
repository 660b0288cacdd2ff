"""Schedules, cases and traces: what is refused, and what travels as a file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.generation import Domain, clocks, schedules
from conformance.model import (
    DRAIN,
    Advance,
    Case,
    Deliver,
    Emission,
    Event,
    InvalidSchedule,
    Pack,
    Restart,
    Schedule,
    Trace,
)

EVENT = Event("e1", "a", None, 1_500)
GOOD = (Advance(0, 1_000), Deliver(1, (EVENT,)), Advance(2, 5_000))

any_schedule = (
    st.booleans().flatmap(clocks).flatmap(lambda clock: schedules(clock, Domain(offsets=(0, 1, -1), on_time=False)))
)


def test_a_schedule_knows_its_arrivals():
    """An arrival has the watermark it met."""
    schedule = Schedule((*GOOD, Deliver(3, (Event("e2", "a", None, 5_000),)), Advance(4, 9_000)))
    assert [(a.event.id, a.step, a.watermark) for a in schedule.arrivals] == [("e1", 1, 1_000), ("e2", 3, 5_000)]
    assert [(a.on_time, a.at_watermark, a.behind) for a in schedule.arrivals] == [
        (True, False, False),
        (False, True, False),
    ]


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
        ((Advance(0, 10), Deliver(1), Restart(2), Advance(3, 20)), "right after an advance"),
        ((Advance(0, -5), Advance(1, 20)), "whole number of ms since the epoch, not -5"),
        ((Advance(0, 10), "wait", Advance(1, 20)), "not str"),
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


@pytest.mark.parametrize("data", [None, 3, [{"id": 0}], [{"advance": 5}], [{"id": 0, "deliver": [[1]]}]])
def test_foreign_data_is_not_a_schedule(data):
    with pytest.raises(InvalidSchedule):
        Schedule.from_json(data)


def test_a_twin_has_an_id_of_its_own():
    """Even one with the schedule of another case: ids tell the cases of a pack apart."""
    base = Case("s", "p", Schedule(GOOD))
    twin = Case("s", "p", Schedule(GOOD), "reorder", base.id)
    assert twin.id != base.id
    assert twin.digest == base.digest
    assert Pack((base, twin)).clock == base.schedule.clock


def test_a_pack_has_one_clock():
    other = Case("s", "p", Schedule((Advance(0, 1), Advance(1, 2))))
    with pytest.raises(InvalidSchedule, match="share one clock"):
        Pack((Case("s", "p", Schedule(GOOD)), other))


def test_a_trace_is_in_order_of_step_and_keeps_the_order_within_a_key():
    trace = Trace.collect([Emission("b", 1, 2), Emission("a", 2, 1), Emission("b", 0, 2), Emission("a", 9, DRAIN)])
    assert [(e.key, e.value) for e in trace.emissions] == [("a", 2), ("b", 1), ("b", 0), ("a", 9)]
    assert [e.value for e in trace.judged] == [2, 1, 0]


def test_a_program_that_stops_ends_its_trace():
    trace = Trace.collect([Emission("a", 1, 1), Emission("a", None, 2, None, "ValueError: no"), Emission("a", 3, 3)])
    assert [e.step for e in trace.emissions] == [1, 2]
    assert trace.error == "ValueError: no"

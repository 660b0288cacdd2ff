"""What a program may and may not do."""

import pytest

from conformance.engines.case_run import MOST_TIMERS
from conformance.engines.reference import Reference
from conformance.model.case import Case
from conformance.model.program import (
    Cell,
    EngineFault,
    FixedWindows,
    InvalidProgram,
    JobKind,
    Program,
    State,
    call,
    check_timer,
)
from conformance.model.schedule import Advance, Deliver, Event, Schedule

EVENT = Event("e1", "a", None, 25_000)


def test_an_undeclared_cell_is_named():
    with pytest.raises(AttributeError, match=r"no state cell 'cuont' \(declared: count\)"):
        _ = State({"count": object()}).cuont


@pytest.mark.parametrize(
    ("declarations", "says"),
    [
        ({"cells": {"count": "sum"}}, "the state cell 'count' is of the unknown kind 'sum'"),
        ({"cells": {"a b": Cell.VALUE}}, "identifier, not 'a b'"),
        ({"timers": ("a/b",)}, "identifier, not 'a/b'"),
        ({"windowing": 10}, "not 10"),
        ({"timed": True, "processing_time": True}, "has no event time"),
        ({"timed": True, "job": JobKind.INSPECTION}, "has no event time"),
    ],
)
def test_an_invalid_program_is_refused(declarations, says):
    """When its class is made, in one sentence."""
    with pytest.raises(InvalidProgram, match=says):
        type("Broken", (Program,), declarations)


def test_an_undeclared_timer_is_named():
    with pytest.raises(KeyError, match=r"no timer 'x' \(declared: y\)"):
        check_timer(("y",), "x")


def test_an_exception_of_the_program_is_its_last_output():
    """What it emitted before stays."""

    def callback(event, state, timers, emit):
        emit(1)
        raise ValueError("two\nlines")

    outputs = call(callback, EVENT, State({}), None)
    assert [(o.value, o.error) for o in outputs] == [(1, None), (None, "ValueError: two")]


def test_an_exception_of_the_engine_passes_through():
    def callback(event, state, timers, emit):
        raise EngineFault("get: broken pipe")

    with pytest.raises(EngineFault):
        call(callback, EVENT, State({}), None)


def test_windows_are_aligned_to_the_epoch():
    windows = FixedWindows(size=10_000, allowed_lateness=5_000)
    assert [windows.start(t) for t in (19_999, 20_000, 20_001)] == [10_000, 20_000, 20_000]
    assert windows.expiry(19_999) == 25_000


class Endless(Program):
    timers = ("again",)

    def on_event(self, event, state, timers, emit):
        timers.set("again", event.event_time)

    def on_timer(self, timer, state, timers, emit):
        timers.set("again", timer.time)


def test_a_loop_of_timers_without_an_end_stops_the_program():
    """It once kept a self-test from ending."""
    case = Case("s", "p", Schedule((Advance(0, 9_000), Deliver(1, (EVENT,)), Advance(2, 99_000))))
    trace, _ = Reference().ran(case, Endless())
    assert trace.error == f"more than {MOST_TIMERS} timers fired in one step"

"""Output times: the event time that an engine gives what a program puts out, which no program names.

An output of a call for an element has the element's time, and an output of a timer's callback has the time that the
timer was set for. An operator behind goes by these times: its windows, its timers, and what it drops as late.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import (
    BUNDLINGS,
    FINER,
    RECOVERIES,
    REDELIVER,
    RENAMINGS,
    REORDERINGS,
    WATERMARKINGS,
)
from conformance.model.program import Cell, Emit, FixedWindows, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, Source, promise
from conformance.model.schedule import Event
from conformance.scenarios.documents import BEAM_GUIDE, JAVADOC
from conformance.scenarios.shared import named
from conformance.scenarios.time.event_time_timers import PAUSE, Debounce
from conformance.scenarios.time.timer_firing import LONG_AGO

NEXT = 2_000
WINDOW = 10_000

OF_ITS_ELEMENT = Source(
    "Beam Java API, DoFn.WindowedContext.output",
    "the output element will have the same timestamp and be in the same windows as the input element",
    f"{JAVADOC}/current/org/apache/beam/sdk/transforms/DoFn.WindowedContext.html",
)
OF_ITS_TIMER = BEAM_GUIDE.says(
    "any elements output from the onTimer method will have a timestamp equal to the timestamp of the timer firing",
    "Timer output timestamps",
    "timer-output-timestamps",
)


class Echo(Program):
    """Each element puts out its id, twice."""

    timed = True

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        emit({"of": event.id})
        emit({"of": event.id, "again": True})


def alarm_of(event: Event) -> int:
    """The time (ms) of the first timer that an event sets."""
    return event.event_time + (-LONG_AGO if event.value == "long ago" else PAUSE)


class Alarms(Program):
    """An event's value says what timers it sets, which its id tags: one for PAUSE after it, one for LONG_AGO before it,
    or one for PAUSE after it whose callback sets another one for NEXT after that."""

    timers = ("alarm", "next")
    timed = True
    timer_chain = 1

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        emit({"of": event.id})
        tag = f"{event.id}/{event.value}"
        timers.set("alarm", alarm_of(event), tag=tag)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        event, _, value = timer.tag.partition("/")
        emit({"alarm": event, "timer": timer.name})
        if value == "two" and timer.name == "alarm":
            timers.set("next", timer.time + NEXT, tag=timer.tag)


class Moved(Debounce):
    """Tells the element that set the timer last, not the time that the timer was told to have."""

    times = ("quiet since",)
    timed = True

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"quiet since": state.latest.get()})


class PerWindow(Program):
    """Each element puts out its id; a timer for a window's last millisecond puts out how many there were."""

    cells = {"count": Cell.COMBINING}
    timers = ("end",)
    windowing = FixedWindows(WINDOW)
    timed = True

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.count.add(1)
        timers.set("end", last_of(event.event_time))
        emit({"of": event.id})

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"count": state.count.get()})


def last_of(event_time: int) -> int:
    """The last millisecond of an element's window."""
    return event_time - event_time % WINDOW + WINDOW - 1


of_elements = Guarantees("elements")
of_timers = Guarantees("timers")
of_moved = Guarantees("moved")
of_windows = Guarantees("windows")
of_late_in_windows = Guarantees("late in windows")


@of_elements("an output has the time of its element", source=OF_ITS_ELEMENT)
@of_windows("an output of an element in a window has the time of its element")
@of_late_in_windows("an output of a late element in an open window has the time of its element")
def of_its_element(run: Observation) -> Iterator[Finding]:
    for emission, (arrival,) in named(run, "of"):
        event, told = arrival.event, emission.event_time
        yield told == event.event_time or (
            f"the output of {event.id}, whose time is {event.event_time}, has the time {told}"
        )


def _alarms(run: Observation, *values: str) -> Iterator[Finding]:
    for emission, (arrival,) in named(run, "alarm"):
        event = arrival.event
        if event.value in values:
            due = alarm_of(event) + (NEXT if emission.value["timer"] == "next" else 0)
            told = emission.event_time
            yield told == due or f"the output of a timer of {event.id}, for {due}, has the time {told}"


@of_timers("an output of a timer has the time of the timer", source=OF_ITS_TIMER)
def of_its_timer(run: Observation) -> Iterator[Finding]:
    yield from _alarms(run, "once", "two")


@of_timers("an output of a timer for a time that has passed has that time")
def of_a_timer_in_the_past(run: Observation) -> Iterator[Finding]:
    yield from _alarms(run, "long ago")


@of_moved("an output of a timer that was moved has its last time")
def of_a_moved_timer(run: Observation) -> Iterator[Finding]:
    for emission, latest in run.tagged("quiet since"):
        due, told = latest + PAUSE, emission.event_time
        yield told == due or f"the output of key {emission.key}'s timer, moved to {due}, has the time {told}"


@of_windows("an output at the end of a window has the time of the window's last millisecond")
def of_the_end_of_its_window(run: Observation) -> Iterator[Finding]:
    for key, arrivals in run.arrivals_by_key.items():
        ends = {last_of(arrival.event.event_time) for arrival in arrivals}
        for emission, count in run.tagged("count"):
            if emission.key == key:
                told = emission.event_time
                yield (
                    told in ends
                    or f"the count {count} of a window of key {key} has the time {told}, and {ends} are the ends"
                )


STABLE = (*REORDERINGS, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS)

SCENARIO = Scenario(
    name="output times",
    summary="An output has the event time of its element, or the time of its timer.",
    programs={
        "elements": Echo(),
        "timers": Alarms(),
        "moved": Moved(),
        "windows": PerWindow(),
        "late in windows": PerWindow(),
    },
    domain={
        "elements": Domain(offsets=(0, 1, 500, 9_999, 20_000, -1, -5_000), on_time=False),
        "timers": Domain(
            offsets=(1, NEXT, PAUSE - 1, PAUSE, PAUSE + 1, 20_000), values=("once", "once", "two", "long ago")
        ),
        "moved": Domain(offsets=(1, 999, PAUSE - 1, PAUSE, PAUSE + 1), keys=2),
        "windows": Domain(offsets=(1, 2, 5_000, WINDOW - 1, WINDOW, 20_000), keys=2),
        "late in windows": Domain(offsets=(1, 5_000, WINDOW, 20_000, -1, -5_000), keys=2, on_time=False),
    },
    stable_under={
        "elements": promise((*REORDERINGS, *BUNDLINGS, *RENAMINGS), Equivalence.SAME_MULTISET),
        "timers": promise(STABLE, Equivalence.SAME_MULTISET),
        "moved": promise((*REORDERINGS, *BUNDLINGS, FINER, *RECOVERIES, *RENAMINGS, REDELIVER), Equivalence.IDENTICAL),
        "windows": promise(STABLE, Equivalence.SAME_MULTISET),
        "late in windows": promise((*REORDERINGS, *BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET),
    },
    guarantees=(*of_elements, *of_timers, *of_moved, *of_windows, *of_late_in_windows),
)

"""Timer calls: several calls on one timer in one callback, and moves of a timer to earlier and to later times.

An event names the calls that it makes on its key's timer, in order. The predicates follow the calls of a key in the
order of its emissions, so they say nothing of the order of delivery.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import FINER, INTERLEAVE, RECOVERIES, RENAMINGS, RESTART, RESUME, RETRY
from conformance.model.program import Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, Source, promise
from conformance.model.schedule import Event
from conformance.model.values import Json
from conformance.scenarios.documents import BEAM_TIMER

SOON, LATE = 3_000, 9_000

CALLS = {
    "set soon": ("soon",),
    "set late": ("late",),
    "clear": ("clear",),
    "set late, then soon": ("late", "soon"),
    "set soon, then late": ("soon", "late"),
    "set and clear": ("soon", "clear"),
    "clear and set": ("clear", "late"),
}
"""What an event does -> its calls: the timer is set for so long after the event, or cleared."""

RESET = Source(
    "Beam Java API, Timer.set", "If the timer was already set, resets it to the new requested time", BEAM_TIMER
)


class Calls(Program):
    timers = ("one",)
    times = ("at", "fired")

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        for call in CALLS[event.value]:
            if call == "clear":
                timers.clear("one")
            else:
                timers.set("one", event.event_time + (SOON if call == "soon" else LATE))
        emit({"id": event.id, "did": event.value, "at": event.event_time})

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"fired": timer.time})


@dataclass(frozen=True)
class Pending:
    """What the calls of an event left behind: the times for which the timer was set before, and by the event's own
    earlier calls, and the time for which it is set now, if it is."""

    did: str
    before: int | None
    dropped: tuple[int, ...]
    time: int | None
    fired: tuple[int, ...]
    last: bool


def followed(run: Observation) -> Iterator[tuple[str, Pending]]:
    """(key, what its timer was left at) after each event, with the firings up to the key's next event."""
    for key, emissions in run.told.items():
        pending: int | None = None
        groups: list[tuple[dict[str, Json], list[int]]] = []
        for emission in emissions:
            if "did" in emission.value:
                groups.append((emission.value, []))
            elif groups and "fired" in emission.value:
                groups[-1][1].append(emission.value["fired"])
        for number, (event, fired) in enumerate(groups):
            before, dropped = pending, []
            for call in CALLS[event["did"]]:
                if pending is not None:
                    dropped.append(pending)
                pending = None if call == "clear" else event["at"] + (SOON if call == "soon" else LATE)
            kept = tuple(time for time in dropped if time != pending)
            yield key, Pending(event["did"], before, kept, pending, tuple(fired), number == len(groups) - 1)
            if pending in fired:
                pending = None


def drops(run: Observation, *did: str) -> Iterator[Finding]:
    """After these calls the timer does not fire for a time that they took from it."""
    for key, left in followed(run):
        if left.did in did and left.dropped:
            wrong = [time for time in left.fired if time in left.dropped]
            yield not wrong or f"the timer of key {key} fired for {wrong[0]} after the calls: {left.did}"


def keeps(run: Observation, *did: str) -> Iterator[Finding]:
    """After these calls the timer fires once for the time that it was left at, if no other event of the key comes
    before."""
    end = run.case.schedule.advances[-1].watermark
    for key, left in followed(run):
        if left.did in did and left.time is not None and left.last and left.time <= end:
            times = left.fired.count(left.time)
            yield (
                times == 1 or f"the timer of key {key} fired {times} times for {left.time} after the calls: {left.did}"
            )


def set_and_cleared(run: Observation) -> Iterator[Finding]:
    return drops(run, "set and clear")


def cleared_and_set(run: Observation) -> Iterator[Finding]:
    return keeps(run, "clear and set")


def set_twice_fires_at_the_second(run: Observation) -> Iterator[Finding]:
    return keeps(run, "set late, then soon", "set soon, then late")


def set_twice_not_at_the_first(run: Observation) -> Iterator[Finding]:
    return drops(run, "set late, then soon", "set soon, then late")


def moved_earlier(run: Observation) -> Iterator[Finding]:
    """A timer that was set for later than the event sets it for fires at the earlier time."""
    end = run.case.schedule.advances[-1].watermark
    for key, left in followed(run):
        moved = left.before is not None and left.time is not None and left.time < left.before
        if moved and left.last and left.time is not None and left.time <= end:
            yield (
                left.fired == (left.time,)
                or f"the timer of key {key} was moved from {left.before} to {left.time} and fired for "
                f"{list(left.fired)}"
            )


def moved_later(run: Observation) -> Iterator[Finding]:
    end = run.case.schedule.advances[-1].watermark
    for key, left in followed(run):
        moved = left.before is not None and left.time is not None and left.time > left.before
        if moved and left.last and left.time is not None and left.time <= end:
            yield (
                left.fired == (left.time,)
                or f"the timer of key {key} was moved from {left.before} to {left.time} and fired for "
                f"{list(left.fired)}"
            )


def cleared_by_an_event(run: Observation) -> Iterator[Finding]:
    return drops(run, "clear")


SCENARIO = Scenario(
    name="timer calls",
    summary="Several calls on one timer in one callback, and moves of a timer to earlier and later times.",
    programs={"calls": Calls()},
    domain={"calls": Domain(offsets=(1, 500, 1_000, 4_000), keys=2, values=tuple(CALLS), events=6)},
    stable_under={
        "calls": promise((INTERLEAVE, FINER, *RENAMINGS), Equivalence.SAME_SEQUENCE)
        | promise(RECOVERIES, Equivalence.SAME_MULTISET)
    },
    guarantees=(
        Guarantee("a timer that is set and cleared in one call does not fire", "calls", set_and_cleared),
        Guarantee("a timer that is cleared and set in one call fires once", "calls", cleared_and_set),
        Guarantee(
            "a timer that is set twice in one call fires once, at the second time",
            "calls",
            set_twice_fires_at_the_second,
            source=RESET,
        ),
        Guarantee(
            "a timer that is set twice in one call does not fire at the first time",
            "calls",
            set_twice_not_at_the_first,
            source=RESET,
        ),
        Guarantee("a timer that is moved to an earlier time fires there, once", "calls", moved_earlier, source=RESET),
        Guarantee("a timer that is moved to a later time fires there, once", "calls", moved_later, source=RESET),
        Guarantee("a timer that an event clears does not fire", "calls", cleared_by_an_event),
        Guarantee(
            "timer calls are the same after a restart or a failure",
            "calls",
            same_under=(RESTART, RETRY, RESUME),
            alike=Equivalence.SAME_MULTISET,
        ),
    ),
)

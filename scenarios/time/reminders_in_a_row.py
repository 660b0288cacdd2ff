"""Reminders in a row: a processing-time timer sets itself again when it fires, from the time at which it fires.

What the predicates may ask of processing time is as in ``processing_time_timers``.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.program import Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario
from conformance.model.schedule import SLACK, Event
from conformance.scenarios.shared import once
from conformance.scenarios.time.processing_time_timers import TIMERS, between
from conformance.support.grouping import grouped

FIRST, SECOND = 1_000, 7_000
"""How long (ms) the timers are set ahead. SECOND is longer than SLACK, so one that counts from another moment shows."""


class Again(Program):
    """An event sets a timer to FIRST from now. When the timer has fired, it sets itself once more, to SECOND
    from then."""

    timers = ("again",)
    processing_time = True

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        timers.set_after("again", FIRST, tag=event.id)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"again": timer.tag, "number": (number := timer.tag.count("+"))})
        if not number:
            timers.set_after("again", SECOND, tag=f"{timer.tag}+")


of_again = Guarantees("again", needs=TIMERS)


@of_again("a processing-time timer that a timer's callback sets does not fire before its time")
def set_by_a_timer(run: Observation) -> Iterator[Finding]:
    """Asked of each element whose timer has fired."""
    steps: dict[str, dict[int, list[int]]] = {}
    for emission, tag in run.tagged("again"):
        steps.setdefault(tag.rstrip("+"), {}).setdefault(emission.value["number"], []).append(emission.step)
    for name, fired in steps.items():
        for step in fired.get(1, ()):
            passed = between(run, fired.get(0, [step])[0], step)
            yield (
                passed + SLACK > SECOND
                or f"the timer of {name} set itself to {SECOND} ms from then, and fired {passed} ms later"
            )


@of_again(
    "each of a key's timers fires once, a timer that a timer's callback has set among them",
    formerly=("each-of-a-key-s-first-timers-fires-once",),
)
def fires_once(run: Observation) -> Iterator[Finding]:
    """Asked of each first timer behind which time enough passes, and of each second timer behind whose first timer it
    does."""
    elapsed = run.case.schedule.elapsed
    fired = grouped((tag, emission.step) for emission, tag in run.tagged("again"))

    def asked(which: str, tag: str, since: int, least: int) -> Iterator[Finding]:
        if max(elapsed.values()) - elapsed[since] >= least:
            yield once(f"the {which} timer of {tag.rstrip('+')} fired", len(fired.get(tag, ())))

    for arrival in run.arrivals:
        name = arrival.event.id
        yield from asked("first", name, arrival.step, FIRST + SLACK)
        if len(steps := fired.get(name, [])) == 1:
            yield from asked("second", f"{name}+", steps[0], SECOND)


SCENARIO = Scenario(
    name="reminders in a row",
    summary=f"A timer is set to {FIRST} ms of processing time after each event. When it fires, it sets itself once "
    f"more, to {SECOND} ms from then.",
    programs={"again": Again()},
    domain={"again": Domain(offsets=(1, 500), keys=2)},
    complete=False,  # nobody can say whether each second timer is due at the end
    guarantees=tuple(of_again),
)

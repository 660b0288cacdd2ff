"""Several reminders: a key has several processing-time timers at once, one for each element, and an element may take
back the last one.

A timer's tag is the id of its element. What the predicates may ask of processing time is as in
``processing_time_timers``.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import INTERLEAVE, RECOVERIES, RENAME
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import SLACK, Arrival, Event
from conformance.scenarios.time.processing_time_timers import PAUSE, TIMERS, between, due


class Reminders(Program):
    """An event that is not "take back" sets a timer of its own to PAUSE from now. "take back" clears the timer that the
    key's last such event set; a second one in a row clears nothing."""

    cells = {"last": Cell.VALUE}
    timers = ("reminder",)
    processing_time = True

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if event.value != "take back":
            state.last.set(event.id)
            timers.set_after("reminder", PAUSE, tag=event.id)
        elif (last := state.last.get()) is not None:
            state.last.clear()
            timers.clear("reminder", tag=last)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"reminder": timer.tag})


def settings(run: Observation) -> Iterator[tuple[str, Arrival, Arrival | None]]:
    """(key, an event that sets a timer, the event that takes it back or None)."""
    for key, arrivals in run.arrivals_by_key.items():
        for arrival, after in zip(arrivals, [*arrivals[1:], None], strict=True):
            if arrival.event.value != "take back":
                yield key, arrival, after if after and after.event.value == "take back" else None


def firings(run: Observation, key: str, arrival: Arrival) -> list[int]:
    """The steps in which the timer of an event fired."""
    return [e.step for e, name in run.tagged("reminder") if (e.key, name) == (key, arrival.event.id)]


def certain(run: Observation) -> Iterator[tuple[str, Arrival, int]]:
    """(key, event, the step by which its timer must have fired), of timers that are not taken back before that."""
    for key, arrival, back in settings(run):
        step = due(run, arrival)
        if step is not None and (back is None or back.step > step):
            yield key, arrival, step


of_reminders = Guarantees("reminders", needs=TIMERS)


@of_reminders("each of a key's processing-time timers fires once")
def each_fires_once(run: Observation) -> Iterator[Finding]:
    for key, arrival, by in certain(run):
        fired = firings(run, key, arrival)
        yield len(fired) == 1 or f"the reminder of {arrival.event.id} of key {key} came {len(fired)} times by step {by}"


@of_reminders("none of a key's processing-time timers fires before its time")
def none_before_its_time(run: Observation) -> Iterator[Finding]:
    for key, arrival, _ in settings(run):
        for step in firings(run, key, arrival):
            passed = between(run, arrival.step, step)
            yield (
                passed + SLACK > PAUSE
                or f"the reminder of {arrival.event.id}, for {PAUSE} ms after it, came in step {step}, {passed} ms "
                "after it"
            )


def taken_back(run: Observation) -> Iterator[tuple[str, Arrival]]:
    """(key, event) of the timers that are taken back before they can be due."""
    for key, arrival, back in settings(run):
        if back and between(run, arrival.step, back.step) + SLACK <= PAUSE:
            yield key, arrival


@of_reminders("a processing-time timer that its tag clears does not fire")
def a_cleared_one_does_not_fire(run: Observation) -> Iterator[Finding]:
    for key, arrival in taken_back(run):
        fired = firings(run, key, arrival)
        yield not fired or f"the reminder of {arrival.event.id} of key {key} was taken back and came in step {fired[0]}"


@of_reminders("clearing one of a key's processing-time timers leaves the others")
def the_others_fire(run: Observation) -> Iterator[Finding]:
    """Exercised where a timer of the same key was taken back."""
    keys = {key for key, _ in taken_back(run)}
    for key, arrival, by in certain(run):
        if key in keys:
            yield (
                bool(firings(run, key, arrival))
                or f"a reminder of key {key} was taken back, and that of {arrival.event.id} did not come by step {by}"
            )


SCENARIO = Scenario(
    name="several reminders",
    summary=f"Each element of a key reminds of itself {PAUSE} ms of processing time later, unless it is taken back.",
    programs={"reminders": Reminders()},
    domain={"reminders": Domain(offsets=(1, 500, 2_000), keys=2, values=("set", "set", "set", "take back"))},
    stable_under={"reminders": promise((INTERLEAVE, *RECOVERIES, RENAME), Equivalence.SAME_MULTISET)},
    guarantees=tuple(of_reminders),
)

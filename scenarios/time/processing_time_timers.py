"""Processing-time timers: report a key that has been quiet for a while by the wall clock, whatever the watermark does.

A schedule's waits give the processing time that has passed at least. An engine's clock may be up to SLACK ahead of it.
The predicates ask about timers that are certainly due, and about timers that certainly are not. They ask nothing about
the timers in between.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import INTERLEAVE, RECOVERIES, RENAME
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import SLACK, Arrival, Event
from conformance.scenarios.documents import BEAM_GUIDE, WITHOUT_RECORDS

PAUSE = 14_000
"""One wait (8 s) + SLACK, which is shorter than two waits: the timer is due after two waits, and not after one."""

WALL_CLOCK = BEAM_GUIDE.says(
    "Processing-time timers fire when the real wall-clock time passes",
    "Processing-time timers",
    "processing-time-timers",
)


class Quiet(Program):
    """An event that is not "cancel" sets its key's timer to PAUSE from now; "cancel" clears the timer.

    The timer tells how many events have set it so far.
    """

    cells = {"events": Cell.COMBINING}
    timers = ("quiet",)
    processing_time = True

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if event.value == "cancel":
            timers.clear("quiet")
        else:
            state.events.add(1)
            timers.set_after("quiet", PAUSE)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"quiet": state.events.get()})


def settings(run: Observation) -> Iterator[tuple[str, Arrival, int, Arrival | None]]:
    """(key, an event that sets the key's timer, how many events have set it by then, the next event of the key)."""
    for key, arrivals in run.arrivals_by_key.items():
        setting = 0
        for arrival, following in itertools.zip_longest(arrivals, arrivals[1:]):
            if arrival.event.value != "cancel":
                setting += 1
                yield key, arrival, setting, following


def between(run: Observation, one: int, other: int) -> int:
    """The processing time (ms) that lies between two steps at least."""
    elapsed = run.case.schedule.elapsed
    return elapsed[other] - elapsed[one]


def due(run: Observation, arrival: Arrival) -> int | None:
    """The first step by which the timer must be due; None if no wait reaches its time."""
    elapsed = run.case.schedule.elapsed
    return next((step for step, now in elapsed.items() if now - elapsed[arrival.step] >= PAUSE), None)


def left_alone(run: Observation) -> Iterator[tuple[str, int, int, int]]:
    """(key, the step that set the timer, how many events had set it by then, the step by which it must have fired).

    Only of timers that no event sets again or clears before that step.
    """
    for key, arrival, setting, following in settings(run):
        step = due(run, arrival)
        if step is not None and (following is None or following.step > step):
            yield key, arrival.step, setting, step


def firings(run: Observation, key: str, setting: int) -> list[int]:
    """The steps in which the key's timer fired, where ``setting`` events had set it."""
    return [emission.step for emission, events in run.tagged("quiet") if (emission.key, events) == (key, setting)]


TIMERS = frozenset({Feature.PROCESSING_TIMERS})

of_quiet = Guarantees("quiet", needs=TIMERS)


@of_quiet("a processing-time timer fires once", source=WALL_CLOCK)
def fires_once(run: Observation) -> Iterator[Finding]:
    for key, step, setting, by in left_alone(run):
        times = len(firings(run, key, setting))
        yield times == 1 or f"the timer of key {key} that step {step} set fired {times} times by step {by}"


@of_quiet("a processing-time timer does not fire before its time")
def not_before_its_time(run: Observation) -> Iterator[Finding]:
    for key, arrival, setting, _ in settings(run):
        for step in firings(run, key, setting):
            passed = between(run, arrival.step, step)
            yield (
                passed + SLACK > PAUSE
                or f"the timer of key {key} for {PAUSE} ms after step {arrival.step} fired in step {step}, "
                f"{passed} ms after it"
            )


@of_quiet("a processing-time timer fires as soon as its time has come")
def fires_when_its_time_has_come(run: Observation) -> Iterator[Finding]:
    for key, step, setting, by in left_alone(run):
        for fired in firings(run, key, setting):
            yield (
                fired <= by
                or f"the timer of key {key} that step {step} set is due in step {by} and fired in step {fired}"
            )


def moved(run: Observation, cancelled: bool) -> Iterator[tuple[str, int, int, int]]:
    """(key, the step that set the timer, how many events had set it by then, the step that cleared or moved it).

    Only of timers that cannot have come due between the two steps.
    """
    for key, arrival, setting, following in settings(run):
        if following and (following.event.value == "cancel") is cancelled:
            passed = between(run, arrival.step, following.step)
            if passed + SLACK <= PAUSE:
                yield key, arrival.step, setting, following.step


@of_quiet("a processing-time timer that was moved fires only at its last time")
def a_moved_timer(run: Observation) -> Iterator[Finding]:
    for key, step, setting, by in moved(run, cancelled=False):
        fired = firings(run, key, setting)
        yield (
            not fired
            or f"the timer of key {key} that step {step} set was moved in step {by} and fired in step {fired[0]}"
        )


@of_quiet("a processing-time timer that was cleared does not fire")
def a_cleared_timer(run: Observation, later: bool = False) -> Iterator[Finding]:
    """Exercised where the key's next event clears the timer; ``later``: when time has passed, and its own comes before
    the end. The number of events tells its firing from that of a later setting."""
    elapsed = run.case.schedule.elapsed
    for key, step, setting, by in moved(run, cancelled=True):
        if later and (elapsed[by] == elapsed[step] or max(elapsed.values()) - elapsed[step] < PAUSE):
            continue
        fired = firings(run, key, setting)
        yield (
            not fired
            or f"the timer of key {key} that step {step} set was cleared in step {by} and fired in step {fired[0]}"
        )


of_quiet("a processing-time timer that was cleared when some of its time had passed does not fire")(
    partial(a_cleared_timer, later=True)
)


@of_quiet("a processing-time timer fires without new data", source=WITHOUT_RECORDS)
def without_new_data(run: Observation) -> Iterator[Finding]:
    """Exercised where no element of any key comes after the timer is set."""
    last = max((a.step for a in run.arrivals), default=0)
    for key, step, setting, by in left_alone(run):
        if by > last:
            yield (
                bool(firings(run, key, setting))
                or f"no element came after step {step}, and the timer of key {key} did not fire"
            )


SCENARIO = Scenario(
    name="processing-time timers",
    summary=f"A key that has had no event for {PAUSE} ms of processing time is reported as quiet.",
    programs={"quiet": Quiet()},
    domain={"quiet": Domain(offsets=(1, 500, 2_000), keys=2, values=("set", "set", "cancel"))},
    stable_under={"quiet": promise((INTERLEAVE, *RECOVERIES, RENAME), Equivalence.IDENTICAL)},
    guarantees=tuple(of_quiet),
)

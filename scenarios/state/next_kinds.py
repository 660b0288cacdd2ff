"""Programs whose next version keeps another kind of state, or has timers that go by another time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from conformance.model.next_version import Versioned, ended_well
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Finding, Observation
from conformance.model.schedule import Event
from conformance.model.types import Long, Map, String

AHEAD = 10**9
"""How far (ms) ahead of its element a timer is set: it is never due."""


class Mapped(Versioned):
    """Ids of elements in a map."""

    foreign = True
    cells = {"items": Cell.MAP}
    types = {"items": Map(String(), Long())}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        before = len(state.items.items())
        state.items.put(event.id, event.event_time)
        emit({"id": event.id, "before": before})


class Listed(Versioned):
    """A list with an entry for each element."""

    cells = {"items": Cell.BAG}
    types = {"items": Long()}
    next_versions = {"list made a map": Mapped()}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        before = len(state.items.get())
        state.items.add(event.event_time)
        emit({"id": event.id, "before": before})


class Clocked(Versioned):
    """Counts elements, and has timers in processing time, of which it sets none."""

    cells = {"count": Cell.VALUE}
    types = {"count": Long()}
    timers = ("due",)
    processing_time = True

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        before = state.count.get(0)
        state.count.set(before + 1)
        emit({"id": event.id, "before": before})

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"fired": timer.name})


class Reminded(Clocked):
    """Counts elements, and sets a timer in event time that is never due."""

    processing_time = False
    next_versions = {"time changed": Clocked()}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        timers.set("due", event.event_time + AHEAD)
        super().on_event(event, state, timers, emit)


def keys_on_both_sides(run: Observation) -> Iterator[tuple[str, int, bool]]:
    """(key, its elements before the restart, whether it has others behind) of the keys with elements before."""
    begun = run.case.schedule.restart
    for key, arrivals in run.arrivals_by_key.items():
        if before := sum(arrival.step < begun for arrival in arrivals):
            yield key, before, before < len(arrivals)


def refuses_the_list(run: Observation) -> Iterator[Finding]:
    """Exercised by a refusal, and by a key with elements before and after the restart."""
    if ended := [*run.values("refused"), *run.values("failed")]:
        yield from ended_well(ended)
        return
    for key, before, behind in keys_on_both_sides(run):
        if behind:
            yield f"the next version went on without a word: key {key} had a list of {before} elements"


def fires_no_old_timer(run: Observation) -> Iterator[Finding]:
    """Exercised by a refusal, and by a key with elements before the restart. A key with elements behind is asked about
    its count alone: an API with one timeout for a key has it set anew there."""
    if ended := [*run.values("refused"), *run.values("failed")]:
        yield from ended_well(ended)
        return
    begun = run.case.schedule.restart
    for key, before, behind in keys_on_both_sides(run):
        told = [e for e in run.of_key(key) if e.step > begun]
        if behind:
            found = [e.value["before"] for e in told if "before" in e.value]
            yield (found != [] and min(found) >= before) or (
                f"the next version went on without a word: key {key} had {before} elements before the restart, and "
                f"found {found}"
            )
        else:
            fired = sum("fired" in e.value for e in told)
            yield not fired or (
                f"the next version went on without a word: key {key} has a timer that is due {AHEAD} ms later in event "
                f"time, which fired {fired} times"
            )


KINDS: dict[str, tuple[Program, str, str, Callable[[Observation], Iterator[Finding]]]] = {
    "lists": (
        Listed(),
        "list made a map",
        "where a list becomes a map, the next version refuses the list",
        refuses_the_list,
    ),
    "reminders": (
        Reminded(),
        "time changed",
        "where timers go by processing time and no longer by event time, the next version refuses, or goes on with all "
        "that was kept, and no old timer fires",
        fires_no_old_timer,
    ),
}
"""Program -> itself, its change, the claim about it, and what decides it."""

"""Programs whose next version keeps another kind of state, has timers that go by another time, or keeps lists, maps and
timers beside a new variable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import ClassVar

from conformance.model.next_version import Versioned
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Finding, Observation, Source
from conformance.model.schedule import Event
from conformance.model.types import Long, Map, String
from conformance.scenarios.documents import SPARK_TWS
from conformance.scenarios.shared import unless_it_ended
from conformance.scenarios.state.next_operators import of_changes

TIMEOUT = of_changes("Any change to the schema of the user-defined state and the type of timeout is not allowed")
ACROSS = SPARK_TWS.says(
    "allows for state variables to be added and removed across different runs of the same streaming query",
    "Evolution across state variables",
    "evolution-across-state-variables",
)

SOON = 1_000
"""How far (ms) behind its element a timer is set that is due at the end."""

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


class Collected(Versioned):
    """Ids of elements in a list and in a map, and a timer for each element."""

    cells: ClassVar = {"listed": Cell.BAG, "mapped": Cell.MAP}
    types: ClassVar = {"listed": String(), "mapped": Map(String(), Long())}
    timers = ("due",)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        listed, mapped = [*state.listed.get()], [key for key, _ in state.mapped.items()]
        state.listed.add(event.id)
        state.mapped.put(event.id, 1)
        timers.set("due", event.event_time + SOON, event.id)
        emit({"id": event.id, "listed": listed, "mapped": mapped})

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"fired": timer.tag})


class CollectedAndMore(Collected):
    """A variable is added in front of the others."""

    cells: ClassVar = {"more": Cell.VALUE, **Collected.cells}
    types: ClassVar = {"more": Long(), **Collected.types}


class FirstCollected(Collected):
    next_versions: ClassVar = {"variable added to collections": CollectedAndMore()}


def keys_on_both_sides(run: Observation) -> Iterator[tuple[str, int, bool]]:
    """(key, its elements before the restart, whether it has others behind) of the keys with elements before."""
    begun = run.case.schedule.restart
    for key, arrivals in run.arrivals_by_key.items():
        if before := sum(arrival.step < begun for arrival in arrivals):
            yield key, before, before < len(arrivals)


@unless_it_ended
def refuses_the_list(run: Observation) -> Iterator[Finding]:
    """Exercised by a refusal, and by a key with elements before and after the restart."""
    for key, before, behind in keys_on_both_sides(run):
        if behind:
            yield f"the next version went on without a word: key {key} had a list of {before} elements"


@unless_it_ended
def fires_no_old_timer(run: Observation) -> Iterator[Finding]:
    """Exercised by a refusal, and by a key with elements before the restart. A key with elements behind is asked about
    its count alone: an API with one timeout for a key has it set anew there."""
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


@unless_it_ended
def keeps_all(run: Observation) -> Iterator[Finding]:
    """Exercised by a refusal, and by a key with elements before the restart: each element behind finds those in the
    list and in the map, once, and the timer of each fires once, behind the restart."""
    begun = run.case.schedule.restart
    for key, before, _ in keys_on_both_sides(run):
        kept = [arrival.event.id for arrival in run.arrivals_by_key[key][:before]]
        told = [e for e in run.of_key(key) if e.step > begun]
        fired = Counter(e.value["fired"] for e in told if "fired" in e.value)
        yield all(fired[name] == 1 for name in kept) or (
            f"the next version went on without a word: key {key} has timers of {kept}, of which fired {dict(fired)}"
        )
        for emission in (e for e in told if "id" in e.value):
            for where in ("listed", "mapped"):
                found = Counter(emission.value[where])
                yield all(found[name] == 1 for name in kept) or (
                    f"the next version went on without a word: key {key} had {kept} {where} before the restart, and "
                    f"found {emission.value[where]}"
                )


KINDS: dict[str, tuple[Program, str, str, Callable[[Observation], Iterator[Finding]], Source]] = {
    "lists": (
        Listed(),
        "list made a map",
        "where a list becomes a map, the next version refuses the list",
        refuses_the_list,
        TIMEOUT,
    ),
    "reminders": (
        Reminded(),
        "time changed",
        "where timers go by processing time and no longer by event time, the next version refuses, or goes on with all "
        "that was kept, and no old timer fires",
        fires_no_old_timer,
        TIMEOUT,
    ),
    "collections": (
        FirstCollected(),
        "variable added to collections",
        "where a state variable is added beside a list and a map, the next version refuses, or goes on with all that "
        "they held, and each timer fires once",
        keeps_all,
        ACROSS,
    ),
}
"""Program -> itself, its change, the claim about it, what decides it, and who speaks of such a change."""

"""Stored state: a reader outside the job finds in the state store what the job's callbacks saw last.

Every event carries one operation on three cells, and emits what all three hold after the operation. When the schedule
has ended, a reader outside the job reads the stored state. The predicates compare the two, key by key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import INTERLEAVE, MERGE, RECOVERIES, RENAME, SPLIT
from conformance.model.program import Cell, Emit, JobKind, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, Source, promise
from conformance.model.schedule import Event
from conformance.model.values import Json
from conformance.scenarios.shared import survives

READER = "https://spark.apache.org/docs/4.0.0/streaming/structured-streaming-state-data-source.html"
ENTIRE = Source(
    "Spark State Data Source Integration Guide",
    "users can expect that they can read the entire key-value pairs in the state for a single stateful operator",
    READER,
)


class ThreeCells(Program):
    """An event's value is "add N" (to all cells), "remove N" (from the map), "clear CELL", or "read"."""

    cells = {"value": Cell.VALUE, "bag": Cell.BAG, "map": Cell.MAP}
    job = JobKind.INSPECTION

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        what, _, argument = event.value.partition(" ")
        if what == "add":
            state.value.set(int(argument))
            state.bag.add(int(argument))
            state.map.put(argument, event.id)
        elif what == "remove":
            state.map.remove(argument)
        elif what == "clear":
            getattr(state, argument).clear()
        cells = {"value": state.value.get(), "bag": list(state.bag.get()), "map": dict(state.map.items())}
        emit({"id": event.id, **cells})


def compared(run: Observation) -> Iterator[tuple[str, str, list[Json], list[Json]]]:
    """(key, cell, what the callbacks saw in the cell, in order, all that the reader found in it).

    Leaves out keys of which some element did not tell what it saw.
    """
    for key, emissions in run.told.items():
        for cell in ThreeCells.cells:
            seen = [e.value[cell] for e in emissions if "id" in e.value]
            yield key, cell, seen, [e.value["stored"] for e in emissions if e.value.get("cell") == cell]


def found(cell: str) -> Callable[[Observation], Iterator[Finding]]:
    def check(run: Observation) -> Iterator[Finding]:
        """Exercised by a cell that holds something at the end."""
        for key, name, seen, read in compared(run):
            if name == cell and seen[-1]:
                yield (
                    seen[-1] in read
                    or f"the {cell} of key {key} held {seen[-1]} last, the reader finds {read or 'nothing'}"
                )

    return check


READABLE = frozenset({Feature.INSPECTION})

of_three_cells = Guarantees("three cells", needs=READABLE)
of_three_cells("the reader finds a value", source=ENTIRE)(found("value"))
of_three_cells("the reader finds a bag in its order", source=ENTIRE)(found("bag"))
of_three_cells("the reader finds the entries of a map", source=ENTIRE)(found("map"))


@of_three_cells("the reader finds a cell once")
def once(run: Observation) -> Iterator[Finding]:
    for key, cell, _, read in compared(run):
        if read:
            yield len(read) == 1 or f"the reader finds the {cell} of key {key} {len(read)} times: {read}"


@of_three_cells("the reader finds nothing in a cell that was emptied")
def gone(run: Observation) -> Iterator[Finding]:
    """Exercised by a cell that held something and is empty at the end."""
    for key, cell, seen, read in compared(run):
        if any(seen) and not seen[-1]:
            yield not read or f"the {cell} of key {key} is empty, the reader finds {read}"


@of_three_cells("the reader finds nothing where nothing was written")
def never_there(run: Observation) -> Iterator[Finding]:
    """Exercised by a cell that was read and never held anything."""
    for key, cell, seen, read in compared(run):
        if not any(seen):
            yield not read or f"nothing was ever in the {cell} of key {key}, the reader finds {read}"


SCENARIO = Scenario(
    name="stored state",
    summary="What a reader of state finds from outside the job, beside what the job saw last.",
    programs={"three cells": ThreeCells()},
    domain={
        "three cells": Domain(
            offsets=(1, 500, 20_000),
            values=("add 1", "add 2", "add 3", "remove 1", "clear value", "clear bag", "clear map", "read"),
        )
    },
    stable_under={"three cells": promise((INTERLEAVE, SPLIT, MERGE, RENAME, *RECOVERIES), Equivalence.IDENTICAL)},
    guarantees=(
        *of_three_cells,
        *survives("the reader finds", "three cells", needs=READABLE),
    ),
)

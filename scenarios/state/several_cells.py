"""Several cells: the same events change a value, a bag, a map, a set and a sum in one operator.

Every event carries one operation, and emits what all cells hold after the operation. The predicates follow the
operations of a key in the order of its emissions. No document promises an order of a map's entries or of a set's
elements, so the predicates ignore that order.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import (
    BUNDLINGS,
    INTERLEAVE,
    RECOVERIES,
    RENAMINGS,
    RESTART,
    RESUME,
    RETRY,
    WATERMARKINGS,
)
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, Source, promise
from conformance.model.schedule import Event
from conformance.model.trace import Emission

NEW = (70, 60)
"""The new elements of a bag that an event overwrites."""

CELLS = ("value", "bag", "map", "set", "sum")

PYSPARK_LESSON = Source(
    "PySpark lesson, State Management in PySpark", "State is recovered to exactly the state at micro-batch N"
)


class FiveCells(Program):
    """An event's value is "add N" (to all five cells), "clear CELL", or "overwrite bag"."""

    cells = {
        "value": Cell.VALUE,
        "bag": Cell.BAG,
        "map": Cell.MAP,
        "set": Cell.SET,
        "sum": Cell.COMBINING,
    }

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        what, argument = event.value.split()
        if what == "add":
            number = int(argument)
            state.value.set(number)
            state.bag.add(number)
            state.map.put(argument, number)
            state.set.add(argument)
            state.sum.add(number)
        else:
            getattr(state, argument).clear()
            if what == "overwrite":
                for number in NEW:
                    state.bag.add(number)
        emit(
            {
                "id": event.id,
                "did": event.value,
                "value": state.value.get(),
                "bag": state.bag.get(),
                "map": dict(state.map.items()),
                "set": sorted(state.set.get()),
                "sum": state.sum.get(),
            }
        )


def since(run: Observation, *resets: str) -> Iterator[tuple[Emission, list[str]]]:
    """(emission, the operations of its key from the last of ``resets`` up to this emission)."""
    for emissions in run.told.values():
        done: list[str] = []
        for emission in emissions:
            operation = emission.value["did"]
            done = [operation] if operation in resets else [*done, operation]
            yield emission, done


def added(operations: list[str]) -> list[int]:
    return [int(operation.removeprefix("add ")) for operation in operations if operation.startswith("add ")]


def all_tell_the_same(run: Observation) -> Iterator[Finding]:
    """Asks about cells that only "add" has changed. It compares the cells with each other, not with what was added."""
    for emissions in run.told.values():
        for emission in itertools.takewhile(lambda e: e.value["did"].startswith("add "), emissions):
            seen = emission.value
            numbers = sorted(set(seen["bag"]))
            agree = (
                seen["value"] in numbers
                and seen["sum"] == sum(seen["bag"])
                and sorted(seen["map"].values()) == numbers
                and seen["set"] == sorted(map(str, numbers))
            )
            told = ", ".join(f"{cell} {seen[cell]}" for cell in CELLS)
            yield agree or f"the cells of key {emission.key} do not agree: {told}"


def clearing_leaves_the_others(run: Observation) -> Iterator[Finding]:
    for emissions in run.told.values():
        for before, emission in itertools.pairwise(emissions):
            what, cell = emission.value["did"].split()
            if what == "clear":
                changed = [c for c in CELLS if c != cell and before.value[c] != emission.value[c]]
                yield (
                    not changed
                    or f"clearing the {cell} of key {emission.key} made its {changed[0]} {emission.value[changed[0]]}"
                )


def a_sum_is_that_of_its_inputs(run: Observation) -> Iterator[Finding]:
    for emission, operations in since(run, "clear sum"):
        if numbers := added(operations):
            found = emission.value["sum"]
            yield found == sum(numbers) or f"the sum of key {emission.key} is {found} after {numbers} were added"


def a_sum_has_no_inputs_from_before(run: Observation) -> Iterator[Finding]:
    """Exercised where the sum was not 0 when it was cleared."""
    for emissions in run.told.values():
        for before, emission in itertools.pairwise(emissions):
            if emission.value["did"] == "clear sum" and before.value["sum"]:
                found = emission.value["sum"]
                yield not found or f"the sum of key {emission.key} is {found} right after it was cleared"


def an_overwritten_bag_holds_the_new_elements(run: Observation) -> Iterator[Finding]:
    for emission, operations in since(run, "overwrite bag", "clear bag"):
        if operations[0] == "overwrite bag":
            wanted, found = [*NEW, *added(operations)], emission.value["bag"]
            yield (
                Counter(found) == Counter(wanted)
                or f"the bag of key {emission.key} holds {found}, it was overwritten and {wanted} was put into it"
            )


def a_cleared_cell_starts_anew(run: Observation) -> Iterator[Finding]:
    """The cell holds what was added after the clear. The bag and the sum have guarantees of their own."""
    for cell in ("value", "map", "set"):
        for emission, operations in since(run, f"clear {cell}"):
            if operations[0] == f"clear {cell}":
                numbers = added(operations)
                wanted = {
                    "value": numbers[-1] if numbers else None,
                    "map": {str(n): n for n in numbers},
                    "set": sorted({str(n) for n in numbers}),
                }[cell]
                found = emission.value[cell]
                yield (
                    found == wanted
                    or f"the {cell} of key {emission.key} is {found} after {', '.join(operations)}, not {wanted}"
                )


SCENARIO = Scenario(
    name="several cells",
    summary="After every operation on a value, a bag, a map, a set and a sum, emit what each of them holds.",
    programs={"five cells": FiveCells()},
    domain={
        "five cells": Domain(
            offsets=(1, 500, 20_000),
            keys=2,
            values=(
                *("add 1", "add 2", "add -3", "add -3", "add 1000000007"),
                *(f"clear {cell}" for cell in CELLS),
                "overwrite bag",
            ),
        )
    },
    stable_under={
        "five cells": promise((INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)
    },
    guarantees=(
        Guarantee("cells that one event changes tell the same story", "five cells", all_tell_the_same),
        Guarantee("clearing one cell leaves the others", "five cells", clearing_leaves_the_others),
        Guarantee("a cleared cell starts anew", "five cells", a_cleared_cell_starts_anew),
        Guarantee(
            "a sum is that of all its inputs, negative ones too",
            "five cells",
            a_sum_is_that_of_its_inputs,
        ),
        Guarantee("a cleared sum is 0", "five cells", a_sum_has_no_inputs_from_before),
        Guarantee(
            "a bag that is overwritten holds the new elements alone",
            "five cells",
            an_overwritten_bag_holds_the_new_elements,
        ),
        Guarantee("all cells are the same after a restart", "five cells", same_under=(RESTART,), source=PYSPARK_LESSON),
        Guarantee("all cells are the same after a failure in a bundle", "five cells", same_under=(RETRY, RESUME)),
    ),
)

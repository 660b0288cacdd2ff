"""Several cells: the same events change a value, a bag, a map, a set and a sum in one operator.

Every event changes some cells and reads all. No document promises an order of a map's entries or of a set's elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from conformance.model.perturbation import RESTART, RESUME, RETRY
from conformance.model.program import Cell
from conformance.model.scenario import Finding, Guarantee, Observation, Source
from conformance.scenarios.calls.combined_calls import Asked, Found, Law, holds, reads
from conformance.scenarios.calls.model import Read
from conformance.scenarios.calls.named_lists import FewCells, Part, of_lists

PYSPARK_LESSON = Source(
    "PySpark lesson, State Management in PySpark", "State is recovered to exactly the state at micro-batch N"
)


class FiveCells(FewCells):
    cells = {"value": Cell.VALUE, "bag": Cell.BAG, "map": Cell.MAP, "set": Cell.SET, "sum": Cell.COMBINING}


ADD = 'value set {0}; bag add {0}; map put "{0}" {0}; set add "{0}"; sum add {0}'
READS = "; value get; bag get; map items; set get; sum get"
LISTS = (
    *("; ".join(map(ADD.format, numbers)) for numbers in ((1,), (2,), (-3,), (-3, -3), (2, 1_000_000_007))),
    *(f"{cell} clear" for cell in FiveCells.cells),
    "bag clear; bag add 70; bag add 60",
)


def together(law: Callable[[Mapping[str, Read]], Iterator[Finding]]) -> Law:
    """Asks about the reads of all cells by one callback."""

    def asked(found: Found, run: Observation) -> Iterator[Finding]:
        callbacks: dict[tuple[str, int], dict[str, Read]] = {}
        for read in run.once(found):
            if isinstance(read, Read) and read.reads:
                callbacks.setdefault((read.key, read.callback), {})[read.cell] = read
        return (finding for reads_of_all in callbacks.values() for finding in law(reads_of_all))

    return asked


def the_same_story(cells: Mapping[str, Read]) -> Iterator[Finding]:
    """Asks about cells that were only added to. It compares them with each other, not with what was added."""
    if not any(read.written.callbacks("clear") for read in cells.values()):
        value, bag, entries, elements, total = (cells[name].gave for name in FiveCells.cells)
        texts = sorted(map(str, set(bag)))
        same = value in bag and total == sum(bag) and texts == sorted(elements) == sorted(entry[1] for entry in entries)
        told = ", ".join(f"{name} {read.gave}" for name, read in cells.items())
        yield same or f"the cells of key {cells['value'].key} do not agree: {told}"


def clearing_leaves_the_others(cells: Mapping[str, Read]) -> Iterator[Finding]:
    """Asks about the cells that a callback which clears one does not call. Another callback read them before."""
    if any(read.callback in read.written.callbacks("clear") for read in cells.values()):
        yield from (read.right() for read in cells.values() if read.written.callback < read.callback > 0)


def overwritten(read: Read) -> bool:
    """Whether the callback that cleared the cell last added to it."""
    return any(number in read.written.callbacks("add") for number in read.written.callbacks("clear")[-1:])


PARTS = ("value", "map", "set")
"""Cells that the guarantee of cleared cells asks about. The bag and the sum have guarantees of their own."""

ASKED = (
    Asked("cells that one event changes tell the same story", together(the_same_story)),
    Asked("clearing one cell leaves the others", together(clearing_leaves_the_others)),
    Asked(
        "a cleared cell starts anew", reads(lambda read: read.cell in PARTS and read.written.callbacks("clear") != [])
    ),
    Asked("a sum is that of all its inputs, negative ones too", holds(Cell.COMBINING)),
    Asked(
        "a cleared sum is 0",
        reads(lambda read: read.cell == "sum" and read.empty and read.written.callbacks("add") != []),
    ),
    Asked(
        "a bag that is overwritten holds the new elements alone",
        reads(lambda read: read.cell == "bag" and overwritten(read)),
    ),
)

SCENARIO = of_lists(
    "several cells",
    "Change a value, a bag, a map, a set and a sum, and emit what each of them holds.",
    {"five cells": Part(FiveCells(), tuple(calls + READS for calls in LISTS), ASKED)},
    (
        Guarantee("all cells are the same after a restart", "five cells", same_under=(RESTART,), source=PYSPARK_LESSON),
        Guarantee("all cells are the same after a failure in a bundle", "five cells", same_under=(RETRY, RESUME)),
    ),
)

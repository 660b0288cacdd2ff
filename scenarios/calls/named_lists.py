"""Scenarios of named lists of calls: the program of ``combined_calls`` on a few cells.

Each event has one of a handful of lists. The laws ask about the reads that a sentence speaks of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, RENAMINGS, WATERMARKINGS
from conformance.model.program import Cell
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, promise
from conformance.model.values import Json, canonical
from conformance.scenarios.calls.combined_calls import Asked, CombinedCalls, Found, Law, laws_of, reads
from conformance.scenarios.calls.language import spelled
from conformance.scenarios.calls.model import NOTHING, Read, same
from conformance.scenarios.calls.plain import plain

IDENTICAL = promise((INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)


class FewCells(CombinedCalls):
    """The same on other cells, without timers. It has a few more calls, see ``language``."""

    timers: ClassVar[tuple[str, ...]] = ()
    says = ""
    timer_chain = 0

    def ask(self, cell: Any, kind: Cell, what: str, values: list[Any], nothing: Any) -> Json:
        if what == "twice":
            return [*cell.items()] == [*cell.items()]
        if what == "drain":
            for key, _ in [*cell.items()]:
                cell.remove(key)
            return None
        if what not in ("change", "extend", "lend"):
            return super().ask(cell, kind, what, values, nothing)
        *values, more = values
        found = values[-1] if what == "lend" else cell.get(*values, [])
        write = cell.put if kind is Cell.MAP else cell.set
        if what == "lend":
            write(*values)
        if isinstance(found, list):
            found.append(more)
        if what == "extend":
            write(*values, found)
        return None


@dataclass(frozen=True)
class Part:
    """One program of a scenario, the lists of calls that its events have, and what is asked of it."""

    program: CombinedCalls
    lists: tuple[str, ...]
    asked: tuple[Asked, ...]
    offsets: tuple[int, ...] = (1, 500, 20_000)
    events: int = 8


def of_lists(
    name: str,
    summary: str,
    parts: Mapping[str, Part],
    more: tuple[Guarantee, ...] = (),
    stable: Mapping[str, Equivalence] = IDENTICAL,
    complete: bool = True,
) -> Scenario:
    """A scenario of such programs. ``more``: guarantees that are no laws."""
    return Scenario(
        plain=plain,
        name=name,
        summary=summary,
        programs={which: part.program for which, part in parts.items()},
        domain={
            which: Domain(offsets=part.offsets, keys=2, values=part.lists, events=part.events)
            for which, part in parts.items()
        },
        stable_under=dict.fromkeys(parts, stable),
        complete=complete,
        guarantees=(*(g for which, part in parts.items() for g in laws_of(which, part.program, part.asked)), *more),
    )


def one_of(*values: Json) -> Callable[[Json], bool]:
    return lambda found: any(same(found, value) for value in values)


def after(what: str, kind: Cell = Cell.VALUE, right: Callable[[Read], Finding] = Read.right) -> Law:
    """Asks about the reads of cells that were last called so."""
    return reads(lambda read: read.kind is kind and read.written.last == what, right)


def pairs(read: Read, found: Json) -> list[tuple[str, str]]:
    """The entries of a map, or the elements of a set, that a read gives, as texts."""
    if read.kind is Cell.MAP and read.call[1] == "get":
        return [] if found == NOTHING else [(canonical(read.call[2]), canonical(found))]
    if not isinstance(found, list):
        return []
    return (
        [(key, value) for key, value in found] if read.kind is Cell.MAP else [(canonical(each), "") for each in found]
    )


def entries(kind: Cell, law: Callable[[Read, str], bool]) -> Law:
    """Asks of each entry that a read should give, for which this holds, that it is given once, with its value."""

    def asked(found: Found, run: Observation) -> Iterator[Finding]:
        for read in run.once(found):
            if isinstance(read, Read) and read.reads and read.kind is kind:
                given = pairs(read, read.gave)
                for name, value in pairs(read, read.wanted):
                    if law(read, name):
                        values = [other for found, other in given if found == name]
                        how = f"key {read.key}: {spelled([read.call])} gives {name} as {values}, not once as {value}"
                        yield values == [value] or how

    return asked

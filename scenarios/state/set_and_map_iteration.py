"""Set and map iteration: an iteration over a map gives each entry once, whatever was put, removed and put again before.

Every event iterates over the map twice, and over a set. No document promises an order.
"""

from __future__ import annotations

from conformance.model.program import Cell
from conformance.model.scenario import Finding
from conformance.model.values import canonical
from conformance.scenarios.calls.combined_calls import Asked, calls, reads
from conformance.scenarios.calls.model import Read
from conformance.scenarios.calls.named_lists import FewCells, Part, entries, of_lists, pairs
from conformance.scenarios.documents import REMOVE

ALIKE = (("1", "1.0"), ("a", "A"), ("\u00e9", "e\u0301"), ("", " "))
"""Names that an engine might confuse: as numbers, in lower case, in one form of Unicode, without blanks."""

RIVALS = {canonical(one): canonical(other) for pair in ALIKE for one, other in (pair, pair[::-1])}


class Iteration(FewCells):
    cells = {"entries": Cell.MAP, "names": Cell.SET}


def puts(value: int, *names: str) -> str:
    return "; ".join(f"entries put {canonical(name)} {value}; names add {canonical(name)}" for name in names)


def removes(*names: str) -> str:
    return "; ".join(f"entries remove {canonical(name)}" for name in names)


LISTS = (
    *(puts(1, "a"), puts(2, "a"), removes("a"), f"{removes('a')}; {puts(3, 'a')}", puts(4, "b", "a", "c")),
    "entries drain",
    *(puts(5, *pair) for pair in ALIKE),
    *(removes("1"), removes("")),
)


def names_once(read: Read) -> Finding:
    given, wanted = ([name for name, _ in pairs(read, found)] for found in (read.gave, read.wanted))
    return given == wanted or read.right()


def done(read: Read, name: str) -> list[str]:
    """The last two calls on an entry, of those that write."""
    return [what for _, what, entry in read.written.history if entry in (name, "")][-2:]


def others_removed(read: Read, name: str) -> bool:
    """Whether the callback removed another entry, and did nothing to this one."""
    called = {(what, entry) for number, what, entry in read.written.history if number == read.callback}
    return any(what == "remove" for what, _ in called) and all(entry != name for _, entry in called)


def beside_a_rival(read: Read, name: str) -> bool:
    return RIVALS.get(name) in dict(pairs(read, read.wanted))


ASKED = (
    Asked(
        "going through a map gives every entry once",
        reads(lambda read: read.kind is Cell.MAP and not read.empty, names_once),
    ),
    Asked(
        "an overwritten entry is given once, with its last value",
        entries(Cell.MAP, lambda read, name: done(read, name) == ["put", "put"]),
    ),
    Asked(
        "an entry that was removed and put again is given once",
        entries(Cell.MAP, lambda read, name: done(read, name) in (["remove", "put"], ["drain", "put"])),
    ),
    Asked("removing an entry leaves the others", entries(Cell.MAP, others_removed), REMOVE),
    Asked(
        "a map whose entries were all removed gives nothing",
        reads(lambda read: read.kind is Cell.MAP and read.empty and read.written.callback >= 0),
    ),
    Asked(
        "going through a map twice gives the same",
        calls(lambda read: read.call[1] == "twice" and len(read.written.entries) > 1),
    ),
    Asked("entries whose names look alike are kept apart", entries(Cell.MAP, beside_a_rival)),
    Asked("elements of a set that look alike are kept apart", entries(Cell.SET, beside_a_rival)),
)

SCENARIO = of_lists(
    "set and map iteration",
    "Put into a map and remove from it, and emit the entries that going through it gives, whether they are the same "
    "again, and the elements of a set.",
    {
        "iteration": Part(
            Iteration(), tuple(f"{calls}; entries items; entries twice; names get" for calls in LISTS), ASKED
        )
    },
)

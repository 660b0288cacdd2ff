"""State collections: a bag, a map and a set keep what was put into them, from event to event and from bundle to bundle.

No document promises an order of a map's entries or of a set's elements, so the laws ignore that order.
"""

from __future__ import annotations

from conformance.model.program import Cell
from conformance.model.scenario import Finding, Source
from conformance.model.values import canonical
from conformance.scenarios.calls.combined_calls import PUT, Asked, holds, reads
from conformance.scenarios.calls.model import Read
from conformance.scenarios.calls.named_lists import FewCells, Part, after, entries, of_lists, pairs
from conformance.scenarios.documents import JAVADOC, REMOVE

STATE = f"{JAVADOC}/current/org/apache/beam/sdk/state"
ADDED = "Items can be added to the bag and the contents read out"
BEAM_BAG = Source("Beam Java API, BagState", ADDED, f"{STATE}/BagState.html")
BEAM_SET = Source("Beam Java API, SetState", "containing a set of elements", f"{STATE}/SetState.html")


class Bag(FewCells):
    cells = {"bag": Cell.BAG}


class MapAndSet(FewCells):
    cells = {"entries": Cell.MAP, "names": Cell.SET}


def appended(read: Read) -> list[str]:
    """What a bag should hold, in the order of the appends."""
    return [canonical(value) for _, value, _ in read.written.entries]


def differ(read: Read) -> bool:
    """Whether a bag holds what was added, and its elements differ."""
    return read.kind is Cell.BAG and len({*appended(read)}) > 1 and read.right() is True


def in_order(read: Read) -> Finding:
    return [*map(canonical, read.listed)] == appended(read) or f"the bag of key {read.key} is read as {read.listed}"


def gone(read: Read) -> set[str]:
    """The names of entries that are no more, of those that the read asks for."""
    there = {name for name, _ in pairs(read, read.wanted)}
    asked = {canonical(name) for name in read.call[2:]}
    named = {name for _, _, name in read.written.history if name}
    return (named & asked if asked else named) - there


def not_given(read: Read) -> Finding:
    left = gone(read) & {name for name, _ in pairs(read, read.gave)}
    return not left or f"the entry {min(left)} of key {read.key} is still there"


OF_BAG = (
    Asked("a bag holds every element as often as it was added", holds(Cell.BAG), BEAM_BAG),
    Asked("a bag is read in the order of appends", reads(differ, in_order)),
    Asked("a cleared bag is empty", after("clear", Cell.BAG)),
)

OF_MAP_AND_SET = (
    Asked("a map entry has the value last put", entries(Cell.MAP, lambda read, name: True), PUT),
    Asked(
        "a removed map entry is gone",
        reads(lambda read: read.kind is Cell.MAP and gone(read) != set(), not_given),
        REMOVE,
    ),
    Asked(
        "a set holds an element once",
        reads(lambda read: read.kind is Cell.SET and read.written.callback >= 0),
        BEAM_SET,
    ),
)

BAGS = ('add "x"', 'add "x"', 'add "y"', 'add "z"', "clear")

PUTS = tuple(f'entries put "{name}" {value}; names add "{name}"' for name, value in ("x1", "x2", "y1"))

READS = '; entries get "x"; entries get "y"; entries items; names get'

SCENARIO = of_lists(
    "state collections",
    "Add to, remove from and clear a bag, or a map and a set, and emit what they hold.",
    {
        "bag": Part(Bag(), tuple(f"bag {what}; bag get" for what in BAGS), OF_BAG),
        "map and set": Part(
            MapAndSet(),
            tuple(calls + READS for calls in (*PUTS, 'entries remove "x"', "entries clear; names clear")),
            OF_MAP_AND_SET,
        ),
    },
)

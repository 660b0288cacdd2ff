"""Typed collections: lists and maps of typed elements hold what was put into them, from one element to a thousand, and
are empty once emptied.

Every event calls one collection, and reads it before and after. No document promises an order of a list's elements on
every engine, or of a map's entries, so the laws ignore the order.
"""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal as Number
from typing import Any

from conformance.model.program import Cell
from conformance.model.scenario import Guarantee
from conformance.model.types import Array, Date, Decimal, Double, Int, Long, Map, String, Struct, shown
from conformance.model.values import Json, canonical
from conformance.scenarios.calls.combined_calls import Asked, Law, calls, every_element_is_answered, reads
from conformance.scenarios.calls.named_lists import FewCells, Part, of_lists

ROWS: dict[str, tuple[Any, ...]] = {
    "row": (7, "x", 0.5),
    "row of nulls": (None, None, None),
    "row with a null": (None, "", 1.0),
    "row of extremes": (2**31 - 1, "\U0001f600e\u0301", math.inf),
    "row with NaN": (-(2**31), "\0", math.nan),
}
"""Name -> an element of the list of rows."""

ARRAYS: dict[str, list[int | None]] = {"array": [1, 2], "empty array": [], "array with a null": [None, 3]}
"""Name -> a value of the map from texts to arrays."""

VALUES: dict[str, Any] = {
    **ROWS,
    **ARRAYS,
    **{str(number): number for number in (-1, 1, 2, 3, 99, 2**63 - 1)},
    "day": date(1969, 12, 31),
    "next day": date(1970, 1, 1),
    **{amount: Number(amount) for amount in ("-0.001", "1.500", "0.007")},
    **{f"pair {number}": [number, None] for number in range(100)},
}
"""Name -> a value. A text is named by itself: {"key": "array"}."""

MANY = {"1,000 numbers": range(-500, 500)}


class TypedCollections(FewCells):
    cells = {"numbers": Cell.BAG, "rows": Cell.BAG, "days": Cell.MAP, "entries": Cell.MAP}
    types = {
        "numbers": Long(),
        "rows": Struct((("a", Int()), ("b", String()), ("c", Double()))),
        "days": Map(Date(), Decimal(10, 3)),
        "entries": Map(String(), Array(Int())),
    }

    def meant(self, argument: Json) -> Any:
        if isinstance(argument, list):
            return [value for name in argument for value in MANY.get(name) or [VALUES[name]]]
        found = argument["key"] if isinstance(argument, dict) else VALUES[argument]
        return [*found] if isinstance(found, list) else found

    def told(self, found: Any) -> Json:
        return shown(found)


def put(key: str, value: str, what: str = "put", more: str = "") -> str:
    return f"entries {what} {canonical({'key': key})} {canonical(value)}{more}"


CLAIMS = {
    "a typed list holds the elements that were added": (
        'rows add "row"',
        'rows add "row"; rows add "row"',
        f'numbers add "-1"; numbers add "{2**63 - 1}"',
        'numbers set ["3","1","2"]',
    ),
    "an element of a typed list keeps its nulls": ('rows add "row of nulls"', 'rows add "row with a null"'),
    "an element of a typed list keeps extreme values": ('rows add "row of extremes"', 'rows add "row with NaN"'),
    "a typed list holds 1,000 elements": ('numbers set ["1,000 numbers"]',),
    "a cleared typed list is empty": ("rows clear", "numbers clear"),
    "a typed map holds the entries that were put": (
        'days put "day" "-0.001"; days put "next day" "1.500"',
        'days remove "next day"',
        'days put "day" "0.007"',
    ),
    "a typed map holds arrays, empty ones and nulls": tuple(put(name, name) for name in ARRAYS),
    "a typed map holds 100 entries": ("; ".join(put(f"key {number}", f"pair {number}") for number in range(100)),),
    "a typed map whose entries are all removed is empty": ("days drain", "entries drain"),
    "a cleared typed map is empty": ("days clear", "entries clear"),
    "an array that is changed after it was put into a typed map, or read from it, is not changed in the state": (
        put("changed", "array", "lend", ' "99"'),
        f"""{put("array", "array")}; {put("array", "99", "change")}""",
    ),
}
"""Claim -> the calls that it is about."""


def between_reads(text: str) -> str:
    """Calls on one collection, between two reads of it."""
    name = text.split()[0]
    read = f"{name} {'items' if TypedCollections.cells[name] is Cell.MAP else 'get'}"
    return f"{read}; {text}; {read}"


def by_collection(text: str) -> tuple[int, bool]:
    """The lists that empty a collection come behind those that fill it: what follows what is drawn."""
    return [*TypedCollections.cells].index(text.split()[0]), "clear" in text or "drain" in text


def does(*texts: str) -> Law:
    """Asks about the answers to these calls, and to the read behind them."""
    lists = {*map(between_reads, texts)}
    return calls(lambda read: read.of.did in lists and (not read.reads or read.written.callback == read.callback))


SCENARIO = of_lists(
    "typed collections",
    "Add to, put into, remove from and clear a typed list or map, and emit what it held before and holds now.",
    {
        "collections": Part(
            TypedCollections(),
            tuple(sorted((between_reads(text) for texts in CLAIMS.values() for text in texts), key=by_collection)),
            (
                *(Asked(claim, does(*texts)) for claim, texts in CLAIMS.items()),
                Asked("a typed list or map is empty at first", reads(lambda read: read.written.callback < 0)),
                Asked(
                    "a typed list or map is the same in the next call",
                    reads(lambda read: -1 < read.written.callback < read.callback),
                ),
            ),
            events=12,
        )
    },
    (
        Guarantee(
            "each operation on a typed list or map is answered once, under its key",
            "collections",
            every_element_is_answered,
        ),
    ),
    complete=False,  # the output says what became of each element, which the other guarantees tell kind by kind
)

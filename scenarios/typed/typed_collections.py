"""Typed collections: lists and maps of typed elements hold what was put into them, from one element to a thousand, and
are empty once emptied.

Every event does one operation on one collection. It emits what the collection held before and holds after the
operation. A predicate compares the two, so an operation that went wrong speaks against one guarantee and not against
those of later operations. No document promises an order of a list's elements on every engine, or of a map's entries, so
the predicates ignore the order.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal as Number
from typing import Any

from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario
from conformance.model.schedule import Event
from conformance.model.types import Array, Date, Decimal, Double, Int, Long, Map, Refused, String, Struct, shown
from conformance.model.values import Json, canonical, digest
from conformance.scenarios.typed.typed_state import STABLE, every_event_is_answered

SHORT = 24
"""A collection of more elements is shown by its size and its digest."""

ROWS: dict[str, tuple[Any, ...]] = {
    "row": (7, "x", 0.5),
    "row of nulls": (None, None, None),
    "row with a null": (None, "", 1.0),
    "row of extremes": (2**31 - 1, "\U0001f600e\u0301", math.inf),
    "row with NaN": (-(2**31), "\0", math.nan),
}
"""Name -> an element of the list of rows."""

FIRST = date(1969, 12, 31)

ENTRIES: dict[str, list[int | None]] = {"array": [1, 2], "empty array": [], "array with a null": [None, 3]}
"""Name -> a value of the map from texts to arrays."""

MANY, SEVERAL = 1_000, 100


class TypedCollections(Program):
    """An event's value is "CELL OPERATION"."""

    cells = {"numbers": Cell.BAG, "rows": Cell.BAG, "days": Cell.MAP, "entries": Cell.MAP}
    types = {
        "numbers": Long(),
        "rows": Struct((("a", Int()), ("b", String()), ("c", Double()))),
        "days": Map(Date(), Decimal(10, 3)),
        "entries": Map(String(), Array(Int())),
    }

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        name, _, _ = event.value.partition(" ")
        cell = getattr(state, name)
        told = {"id": event.id, "did": event.value, "before": held(cell, name), "refused": ""}
        try:
            operate, *_ = OPERATIONS[event.value]
            operate(cell)
        except Refused as refused:
            told["refused"] = refused.error
        emit(told | {"after": held(cell, name)})


def held(cell: Any, name: str) -> Json:
    """What a list or a map holds: its elements or entries as they are shown, in the order of their JSON."""
    try:
        found = [shown(each) for each in (cell.get() if name in ("numbers", "rows") else cell.items())]
    except Refused as refused:
        return {"refused": refused.error}
    found.sort(key=canonical)
    return found if len(found) <= SHORT else {"size": len(found), "digest": digest(found)}


def day(number: int) -> date:
    return FIRST + timedelta(days=number)


def amount(number: int) -> Number:
    return Number(number).scaleb(-3)


def add(*elements: Any) -> Callable[[Any], None]:
    def operation(cell: Any) -> None:
        for element in elements:
            cell.add(element)

    return operation


def put_all(elements: Iterable[Any]) -> Callable[[Any], None]:
    return lambda cell: cell.set(list(elements))


def put(entries: Iterable[tuple[Any, Any]]) -> Callable[[Any], None]:
    def operation(cell: Any) -> None:
        for key, value in list(entries):
            cell.put(key, list(value) if isinstance(value, list) else value)

    return operation


def put_and_change(cell: Any) -> None:
    value = [1, 2]
    cell.put("changed", value)
    value.append(99)


def change_what_is_read(cell: Any) -> None:
    found = cell.get("array")
    if isinstance(found, list):
        found.append(99)


def remove(key: Any) -> Callable[[Any], None]:
    return lambda cell: cell.remove(key)


def remove_all(cell: Any) -> None:
    for key, _ in list(cell.items()):
        cell.remove(key)


def clear(cell: Any) -> None:
    cell.clear()


Effect = Callable[[Counter[str]], Counter[str]]
"""What an operation makes of the elements, or of the entries, as texts."""


def more(*elements: Any) -> Effect:
    return lambda before: before + Counter(_text(each) for each in elements)


def exactly(elements: Iterable[Any]) -> Effect:
    return lambda before: Counter(_text(each) for each in elements)


def with_entry(*entries: tuple[Any, Any]) -> Effect:
    """Entries of other keys stay."""
    keys = {_text(key) for key, _ in entries}
    return lambda before: Counter(
        [*(each for each in before if _key(each) not in keys), *(_text(entry) for entry in entries)]
    )


def without(key: Any) -> Effect:
    return lambda before: Counter(each for each in before if _key(each) != _text(key))


def _text(value: Any) -> str:
    return canonical(shown(value))


def _key(entry: str) -> str:
    return canonical(json.loads(entry)["struct"][0])


MANY_NUMBERS = [number - 500 for number in range(MANY)]
SEVERAL_ENTRIES = [(f"key {number}", [number, None]) for number in range(SEVERAL)]
TWO_DAYS = [(day(0), amount(-1)), (day(1), amount(1500))]

OPERATIONS: dict[str, tuple[Callable[[Any], None], Effect]] = {
    **{f"rows add {name}": (add(row), more(row)) for name, row in ROWS.items()},
    "rows add twice": (add(ROWS["row"], ROWS["row"]), more(ROWS["row"], ROWS["row"])),
    "rows clear": (clear, exactly([])),
    "numbers add": (add(-1, 2**63 - 1), more(-1, 2**63 - 1)),
    "numbers put": (put_all([3, 1, 2]), exactly([3, 1, 2])),
    "numbers put 1000": (put_all(MANY_NUMBERS), exactly(MANY_NUMBERS)),
    "numbers clear": (clear, exactly([])),
    "days put": (put(TWO_DAYS), with_entry(*TWO_DAYS)),
    "days put anew": (put([(day(0), amount(7))]), with_entry((day(0), amount(7)))),
    "days remove": (remove(day(1)), without(day(1))),
    "days remove all": (remove_all, exactly([])),
    "days clear": (clear, exactly([])),
    **{f"entries put {name}": (put([(name, value)]), with_entry((name, value))) for name, value in ENTRIES.items()},
    "entries put 100": (put(SEVERAL_ENTRIES), with_entry(*SEVERAL_ENTRIES)),
    "entries put and change": (put_and_change, with_entry(("changed", [1, 2]))),
    "entries change read": (change_what_is_read, lambda before: before),
    "entries remove all": (remove_all, exactly([])),
    "entries clear": (clear, exactly([])),
}
"""Operation -> (what the program does, what it should make of the content)."""


def operations(run: Observation, names: Iterable[str]) -> Iterator[tuple[str, Json, str]]:
    """(key, the emitted object, operation) of the keys' operations with these names."""
    asked = frozenset(names)
    for key, emissions in run.told.items():
        for emission in emissions:
            if emission.value["did"] in asked:
                yield key, emission.value, emission.value["did"]


def does(*names: str) -> Callable[[Observation], Iterator[Finding]]:
    """The guarantee about operations: each makes of the content what it should. A content that is shown by its digest,
    or was not to be read, says nothing of an operation that keeps a part of it."""

    def predicate(run: Observation) -> Iterator[Finding]:
        for key, told, did in operations(run, names):
            before, after = told["before"], told["after"]
            if not isinstance(before, list) and OPERATIONS[did][1] not in REPLACING:
                continue
            known = before if isinstance(before, list) else []
            wanted = sorted(OPERATIONS[did][1](Counter(canonical(each) for each in known)).elements())
            if told["refused"]:
                yield f"{did!r} of key {key} is refused: {told['refused']}"
            else:
                yield _same(wanted, after) or f"key {key} holds {canonical(after)[:80]} after {did!r}"

    return predicate


REPLACING = [effect for name, (_, effect) in OPERATIONS.items() if name.endswith(("clear", "all", "1000", "put"))]
"""The effects that keep nothing of what was there."""


def _same(wanted: list[str], after: Json) -> bool:
    if isinstance(after, list):
        return sorted(canonical(each) for each in after) == wanted
    return bool(after == {"size": len(wanted), "digest": digest([json.loads(each) for each in wanted])})


def is_kept(run: Observation) -> Iterator[Finding]:
    """What a collection holds before an operation is what it held after the last one on it."""
    for key, emissions in run.told.items():
        last: dict[str, Json] = {}
        for emission in emissions:
            cell = emission.value["did"].split()[0]
            before = emission.value["before"]
            if cell in last:
                yield before == last[cell] or (
                    f"{cell} of key {key} holds {canonical(before)[:60]}, and held {canonical(last[cell])[:60]} in "
                    "the call before"
                )
            last[cell] = emission.value["after"]


def is_empty_at_first(run: Observation) -> Iterator[Finding]:
    for key, emissions in run.told.items():
        seen: set[str] = set()
        for emission in emissions:
            cell = emission.value["did"].split()[0]
            if cell not in seen:
                before = emission.value["before"]
                yield before == [] or f"{cell} of key {key} holds {canonical(before)[:80]}, nothing was put there"
            seen.add(cell)


def claims() -> Iterator[tuple[str, tuple[str, ...]]]:
    """(claim, operations)."""
    yield (
        "a typed list holds the elements that were added",
        ("rows add row", "rows add twice", "numbers add", "numbers put"),
    )
    yield "an element of a typed list keeps its nulls", ("rows add row of nulls", "rows add row with a null")
    yield "an element of a typed list keeps extreme values", ("rows add row of extremes", "rows add row with NaN")
    yield "a typed list holds 1,000 elements", ("numbers put 1000",)
    yield "a cleared typed list is empty", ("rows clear", "numbers clear")
    yield "a typed map holds the entries that were put", ("days put", "days put anew", "days remove")
    yield "a typed map holds arrays, empty ones and nulls", tuple(f"entries put {name}" for name in ENTRIES)
    yield "a typed map holds 100 entries", ("entries put 100",)
    yield "a typed map whose entries are all removed is empty", ("days remove all", "entries remove all")
    yield "a cleared typed map is empty", ("days clear", "entries clear")
    yield (
        "an array that is changed after it was put into a typed map, or read from it, is not changed in the state",
        ("entries put and change", "entries change read"),
    )


SCENARIO = Scenario(
    name="typed collections",
    summary="After every operation on a typed list or map, emit what it held before and holds now.",
    programs={"collections": TypedCollections()},
    domain={"collections": Domain(offsets=(1, 500, 20_000), keys=2, values=(*OPERATIONS,), events=12)},
    stable_under={"collections": STABLE},
    complete=False,  # the output says what became of each element, which the other guarantees tell kind by kind
    guarantees=(
        *(Guarantee(claim, "collections", does(*names)) for claim, names in claims()),
        Guarantee("a typed list or map is empty at first", "collections", is_empty_at_first),
        Guarantee("a typed list or map is the same in the next call", "collections", is_kept),
        Guarantee(
            "each operation on a typed list or map is answered once, under its key",
            "collections",
            every_event_is_answered,
        ),
    ),
)

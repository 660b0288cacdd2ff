"""State and timers of an exported program on the state variables of transformWithState. An export holds the source of
what it needs from here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from conformance.model.types import Refused

Json = Any


class ValueCell:
    """ValueState of JSON text."""

    def __init__(self, handle: Any, name: str) -> None:
        self._state = handle.getValueState(name, "v string")

    def get(self, default: Json = None) -> Json:
        stored = self._state.get()
        return default if stored is None else json.loads(stored[0])

    def set(self, value: Json) -> None:
        self._state.update((json.dumps(value),))

    def clear(self) -> None:
        self._state.clear()


class CombiningCell(ValueCell):
    """A sum in a ValueState."""

    def add(self, value: int) -> None:
        self.set(self.get() + value)

    def get(self, default: Json = 0) -> Json:
        return super().get(default)


class BagCell:
    """ListState of JSON texts."""

    def __init__(self, handle: Any, name: str) -> None:
        self._state = handle.getListState(name, "v string")

    def add(self, value: Json) -> None:
        self._state.appendValue((json.dumps(value),))

    def set(self, values: list[Json]) -> None:
        if values:
            self._state.put([(json.dumps(value),) for value in values])
        else:  # put refuses an empty list
            self._state.clear()

    def get(self) -> list[Json]:
        return [json.loads(stored[0]) for stored in self._state.get()]

    def clear(self) -> None:
        self._state.clear()


class MapCell:
    """MapState from text to JSON text."""

    def __init__(self, handle: Any, name: str) -> None:
        self._state = handle.getMapState(name, "k string", "v string")

    def get(self, key: str, default: Json = None) -> Json:
        stored = self._state.getValue((key,))
        return default if stored is None else json.loads(stored[0])

    def put(self, key: str, value: Json) -> None:
        self._state.updateValue((key,), (json.dumps(value),))

    def remove(self, key: str) -> None:
        self._state.removeKey((key,))

    def items(self) -> list[tuple[str, Json]]:
        return [(key[0], json.loads(value[0])) for key, value in self._state.iterator()]

    def clear(self) -> None:
        self._state.clear()


class SetCell(MapCell):
    """The keys of a MapState."""

    def add(self, value: str) -> None:
        self.put(value, None)

    def get(self) -> list[str]:  # type: ignore[override]
        return [key for key, _ in self.items()]


def or_refused(method: Any, *given: Any) -> Any:
    """What a call gives. The one that fails is refused, by the innermost error that its message names."""
    try:
        result = method(*given)
        return list(result) if hasattr(result, "__next__") else result
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        named = re.findall(r"\b([A-Za-z_]\w*(?:Error|Exception))\b|\[([A-Z][A-Z_.]+)\]", said)
        raise Refused(next(filter(None, named[-1])), said) from error


class TypedValueCell:
    """ValueState of a type. A struct is a row of several columns, another value is one column."""

    def __init__(self, handle: Any, name: str, schema: str, struct: bool) -> None:
        self._state, self._struct = self._made(handle, name, schema), struct

    def _made(self, handle: Any, name: str, schema: str) -> Any:
        return handle.getValueState(name, schema)

    def _row(self, value: Any) -> Any:
        return value if self._struct else (value,)

    def _value(self, row: Any) -> Any:
        return row if self._struct else row[0]

    def get(self, default: Any = None) -> Any:
        stored = or_refused(self._state.get)
        return default if stored is None else self._value(stored)

    def set(self, value: Any) -> None:
        or_refused(self._state.update, self._row(value))

    def clear(self) -> None:
        or_refused(self._state.clear)


class TypedBagCell(TypedValueCell):
    """ListState of a type."""

    def _made(self, handle: Any, name: str, schema: str) -> Any:
        return handle.getListState(name, schema)

    def add(self, value: Any) -> None:
        or_refused(self._state.appendValue, self._row(value))

    def set(self, value: Any) -> None:
        or_refused(self._state.put, [self._row(each) for each in value])

    def get(self, default: Any = None) -> Any:
        return [self._value(row) for row in or_refused(self._state.get)]


class TypedMapCell:
    """MapState from a type to a type."""

    def __init__(self, handle: Any, name: str, keys: str, values: str, structs: tuple[bool, bool]) -> None:
        self._state, self._structs = handle.getMapState(name, keys, values), structs

    def _row(self, value: Any, part: int) -> Any:
        return value if self._structs[part] else (value,)

    def _value(self, row: Any, part: int) -> Any:
        return row if self._structs[part] else row[0]

    def get(self, key: Any, default: Any = None) -> Any:
        stored = or_refused(self._state.getValue, self._row(key, 0))
        return default if stored is None else self._value(stored, 1)

    def put(self, key: Any, value: Any) -> None:
        or_refused(self._state.updateValue, self._row(key, 0), self._row(value, 1))

    def remove(self, key: Any) -> None:
        or_refused(self._state.removeKey, self._row(key, 0))

    def items(self) -> list[tuple[Any, Any]]:
        return [(self._value(key, 0), self._value(value, 1)) for key, value in or_refused(self._state.iterator)]

    def clear(self) -> None:
        or_refused(self._state.clear)


class NamedTimers:
    """Names for timers, which transformWithState knows by their time alone: a MapState says which are set. Times are ms
    since the epoch."""

    def __init__(self, handle: Any) -> None:
        self._handle, self._times = handle, handle.getMapState("timers", "name string", "time long")

    def set(self, name: str, time: int, tag: str = "") -> None:
        self.clear(name, tag)
        self._times.updateValue((f"{name}/{tag}",), (time,))
        self._handle.registerTimer(time)

    def clear(self, name: str, tag: str = "") -> None:
        if before := self._times.getValue((f"{name}/{tag}",)):
            self._times.removeKey((f"{name}/{tag}",))
            if all(time[0] != before[0] for _, time in self._times.iterator()):
                self._handle.deleteTimer(before[0])

    def due(self, time: int, first: str) -> Iterator[list[str]]:
        """[name, tag] of the timers that are set for a time, each unset as it is handed over; one that a callback has
        cleared or moved meanwhile is left out. ``first`` where none is set: the program gets to see that one fires."""
        due = [name[0] for name, at in self._times.iterator() if at[0] == time]
        yield from [[first, ""]] * (not due)
        for name in due:
            if (self._times.getValue((name,)) or [None])[0] == time:
                self._times.removeKey((name,))
                yield name.split("/", 1)

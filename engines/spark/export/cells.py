"""State and timers of an exported program on the state variables of transformWithState. An export holds the source of
what it needs from here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

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

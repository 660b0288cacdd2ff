"""State and timers of an exported program on the state variables of transformWithState. An export holds the source of what it needs from
here, so this module needs no other."""

from __future__ import annotations

import json
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
    """Names for timers, which transformWithState knows by their time alone: a MapState says which are set. Times are ms since the
    epoch."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._times = MapCell(handle, "timers")

    def set(self, name: str, time: int, tag: str = "") -> None:
        self.clear(name, tag)
        self._times.put(f"{name}/{tag}", time)
        self._handle.registerTimer(time)

    def clear(self, name: str, tag: str = "") -> None:
        before = self._times.get(f"{name}/{tag}")
        if before is not None:
            self._times.remove(f"{name}/{tag}")
            if all(time != before for _, time in self._times.items()):
                self._handle.deleteTimer(before)

    def due(self, time: int) -> list[list[str]]:
        """[name, tag] of the timers that are set for a time."""
        return [name.split("/", 1) for name, due in self._times.items() if due == time]

    def take(self, name: str, tag: str, time: int) -> bool:
        """Unset a timer that is about to fire; False where another's callback has cleared or moved it meanwhile."""
        if self._times.get(f"{name}/{tag}") != time:
            return False
        self._times.remove(f"{name}/{tag}")
        return True

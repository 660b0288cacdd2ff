"""State and timers of an exported program on Beam's own. An export holds the source of what it needs from here."""

from __future__ import annotations

from typing import Any

from apache_beam.utils.timestamp import Timestamp

Json = Any


class ValueCell:
    """ReadModifyWriteState. A value is boxed, because read() gives None for an empty cell, too."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, default: Json = None) -> Json:
        stored = self._state.read()
        return default if stored is None else stored[0]

    def set(self, value: Json) -> None:
        self._state.write((value,))

    def clear(self) -> None:
        self._state.clear()


class BagCell:
    """BagState, or SetState, which has the same methods."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def add(self, value: Json) -> None:
        self._state.add(value)

    def set(self, values: list[Json]) -> None:
        self._state.clear()
        for value in values:
            self._state.add(value)

    def get(self) -> list[Json]:
        return list(self._state.read())

    def clear(self) -> None:
        self._state.clear()


class CombiningCell:
    """CombiningValueState with a sum."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def add(self, value: int) -> None:
        self._state.add(value)

    def get(self) -> Json:
        return self._state.read()

    def clear(self) -> None:
        self._state.clear()


class MapCell:
    """A dictionary in a ReadModifyWriteState."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def _entries(self) -> dict[str, Json]:
        return dict(self._state.read() or {})

    def get(self, key: str, default: Json = None) -> Json:
        return self._entries().get(key, default)

    def put(self, key: str, value: Json) -> None:
        self._state.write({**self._entries(), key: value})

    def remove(self, key: str) -> None:
        self._state.write({k: v for k, v in self._entries().items() if k != key})

    def items(self) -> list[tuple[str, Json]]:
        return list(self._entries().items())

    def clear(self) -> None:
        self._state.clear()


class NamedTimers:
    """Timers by name and tag: one timer of Beam with a dynamic tag for each. Times are ms since the epoch."""

    def __init__(self, timer: Any) -> None:
        self._timer = timer

    def set(self, name: str, time: int, tag: str = "") -> None:
        self._timer.set(Timestamp(micros=time * 1000), dynamic_timer_tag=f"{name}/{tag}")

    def clear(self, name: str, tag: str = "") -> None:
        self._timer.clear(dynamic_timer_tag=f"{name}/{tag}")

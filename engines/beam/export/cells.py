"""State and timers of an exported program on Beam's own. An export holds the source of what it needs from here."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from apache_beam.utils.timestamp import Timestamp

from conformance.engines.map_in_a_value import MapInAValue
from conformance.model.types import Refused

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


def exchanged(value: Any, one: Any, other: Any) -> Any:
    """A value with other(moment) in the place of each moment of the class ``one`` in it. A value without any is the
    very same object."""
    if isinstance(value, one):
        return other(value)
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    if all(exchanged(part, one, other) is part for part in parts):
        return value
    if isinstance(value, dict):
        return {exchanged(key, one, other): exchanged(each, one, other) for key, each in value.items()}
    return type(value)(exchanged(part, one, other) for part in value)


def to_beam(moment: Any) -> Any:
    return Timestamp(micros=(moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1))


def from_beam(moment: Any) -> Any:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=moment.micros)


def or_refused(method: Any, *given: Any) -> Any:
    """What a call gives. The one that fails is refused."""
    try:
        return method(*given)
    except Exception as error:
        raise Refused(type(error).__name__, str(error)) from error


class TypedValueCell:
    """ReadModifyWriteState with the coder of a type. Beam's coder for a moment takes Beam's Timestamp."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, default: Any = None) -> Any:
        stored = or_refused(self._state.read)
        return default if stored is None else exchanged(stored, Timestamp, from_beam)

    def set(self, value: Any) -> None:
        or_refused(self._state.write, exchanged(value, datetime, to_beam))

    def clear(self) -> None:
        or_refused(self._state.clear)


class TypedBagCell(TypedValueCell):
    """BagState with the coder of a type."""

    def add(self, value: Any) -> None:
        or_refused(self._state.add, exchanged(value, datetime, to_beam))

    def set(self, value: Any) -> None:
        self.clear()
        for each in value:
            self.add(each)

    def get(self, default: Any = None) -> Any:
        return [exchanged(each, Timestamp, from_beam) for each in or_refused(self._state.read)]


class TypedMapCell(MapInAValue):
    """A dictionary in a ReadModifyWriteState with the coder of a map."""

    def __init__(self, state: Any) -> None:
        super().__init__(TypedValueCell(state))


class NamedTimers:
    """Timers by name and tag: one timer of Beam with a dynamic tag for each. Times are ms since the epoch."""

    def __init__(self, timer: Any) -> None:
        self._timer = timer

    def set(self, name: str, time: int, tag: str = "") -> None:
        self._timer.set(Timestamp(micros=time * 1000), dynamic_timer_tag=f"{name}/{tag}")

    def clear(self, name: str, tag: str = "") -> None:
        self._timer.clear(dynamic_timer_tag=f"{name}/{tag}")

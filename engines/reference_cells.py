"""The state cells of the reference. They keep copies: a program that changes an object that it has read or written
changes no cell."""

from collections.abc import Mapping
from typing import Any

from conformance.model.program import Cell
from conformance.model.types import Map as MapType
from conformance.model.types import Type, shown
from conformance.model.values import Json, canonical, copied


class Value:
    def __init__(self, cells: dict[str, Json], name: str) -> None:
        self._cells, self._name = cells, name

    def get(self, default: Json = None) -> Json:
        return copied(self._cells.get(self._name, default))

    def set(self, value: Json) -> None:
        self._cells[self._name] = copied(value)

    def clear(self) -> None:
        self._cells.pop(self._name, None)


class Bag(Value):
    def add(self, value: Json) -> None:
        self.set([*self._all(), value])

    def get(self, default: Json = None) -> Json:
        return self._all()

    def _all(self) -> list[Json]:
        found: list[Json] = super().get([])
        return found


class Set(Bag):
    def add(self, value: str) -> None:
        if value not in self._all():
            super().add(value)


class Map(Value):
    def put(self, key: str, value: Json) -> None:
        self.set(self._all() | {key: value})

    def get(self, key: str, default: Json = None) -> Json:  # type: ignore[override]
        return self._all().get(key, default)

    def remove(self, key: str) -> None:
        self.set({k: v for k, v in self._all().items() if k != key})

    def items(self) -> list[tuple[str, Json]]:
        return sorted(self._all().items())

    def _all(self) -> dict[str, Json]:
        found: dict[str, Json] = super().get({})
        return found


class Combining(Value):
    def add(self, value: int) -> None:
        self.set(self.get() + value)

    def get(self, default: Json = None) -> Json:
        return super().get(0)


class ExpiringValue(Value):
    """A value with a TTL (ms): it is gone when that much processing time has passed since its last write."""

    def __init__(self, cells: dict[str, Json], name: str, now: int, ttl: int) -> None:
        super().__init__(cells, name)
        self._now, self._ttl = now, ttl

    def alive(self, written: int) -> bool:
        return self._now < written + self._ttl

    def get(self, default: Json = None) -> Json:
        stored = super().get()
        return stored["value"] if stored and self.alive(stored["at"]) else default

    def set(self, value: Json) -> None:
        super().set({"value": value, "at": self._now})


class ExpiringBag(ExpiringValue, Bag):
    """Each element has a TTL of its own."""

    def get(self, default: Json = None) -> Json:
        return [stored["value"] for stored in self._all() if self.alive(stored["at"])]

    def add(self, value: Json) -> None:
        Value.set(self, [*self._all(), {"value": value, "at": self._now}])

    def set(self, value: Json) -> None:
        Value.set(self, [{"value": each, "at": self._now} for each in value])

    def _all(self) -> list[Json]:
        found: list[Json] = Value.get(self, [])
        return found


class ExpiringMap(ExpiringValue, Map):
    """Each entry has a TTL of its own."""

    def put(self, key: str, value: Json) -> None:
        Value.set(self, self._all() | {key: {"value": value, "at": self._now}})

    def get(self, key: str, default: Json = None) -> Json:  # type: ignore[override]
        return dict(self.items()).get(key, default)

    def remove(self, key: str) -> None:
        Value.set(self, {k: v for k, v in self._all().items() if k != key})

    def items(self) -> list[tuple[str, Json]]:
        return sorted((key, stored["value"]) for key, stored in self._all().items() if self.alive(stored["at"]))

    def _all(self) -> dict[str, Json]:
        found: dict[str, Json] = Value.get(self, {})
        return found


class TypedValue(Value):
    """A value of a type. ``kept`` is what is stored of what is written. It raises Refused where that does not fit."""

    def __init__(self, cells: dict[str, Json], name: str, kind: Type) -> None:
        super().__init__(cells, name)
        self.type = kind

    def kept(self, value: Any, kind: Type) -> Any:
        return kind.fitted(value)

    def set(self, value: Any) -> None:
        super().set(self.kept(value, self.type))


class TypedBag(TypedValue, Bag):
    def add(self, value: Any) -> None:
        self._cells[self._name] = [*self._cells.get(self._name, ()), self.kept(value, self.type)]

    def set(self, value: Any) -> None:
        self._cells[self._name] = [self.kept(each, self.type) for each in value]


class TypedMap(TypedValue, Map):
    """Entries by what their keys are shown as, which tells 1 from 1.0."""

    type: MapType

    def put(self, key: Any, value: Any) -> None:
        kept = self.kept(key, self.type.key)
        self._cells[self._name] = self._there() | {self.spelled(key): [kept, self.kept(value, self.type.value)]}

    def get(self, key: Any, default: Any = None) -> Any:  # type: ignore[override]
        return copied(self._there().get(self.spelled(key), [key, default])[1])

    def remove(self, key: Any) -> None:
        gone = self.spelled(key)
        self._cells[self._name] = {k: v for k, v in self._there().items() if k != gone}

    def items(self) -> list[tuple[Any, Any]]:
        return [(key, copied(value)) for key, value in dict(sorted(self._there().items())).values()]

    def _there(self) -> dict[str, Any]:
        found: dict[str, Any] = self._cells.get(self._name, {})
        return found

    def spelled(self, key: Any) -> str:
        return canonical(shown(self.kept(key, self.type.key)))


TYPED: Mapping[Cell, type[TypedValue]] = {Cell.VALUE: TypedValue, Cell.BAG: TypedBag, Cell.MAP: TypedMap}

EXPIRING: Mapping[Cell, type[ExpiringValue]] = {
    Cell.VALUE: ExpiringValue,
    Cell.BAG: ExpiringBag,
    Cell.MAP: ExpiringMap,
}

CELLS: Mapping[Cell, type[Value]] = {
    Cell.VALUE: Value,
    Cell.BAG: Bag,
    Cell.SET: Set,
    Cell.MAP: Map,
    Cell.COMBINING: Combining,
}

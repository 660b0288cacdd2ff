"""Typed cells in the one state of a key: a column each beside the column with the JSON text. Imported where Spark's
Python workers run.

Each write is an ``update`` of the whole state, and each read a read of it, so what becomes of a value is the engine's
own doing.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from conformance.engines.map_in_a_value import MapInAValue
from conformance.engines.spark.state.typed_cells import columns, ddl, refusal
from conformance.model.program import Cell, EngineFault, JobKind, Program
from conformance.model.types import Array, String, Struct, Type
from conformance.model.values import digest

Columns = Mapping[tuple[str, str], tuple[int, str, Type]]
"""(program, cell) -> the place, the name and the type of its column."""


def columns_of(programs: Mapping[str, Program]) -> Columns:
    """The columns of the typed cells of a query. Programs share them, since the grouping key keeps them apart. Those of
    a program with other versions have the names of its cells."""
    found, places = {}, dict[str, int]()
    for name, program in programs.items():
        used: Counter[Type] = Counter()
        for cell, kind in program.types.items():
            of_type = Array(kind) if program.cells[cell] is Cell.BAG else kind
            column = cell if program.job is JobKind.NEXT_VERSION else f"t{digest(ddl(of_type))}_{used[of_type]}"
            used[of_type] += 1
            found[name, cell] = places.setdefault(column, len(places) + 1), column, of_type
    return found


def width(found: Columns) -> int:
    """How many columns the state has."""
    return 1 + max((place for place, _, _ in found.values()), default=0)


def state_type(programs: Mapping[str, Program]) -> Struct:
    """The type of the state of a query: the JSON text, and the columns."""
    found = {place: (name, kind) for place, name, kind in columns_of(programs).values()}
    return Struct((("json", String()), *(found[place] for place in sorted(found))))


def schema(programs: Mapping[str, Program]) -> str:
    """The schema of the state of a query."""
    return columns(state_type(programs))


class TypedValue:
    """A value in a column. ``there`` holds the names of the cells that hold something."""

    def __init__(
        self, group: Any, name: str, place: int, width: int, there: list[str], wrote: Callable[[], None]
    ) -> None:
        self._group, self._name, self._place, self._width = group, name, place, width
        self._there, self._wrote = there, wrote

    def get(self, default: Any = None) -> Any:
        return self._call(lambda: self._group.get[self._place]) if self._name in self._there else default

    def set(self, value: Any) -> None:
        self._call(lambda: self._update(value))
        if self._name not in self._there:
            self._there.append(self._name)
        self._wrote()

    def clear(self) -> None:
        if self._name in self._there:
            self._call(lambda: self._update(None))
            self._there.remove(self._name)
            self._wrote()

    def _update(self, value: Any) -> None:
        state = list(self._group.get) if self._group.exists else ["{}", *[None] * (self._width - 1)]
        state[self._place] = value
        self._group.update(tuple(state))

    def _call(self, method: Callable[[], Any]) -> Any:
        try:
            return method()
        except Exception as error:
            fault = EngineFault(f"{type(error).__name__}: {error}")
            raise refusal(fault) from error


class TypedBag(TypedValue):
    """A list in a column."""

    def get(self, default: Any = None) -> Any:
        return list(super().get(()))

    def add(self, value: Any) -> None:
        self.set([*self.get(), value])


class OwnValue(TypedValue):
    """A value of a program with other versions: the column itself tells whether it holds something, whichever version
    wrote it."""

    def get(self, default: Any = None) -> Any:
        found = self._call(lambda: self._group.get[self._place]) if self._group.exists else None
        return default if found is None else found


class OwnBag(TypedBag, OwnValue):
    """A list of a program with other versions."""


class TypedMap(MapInAValue):
    """A map in a column."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(TypedValue(*arguments))


class OwnMap(MapInAValue):
    """A map of a program with other versions."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(OwnValue(*arguments))


TYPED: Mapping[Cell, Callable[..., Any]] = {Cell.VALUE: TypedValue, Cell.BAG: TypedBag, Cell.MAP: TypedMap}

OWN: Mapping[Cell, Callable[..., Any]] = {Cell.VALUE: OwnValue, Cell.BAG: OwnBag, Cell.MAP: OwnMap}
"""Of a program with other versions."""

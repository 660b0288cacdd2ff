"""Bugs of typed cells that hold arrays, maps and structs, and of what is shared with the program."""

import copy
from typing import Any

from conformance.engines.mutants.registry import family, typed_bug
from conformance.engines.mutants.typed.types import Changed
from conformance.engines.reference_cells import TypedValue, Value
from conformance.model import types
from conformance.model.types import Array, Int, Map, Struct, Type

stored = family(__name__, Changed, mark=typed_bug)


def _without_nulls(value: Any) -> Any:
    return [each for each in value if each is not None]


def _without_null_entries(value: Any) -> Any:
    return {key: each for key, each in value.items() if each is not None}


def _without_an_empty_name(value: Any) -> Any:
    return {key: each for key, each in value.items() if key != ""}


stored("EmptyArrayIsNull", "an empty array is stored as null", lambda value: value or None, Array)
stored("ArraysSorted", "an array is stored in the order of its elements", lambda value: sorted(value, key=repr), Array)
stored("NullElementsDropped", "nulls in an array are left out", _without_nulls, Array)


@typed_bug("an array keeps 16 elements, and so does a list")
class SixteenElements(Changed):
    of = (Array,)

    def change(self, value: Any) -> Any:
        return value[:16]

    def get(self, *default: Any) -> Any:
        found = super().get(*default)
        return found[:16] if isinstance(found, list) else found


stored("EmptyMapIsNull", "an empty map is stored as null", lambda value: value or None, Map)
stored("NullEntriesDropped", "entries with a null are left out of a map", _without_null_entries, Map)
stored("EmptyNamesDropped", "an entry with an empty name is left out of a map", _without_an_empty_name, Map)
stored("StructsAsMaps", "a struct comes back as a map", lambda value: {str(n): v for n, v in enumerate(value)}, Struct)
stored("StructsAsArrays", "a struct comes back as an array", list, Struct)
stored("NullFieldsDropped", "null fields of a struct are left out", lambda value: tuple(_without_nulls(value)), Struct)


@typed_bug("a null in a number's place is stored as 0")
class NullsAreZero(Changed):
    def kept(self, value: Any, kind: Type) -> Any:
        def change(inner: Type, each: Any) -> Any:
            return 0 if each is None and isinstance(inner, Int) else each

        return types.changed(kind, TypedValue.kept(self, value, kind), change)


@typed_bug("a typed value that is changed after it was read is changed in the state")
class TypedReadsShare(TypedValue):
    def get(self, *default: Any) -> Any:
        found = super().get(*default)
        return self._cells[self._name] if found == self._cells.get(self._name) else found


@typed_bug("a typed value that is changed after it was written is changed in the state")
class TypedWritesShare(TypedValue):
    def set(self, value: Any) -> None:
        kept = self.kept(value, self.type) if not isinstance(value, list | dict) else value
        self._cells[self._name] = kept


@typed_bug("an empty typed cell gives the zero of its type")
class EmptyCellIsZero(TypedValue):
    def get(self, *default: Any) -> Any:
        zeros = {Int: 0, Array: []}
        if self._name not in self._cells and type(self.type) in zeros:
            return zeros[type(self.type)]
        return super().get(*default)


@typed_bug("a typed cell that was cleared has its last value when it is read in a later call")
class ClearedCellReturns(TypedValue):
    def clear(self) -> None:
        self._cells[f"{self._name} cleared"] = copy.deepcopy(self._cells.get(self._name))
        super().clear()

    def get(self, *default: Any) -> Any:
        before = self._cells.get(f"{self._name} cleared")
        return before if before is not None and self._name not in self._cells else Value.get(self, *default)


@typed_bug("clearing a typed list or map leaves it")
class TypedClearDoesNothing(TypedValue):
    def clear(self) -> None:
        if not isinstance(self._cells.get(self._name), list | dict):
            super().clear()


@typed_bug("a typed map keeps its last entry")
class LastEntryStays(TypedValue):
    def remove(self, key: Any) -> None:
        if len(self._cells.get(self._name, ())) > 1:
            super().remove(key)  # type: ignore[misc]


@typed_bug("a typed map keeps 64 entries")
class SixtyFourEntries(TypedValue):
    def items(self) -> Any:
        return super().items()[:64]  # type: ignore[misc]


@typed_bug("a typed list loses its last element between two calls")
class ListLosesItsLastElement(TypedValue):
    def __init__(self, cells: dict[str, Any], name: str, kind: Type) -> None:
        super().__init__(cells, name, kind)
        if isinstance(found := cells.get(name), list) and not isinstance(kind, Array):
            cells[name] = found[:-1]


@typed_bug("a typed list that was never written has a null in it")
class FirstElementIsNull(TypedValue):
    def get(self, *default: Any) -> Any:
        return [None] if not default and self._name not in self._cells else super().get(*default)


@typed_bug("elements of a typed list that are equal are one")
class EqualElementsAreOne(TypedValue):
    def add(self, value: Any) -> None:
        if value not in self._cells.get(self._name, ()):
            super().add(value)  # type: ignore[misc]

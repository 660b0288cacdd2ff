"""Neutral cells with a type on Spark's own typed state variables, and what a type is called in a schema of Spark.
Imported where Spark's Python workers run.

A value goes in and comes out as PySpark's API has it: a tuple with one field for each column of the schema. Nothing is
converted here.
"""

import re
from collections.abc import Mapping
from typing import Any

from conformance.engines.spark.state.cells import Guarded
from conformance.model.program import Cell, EngineFault
from conformance.model.types import Array, Decimal, Map, Refused, Struct, Type

SEEN = re.compile(r"\b(?!EngineFault|Caused)([A-Za-z_]\w*(?:Error|Exception))\b|\[([A-Z][A-Z_.]+)\]")
"""The class of an error, or Spark's name for the error."""


def ddl(kind: Type) -> str:
    """A type in a schema of Spark."""
    if isinstance(kind, Array):
        return f"array<{ddl(kind.element)}>"
    if isinstance(kind, Map):
        return f"map<{ddl(kind.key)},{ddl(kind.value)}>"
    if isinstance(kind, Struct):
        return f"struct<{','.join(f'{name}:{ddl(field)}' for name, field in kind.fields)}>"
    return str(kind) if isinstance(kind, Decimal) else {"long": "bigint"}.get(str(kind), str(kind))


def columns(kind: Type, name: str = "v") -> str:
    """The schema of a state variable: a struct's fields are its columns, any other type is one column."""
    if isinstance(kind, Struct):
        return ", ".join(f"{field} {ddl(each)}" for field, each in kind.fields)
    return f"{name} {ddl(kind)}"


def parts(kind: Type, cell: Cell) -> tuple[Type, ...]:
    """The types that a variable of this kind of cell is declared with: those of a map's keys and values, or the type
    itself."""
    if cell is Cell.MAP:
        assert isinstance(kind, Map)
        return kind.key, kind.value
    return (kind,)


def refusal(fault: EngineFault) -> Refused:
    """A fault of a state variable as a refusal, by the innermost error that its message names."""
    found = [error or condition for error, condition in SEEN.findall(str(fault))]
    return Refused(found[-1] if found else "EngineFault", str(fault))


class TypedValue:
    """ValueState of a type. A call that fails raises Refused."""

    def __init__(self, state: Guarded, kind: Type) -> None:
        self._state, self._type = state, kind

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return self._state(method, *arguments)
        except EngineFault as fault:
            raise refusal(fault) from fault

    def _row(self, value: Any, kind: Type | None = None) -> Any:
        return value if isinstance(kind or self._type, Struct) else (value,)

    def _value(self, row: Any, kind: Type | None = None) -> Any:
        return row if isinstance(kind or self._type, Struct) else row[0]

    def get(self, default: Any = None) -> Any:
        stored = self._call("get")
        return default if stored is None else self._value(stored)

    def set(self, value: Any) -> None:
        self._call("update", self._row(value))

    def clear(self) -> None:
        self._call("clear")


class TypedBag(TypedValue):
    """ListState of a type."""

    def add(self, value: Any) -> None:
        self._call("appendValue", self._row(value))

    def set(self, value: Any) -> None:
        self._call("put", [self._row(each) for each in value])

    def get(self, default: Any = None) -> Any:
        return [self._value(row) for row in self._call("get")]


class TypedMap(TypedValue):
    """MapState from a type to a type."""

    _type: Map

    def get(self, key: Any, default: Any = None) -> Any:  # type: ignore[override]
        stored = self._call("getValue", self._row(key, self._type.key))
        return default if stored is None else self._value(stored, self._type.value)

    def put(self, key: Any, value: Any) -> None:
        self._call("updateValue", self._row(key, self._type.key), self._row(value, self._type.value))

    def remove(self, key: Any) -> None:
        self._call("removeKey", self._row(key, self._type.key))

    def items(self) -> list[tuple[Any, Any]]:
        entries = self._call("iterator")
        return [(self._value(key, self._type.key), self._value(value, self._type.value)) for key, value in entries]


TYPED: Mapping[Cell, type[TypedValue]] = {Cell.VALUE: TypedValue, Cell.BAG: TypedBag, Cell.MAP: TypedMap}

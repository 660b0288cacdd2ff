"""Typed keys as columns of a stream: one for each type in use, with one and the same value in all rows without a key of
that type. Rows are grouped by these columns as well, so that Spark's own encoder and comparison of the type tell keys
apart. A column is null for a key that is null alone, since a null may end a query. Imported where Spark's Python
workers run.

The column ``key`` of such a row has the name of its type's column, so that the operator knows which one has the key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal as Number
from typing import TYPE_CHECKING, Any

from conformance.engines.spark.state.typed_cells import ddl
from conformance.model.keys import TypedKey
from conformance.model.program import Program
from conformance.model.types import EPOCH, Decimal, Struct, Type

if TYPE_CHECKING:
    import pyarrow as pa

Columns = Mapping[str, Type]
"""Column -> its type, in the order of the columns."""

NONE: Columns = {}


PREFIX = "key_"
"""What the names of the columns of typed keys begin with, and no other column's."""


def column(kind: Type) -> str:
    return PREFIX + re.sub(r"\W+", "_", str(kind)).strip("_")


def columns_of(types: Iterable[Type]) -> Columns:
    """The columns of keys of these types."""
    return {column(kind): kind for kind in types}


def schema(columns: Columns) -> str:
    """What the schema of the stream has beside the plain columns."""
    return "".join(f", {name} {ddl(kind)}" for name, kind in columns.items())


def values(key: TypedKey, columns: Columns) -> tuple[Any, ...]:
    """A row's values of these columns."""
    return tuple(key.value if name == column(key.type) else filler(kind) for name, kind in columns.items())


def filler(kind: Type) -> Any:
    """The value of a column in the rows without a key of its type."""
    if isinstance(kind, Struct):
        return tuple(filler(each) for _, each in kind.fields)
    if isinstance(kind, Decimal):
        return Number(0)
    fillers: dict[str, Any] = {
        "boolean": False,
        "int": 0,
        "long": 0,
        "float": 0.0,
        "double": 0.0,
        "string": "",
        "binary": b"",
        "date": EPOCH.date(),
        "timestamp": EPOCH,
    }
    return fillers[str(kind)]


def taken(key: Any, columns: Columns) -> tuple[str, str, str | TypedKey, int]:
    """The grouping key that an operator was handed, with the typed key in the place of its column's name."""
    program, case, text, window, *typed = key
    for (name, kind), value in zip(columns.items(), typed, strict=True):
        if name == text:
            return program, case, TypedKey(kind, value), window
    return program, case, str(text), window  # a next version may have a number


def named(row: Mapping[str, Any], columns: Columns, programs: Mapping[str, Program]) -> Mapping[str, Any]:
    """An output row of an operator of Spark's own, which hands over these columns as they come out of it: with the name
    of the key that they hold. Other rows are as they were."""
    if not columns or not row.keys() >= columns.keys():
        return row
    values = (_collected(kind, row[name]) for name, kind in columns.items())
    program, _, key, _ = taken((row["program"], row["case"], row["key"], 0, *values), columns)
    rest = {name: value for name, value in row.items() if name not in columns}
    return rest if isinstance(key, str) else rest | {"key": programs[program].key_name(key)}


def _collected(kind: Type, value: Any) -> Any:
    """A value of a collected row. Arrow makes a dict of a struct."""
    if isinstance(kind, Struct) and isinstance(value, dict):
        return tuple(_collected(each, value[name]) for name, each in kind.fields)
    return value


def arrow(kind: Type) -> pa.DataType:
    """The type of a column of the files that the stream reads."""
    import pyarrow as pa

    if isinstance(kind, Struct):
        return pa.struct([(name, arrow(each)) for name, each in kind.fields])
    if isinstance(kind, Decimal):
        return pa.decimal128(kind.precision, kind.scale)
    made: dict[str, Callable[[], pa.DataType]] = {
        "boolean": pa.bool_,
        "int": pa.int32,
        "long": pa.int64,
        "float": pa.float32,
        "double": pa.float64,
        "string": pa.string,
        "binary": pa.binary,
        "date": pa.date32,
        "timestamp": lambda: pa.timestamp("us", tz="UTC"),
    }
    return made[str(kind)]()

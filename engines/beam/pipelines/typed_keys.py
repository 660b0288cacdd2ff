"""Typed keys on Beam: elements with the value of their key in the KV, one collection for each type, its type declared
by a hint. Beam takes the coder of the key from the hint.

A struct is a NamedTuple with the coder of rows. So is a decimal, a date or a moment, in a row of one field: Beam 2.77.0
has no coder for the hint of such a type that could encode a key.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from datetime import date
from decimal import Decimal as Number
from typing import Any

from apache_beam import coders
from apache_beam.utils.timestamp import Timestamp as Moment

from conformance.engines.beam.pipelines.typed_cells import found, given
from conformance.engines.failing import SENTINEL
from conformance.model import types
from conformance.model.keys import TypedKey
from conformance.model.program import Program
from conformance.model.values import digest

SCALARS: Mapping[type[types.Type], type] = {
    types.Boolean: bool,
    types.Int: int,
    types.Long: int,
    types.Float: float,
    types.Double: float,
    types.String: str,
    types.Binary: bytes,
}

FIELDS: Mapping[type[types.Type], type] = {types.Decimal: Number, types.Date: date, types.Timestamp: Moment}
"""Types that have a coder within a row alone."""

_rows: dict[types.Type, Any] = {}


def hint(kind: types.Type, nullable: bool = False) -> Any:
    """The type hint of a type."""
    if nullable:
        return typing.Optional[hint(kind)]  # noqa: UP045, it is computed
    if type(kind) in SCALARS:
        return SCALARS[type(kind)]
    if kind not in _rows:
        fields = [("value", FIELDS[type(kind)])] if type(kind) in FIELDS else _fields(kind)
        made = typing.NamedTuple(f"Row{digest(str(kind))}", fields)  # type: ignore[misc]
        made.__module__ = __name__
        globals()[made.__name__] = made  # a runner's workers look it up here
        coders.registry.register_coder(made, coders.RowCoder)
        _rows[kind] = made
    return _rows[kind]


def _fields(kind: types.Type) -> list[tuple[str, Any]]:
    """The fields of a struct, each of which may be null."""
    assert isinstance(kind, types.Struct)
    within = {name: FIELDS.get(type(each)) or hint(each) for name, each in kind.fields}
    return [(name, typing.Optional[each]) for name, each in within.items()]  # noqa: UP045, it is computed


def kinds_of(programs: Mapping[str, Program]) -> frozenset[types.Type]:
    """The types of the keys of some programs."""
    return frozenset(key.type for program in programs.values() for key in program.keys.values())


class Typed:
    """Puts the typed key in the place of its name: ((program, case, name), …) becomes ((program, case, value), …)."""

    def __init__(self, kind: types.Type, programs: Mapping[str, Program]) -> None:
        self.kind, self._programs = kind, programs
        mine = [key for program in programs.values() for key in program.keys.values() if key.type == kind]
        self._nullable = any(key.value is None for key in mine)
        self._any = next(key for key in mine if key.value is not None)

    def __reduce__(self) -> Any:
        hint(self.kind)
        return Typed, (self.kind, dict(self._programs))

    @property
    def element(self) -> Any:
        """The type of the elements."""
        return tuple[tuple[str, str, hint(self.kind, self._nullable)], typing.Any]  # type: ignore[misc]

    def has(self, element: Any) -> bool:
        """Whether an element has a key of this type, or makes any bundle fail."""
        (program, _, name), _ = element
        return program == SENTINEL or self._programs[program].typed_key(name).type == self.kind

    def put(self, element: Any) -> Any:
        """The element with the value of its key."""
        (program, case, name), rest = element
        key = self._any if program == SENTINEL else self._programs[program].typed_key(name)
        return (program, case, self._given(key.value)), rest

    def _given(self, value: Any) -> Any:
        value = given(self.kind, value)
        if value is None or type(self.kind) in SCALARS:
            return value
        return hint(self.kind)(*(value if isinstance(self.kind, types.Struct) else (value,)))

    def handed(self, value: Any) -> TypedKey:
        """The key that a DoFn was handed."""
        if value is not None and type(self.kind) in FIELDS:
            value = value.value
        return TypedKey(self.kind, found(self.kind, value))

"""Types of state cells, engine-neutral, and values of them as traces show them.

A program declares a cell's type and gives and gets Python's own values: ``bool``, ``int``, ``float``,
``decimal.Decimal``, ``str``, ``bytes``, ``datetime.date``, ``datetime.datetime`` (with a time zone), ``list``,
``dict``, and a ``tuple`` for a struct. None is a null of any type. An adapter maps a type to the engine's schema or
coder. ``shown`` tells in JSON what value came back, whatever its type.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal as Number
from decimal import localcontext
from hashlib import sha256
from typing import Any

from conformance.model.values import Json, canonical, digest


class Refused(Exception):
    """A call on a typed cell that was refused: the value does not fit, or the engine failed in the call.

    Attributes:
        error: the class of the error, as the engine names it.
    """

    def __init__(self, error: str, message: str = "") -> None:
        super().__init__(f"{error}: {message}" if message else error)
        self.error = error


@dataclass(frozen=True, slots=True)
class Type:
    """Base of the types. ``str`` of a type is its name, such as ``decimal(10,3)``."""

    def __str__(self) -> str:
        return type(self).__name__.lower()

    def fitted(self, value: Any) -> Any:
        """A copy of a value of this type, in the one form that a cell of this type gives back. None is a null.

        Raises:
            Refused: the value does not fit.
        """
        if value is None:
            return None
        try:
            return self._fitted(value)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise Refused("DoesNotFit", f"{value!r:.60} is no {self}") from error

    def _fitted(self, value: Any) -> Any:
        """``fitted`` for a value that is no null. It may also raise TypeError, ValueError or ArithmeticError."""
        raise NotImplementedError

    def parts(self, value: Any) -> Iterator[tuple[Type, Any]]:
        """(type, value) of what is within a value."""
        return iter(())

    def rebuilt(self, value: Any, part: Callable[[Type, Any], Any]) -> Any:
        """The value with ``part(type, value)`` in the place of each value within it."""
        return value


def _of(kind: type, value: Any) -> Any:
    """The value, if its class is exactly this one.

    Raises:
        TypeError: it is not.
    """
    if type(value) is not kind:
        raise TypeError(f"a {type(value).__name__}, not a {kind.__name__}")
    return value


@dataclass(frozen=True, slots=True)
class Boolean(Type):
    def _fitted(self, value: Any) -> Any:
        return _of(bool, value)


@dataclass(frozen=True, slots=True)
class Int(Type):
    """A whole number of 32 bits."""

    bits = 32

    def _fitted(self, value: Any) -> Any:
        if not -(2 ** (self.bits - 1)) <= _of(int, value) < 2 ** (self.bits - 1):
            raise ValueError(f"more than {self.bits} bits")
        return value


@dataclass(frozen=True, slots=True)
class Long(Int):
    """A whole number of 64 bits."""

    bits = 64


@dataclass(frozen=True, slots=True)
class Float(Type):
    """A number of 32 bits (IEEE 754); Python gives and gets a double of the same value."""

    def _fitted(self, value: Any) -> Any:
        if (found := struct.unpack("f", struct.pack("f", _of(float, value)))[0]) != value and not math.isnan(value):
            raise ValueError("no number of 32 bits")
        return found


@dataclass(frozen=True, slots=True)
class Double(Type):
    """A number of 64 bits (IEEE 754)."""

    def _fitted(self, value: Any) -> Any:
        return _of(float, value)


@dataclass(frozen=True, slots=True)
class Decimal(Type):
    """A number of ``precision`` digits, of which ``scale`` stand after the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"

    def _fitted(self, value: Any) -> Any:
        with localcontext() as context:
            context.prec = 80
            found = _of(Number, value).quantize(Number(1).scaleb(-self.scale))
            if found != value or len(found.as_tuple().digits) > self.precision:
                raise ValueError("too many digits")
        return found


@dataclass(frozen=True, slots=True)
class String(Type):
    def _fitted(self, value: Any) -> Any:
        return _of(str, value)


@dataclass(frozen=True, slots=True)
class Binary(Type):
    def _fitted(self, value: Any) -> Any:
        return bytes(_of(type(value) if isinstance(value, bytearray) else bytes, value))


@dataclass(frozen=True, slots=True)
class Date(Type):
    def _fitted(self, value: Any) -> Any:
        return _of(date, value)


@dataclass(frozen=True, slots=True)
class Timestamp(Type):
    """A moment, in microseconds."""

    def _fitted(self, value: Any) -> Any:
        if _of(datetime, value).tzinfo is None:
            raise TypeError("a time without a zone")
        return value.astimezone(timezone.utc)


@dataclass(frozen=True, slots=True)
class Array(Type):
    element: Type

    def __str__(self) -> str:
        return f"array<{self.element}>"

    def _fitted(self, value: Any) -> Any:
        return self.rebuilt(_of(list, value), Type.fitted)

    def parts(self, value: Any) -> Iterator[tuple[Type, Any]]:
        return ((self.element, each) for each in value)

    def rebuilt(self, value: Any, part: Callable[[Type, Any], Any]) -> Any:
        return [part(self.element, each) for each in value]


@dataclass(frozen=True, slots=True)
class Map(Type):
    key: Type
    value: Type

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"

    def _fitted(self, value: Any) -> Any:
        if None in _of(dict, value):
            raise ValueError("a null as a key")
        return self.rebuilt(value, Type.fitted)

    def parts(self, value: Any) -> Iterator[tuple[Type, Any]]:
        for key, each in value.items():
            yield self.key, key
            yield self.value, each

    def rebuilt(self, value: Any, part: Callable[[Type, Any], Any]) -> Any:
        return {part(self.key, key): part(self.value, each) for key, each in value.items()}


@dataclass(frozen=True, slots=True)
class Struct(Type):
    """Fields with names, in order; Python gives and gets a tuple."""

    fields: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        return f"struct<{','.join(f'{name}:{kind}' for name, kind in self.fields)}>"

    def _fitted(self, value: Any) -> Any:
        if len(_of(tuple, value)) != len(self.fields):
            raise ValueError(f"{len(value)} fields, not {len(self.fields)}")
        return self.rebuilt(value, Type.fitted)

    def parts(self, value: Any) -> Iterator[tuple[Type, Any]]:
        return ((kind, each) for (_, kind), each in zip(self.fields, value, strict=False))

    def rebuilt(self, value: Any, part: Callable[[Type, Any], Any]) -> Any:
        return tuple(part(kind, each) for (_, kind), each in zip(self.fields, value, strict=True))


def changed(kind: Type, value: Any, change: Callable[[Type, Any], Any]) -> Any:
    """A value with each value within it, and then itself, put through ``change(type, value)``. Nulls are put through
    it, too."""
    within = value if value is None else kind.rebuilt(value, lambda k, v: changed(k, v, change))
    return change(kind, within)


def has_container(kind: Type) -> bool:
    """Whether a type is an array or a map, or a struct with one in it."""
    fields = [field for _, field in kind.fields] if isinstance(kind, Struct) else []
    return isinstance(kind, Array | Map) or any(map(has_container, fields))


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

LONG = 200
"""A value whose JSON has more characters is shown by its size and its digest."""


def shown(value: Any) -> Json:
    """A value that a cell gave, as JSON that tells its type by Python's class of it: {"array": [{"integer": "1"}]}.

    ``timestamp`` is microseconds since the epoch, ``binary`` is hexadecimal, and a map's entries are in the order of
    their JSON. A number that is not finite is NaN, inf or -inf. A class that no type has is shown by its name and its
    text.
    """
    value = bytes(value) if isinstance(value, bytearray | memoryview) else value
    if isinstance(value, str | bytes) and len(value) > LONG:
        content = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        kind = "text" if isinstance(value, str) else "binary"
        return {kind: {"size": len(value), "digest": sha256(content).hexdigest()[:12]}}
    kind, found = _shown(value)
    if len(canonical(found)) <= LONG:
        return {kind: found}
    return {kind: {"size": len(value), "digest": digest(found)}}


def _shown(value: Any) -> tuple[str, Json]:
    if hasattr(value, "tolist"):  # a column's own class of a number, or of a list
        value = value.tolist()
    if value is None:
        return "null", ""
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, int):
        return "integer", str(value)
    if isinstance(value, float):
        return "double", repr(value).replace("nan", "NaN")
    if isinstance(value, Number):
        return "decimal", format(value, "f") if value.is_finite() else str(value)
    if isinstance(value, str):
        return "text", value
    if isinstance(value, bytes):
        return "binary", value.hex()
    if isinstance(value, datetime):
        return "timestamp", micros(value)
    if isinstance(value, date):
        return "date", value.isoformat()
    if isinstance(value, Mapping):
        return "map", sorted(([shown(k), shown(v)] for k, v in value.items()), key=canonical)
    if isinstance(value, list | tuple):
        return "struct" if isinstance(value, tuple) else "array", [shown(each) for each in value]
    return type(value).__name__, str(value)


def micros(value: datetime) -> int:
    """A moment in microseconds since the epoch. One without a zone is local, as Python takes it."""
    if hasattr(value, "to_pydatetime"):  # a column's own class of a moment
        value = value.to_pydatetime()
    return (value.astimezone(timezone.utc) - EPOCH) // timedelta(microseconds=1)

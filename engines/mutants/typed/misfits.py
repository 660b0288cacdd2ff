"""Bugs of typed cells: a value that does not fit its type is not refused, or its refusal does harm."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal as Number
from typing import Any, ClassVar

from conformance.engines.mutants.registry import family, typed_bug
from conformance.engines.reference_cells import TypedValue, Value
from conformance.model.types import (
    Array,
    Binary,
    Date,
    Decimal,
    Double,
    Float,
    Int,
    Refused,
    String,
    Struct,
    Type,
)


class Mended(TypedValue):
    """Base: ``change(value, type)`` is what is stored of a value that does not fit, at any depth; it raises Refused
    where that is refused. ``of``: the class of the types that it is about, and the classes of such values, if not
    all."""

    of: ClassVar[tuple[type[Any], ...]] = (Type,)
    change: Callable[[Any, Any], Any]

    def kept(self, value: Any, kind: Type) -> Any:
        try:
            return super().kept(value, kind)
        except Refused:
            if isinstance(kind, Array) and isinstance(value, list):
                return kind.rebuilt(value, lambda inner, each: self.kept(each, inner))
            mine, *values = self.of
            if not isinstance(kind, mine) or (values and type(value) not in values):
                raise
            return self.change(value, kind)


stored = family(__name__, Mended, mark=typed_bug)


def _wrapped(value: int, kind: Int) -> Any:
    return (value + 2 ** (kind.bits - 1)) % 2**kind.bits - 2 ** (kind.bits - 1)


def _parsed(value: str, kind: Type) -> Any:
    if isinstance(kind, Double):
        return float(value)
    return int(value) if isinstance(kind, Int) and value.isdigit() else kind.fitted(value)


def _largest(value: int, kind: Int) -> Any:
    return 2 ** (kind.bits - 1) - 1


def _rounded(value: Number | float, kind: Decimal) -> Any:
    return kind.fitted(round(Number(value), kind.scale))


def _last_digits(value: Number, kind: Decimal) -> Any:
    return kind.fitted(value % 10 ** (kind.precision - kind.scale))


def _fields_null(value: tuple[Any, ...], kind: Struct) -> Any:
    if len(value) != len(kind.fields):
        return kind.fitted(value)
    return kind.rebuilt(value, lambda inner, each: each if inner.__class__ is not Int else None)


def _without_extra_fields(value: tuple[Any, ...], kind: Struct) -> Any:
    return value[: len(kind.fields)] if len(value) > len(kind.fields) else kind.fitted(value)


def _with_null_fields(value: tuple[Any, ...], kind: Struct) -> Any:
    missing = len(kind.fields) - len(value)
    return (*value, *[None] * missing) if missing > 0 else kind.fitted(value)


stored("MisfitsAreNull", "what does not fit is stored as null", lambda value, kind: None)
stored("MisfitsKept", "what does not fit is stored as it is", lambda value, kind: value)
stored("NumbersWrapAround", "a number too large for its type keeps the bits that fit", _wrapped, Int, int)
stored("NumbersClipped", "a number too large for its type is stored as the largest", _largest, Int, int)
stored("DoublesRoundedToFloats", "a double is rounded to a float", lambda value, kind: round(value, 7), Float, float)
stored("DigitsParsed", "digits in a text are stored as a number", _parsed, Type, str)
stored("TextsAreZero", "a text in an int's place is stored as 0", lambda value, kind: 0, Int, str)
stored(
    "FractionsCut",
    "a fraction in an int's place loses what is behind the point",
    lambda value, kind: int(value),
    Int,
    float,
    bool,
)
stored(
    "WholeDoublesAreNull", "a whole number in a double's place is stored as null", lambda value, kind: None, Double, int
)
stored("DecimalsRounded", "a decimal of too many places is rounded", _rounded, Decimal, Number, float)
stored(
    "DecimalsLoseTheirFirstDigits", "a decimal of too many digits loses the first ones", _last_digits, Decimal, Number
)
stored("AnythingAsText", "anything in a string's place is stored as its text", lambda value, kind: str(value), String)
stored("TextsEncoded", "a text in a binary's place is encoded", lambda value, kind: value.encode(), Binary, str)
stored(
    "MomentsCutToDates", "a moment in a date's place loses its time", lambda value, kind: value.date(), Date, datetime
)
stored(
    "TextsAreArrays",
    "a text in an array's place is stored as its characters",
    lambda value, kind: list(value),
    Array,
    str,
)
stored("FieldsOfAnotherTypeAreNull", "a field of another type is stored as null", _fields_null, Struct, tuple)
stored("ExtraFieldsDropped", "fields beyond those of a struct are left out", _without_extra_fields, Struct, tuple)
stored("MissingFieldsAreNull", "fields that are missing from a struct are null", _with_null_fields, Struct, tuple)


@typed_bug("a refused write empties its cell")
class RefusalsEmptyTheCell(TypedValue):
    def set(self, value: Any) -> None:
        try:
            super().set(value)
        except Refused:
            self.clear()
            raise


@typed_bug("a write is refused after it was stored")
class RefusedTooLate(TypedValue):
    def set(self, value: Any) -> None:
        try:
            super().set(value)
        except Refused:
            Value.set(self, value)
            raise

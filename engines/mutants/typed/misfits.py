"""Bugs of typed cells: a value that does not fit its type is not refused, or its refusal does harm."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal as Number
from typing import Any

from conformance.engines.mutants.registry import typed_bug
from conformance.engines.reference_cells import TypedValue, Value
from conformance.model import types
from conformance.model.types import Refused, Type


class Mended(TypedValue):
    """Base: ``mended`` is what is stored of a value that does not fit, at any depth; it raises Refused where that is
    refused."""

    def kept(self, value: Any, kind: Type) -> Any:
        try:
            return super().kept(value, kind)
        except Refused:
            if isinstance(kind, types.Array) and isinstance(value, list):
                return kind.rebuilt(value, lambda inner, each: self.kept(each, inner))
            return self.mended(value, kind)

    def mended(self, value: Any, kind: Type) -> Any:
        return super().kept(value, kind)


@typed_bug("what does not fit is stored as null")
class MisfitsAreNull(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        return None


@typed_bug("what does not fit is stored as it is")
class MisfitsKept(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        return value


@typed_bug("a number too large for its type keeps the bits that fit")
class NumbersWrapAround(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if not isinstance(kind, types.Int) or type(value) is not int:
            return super().mended(value, kind)
        return (value + 2 ** (kind.bits - 1)) % 2**kind.bits - 2 ** (kind.bits - 1)


@typed_bug("a number too large for its type is stored as the largest")
class NumbersClipped(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if not isinstance(kind, types.Int) or type(value) is not int:
            return super().mended(value, kind)
        return 2 ** (kind.bits - 1) - 1


@typed_bug("a double is rounded to a float")
class DoublesRoundedToFloats(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if not isinstance(kind, types.Float) or type(value) is not float:
            return super().mended(value, kind)
        return round(value, 7)


@typed_bug("digits in a text are stored as a number")
class DigitsParsed(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if isinstance(value, str) and isinstance(kind, types.Double):
            return float(value)
        if not isinstance(kind, types.Int) or not isinstance(value, str) or not value.isdigit():
            return super().mended(value, kind)
        return int(value)


@typed_bug("a text in an int's place is stored as 0")
class TextsAreZero(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if not isinstance(kind, types.Int) or not isinstance(value, str):
            return super().mended(value, kind)
        return 0


@typed_bug("a fraction in an int's place loses what is behind the point")
class FractionsCut(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if not isinstance(kind, types.Int) or type(value) not in (float, bool):
            return super().mended(value, kind)
        return int(value)


@typed_bug("a whole number in a double's place is stored as null")
class WholeDoublesAreNull(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        return None if isinstance(kind, types.Double) and type(value) is int else super().mended(value, kind)


@typed_bug("a decimal of too many places is rounded")
class DecimalsRounded(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if not isinstance(kind, types.Decimal) or not isinstance(value, Number | float):
            return super().mended(value, kind)
        return super().mended(round(Number(value), kind.scale), kind)


@typed_bug("a decimal of too many digits loses the first ones")
class DecimalsLoseTheirFirstDigits(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if not isinstance(kind, types.Decimal) or not isinstance(value, Number):
            return super().mended(value, kind)
        return super().mended(value % 10 ** (kind.precision - kind.scale), kind)


@typed_bug("anything in a string's place is stored as its text")
class AnythingAsText(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        return str(value) if isinstance(kind, types.String) else super().mended(value, kind)


@typed_bug("a text in a binary's place is encoded")
class TextsEncoded(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if not isinstance(kind, types.Binary) or not isinstance(value, str):
            return super().mended(value, kind)
        return value.encode()


@typed_bug("a moment in a date's place loses its time")
class MomentsCutToDates(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if not isinstance(kind, types.Date) or not isinstance(value, datetime):
            return super().mended(value, kind)
        return value.date()


@typed_bug("a text in an array's place is stored as its characters")
class TextsAreArrays(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        return list(value) if isinstance(kind, types.Array) and isinstance(value, str) else super().mended(value, kind)


@typed_bug("a field of another type is stored as null")
class FieldsOfAnotherTypeAreNull(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if isinstance(kind, types.Struct) and isinstance(value, tuple) and len(value) == len(kind.fields):
            return kind.rebuilt(value, lambda inner, each: each if inner.__class__ is not types.Int else None)
        return super().mended(value, kind)


@typed_bug("fields beyond those of a struct are left out")
class ExtraFieldsDropped(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if not isinstance(kind, types.Struct) or not isinstance(value, tuple) or len(value) <= len(kind.fields):
            return super().mended(value, kind)
        return value[: len(kind.fields)]


@typed_bug("fields that are missing from a struct are null")
class MissingFieldsAreNull(Mended):
    def mended(self, value: Any, kind: Type) -> Any:
        if not isinstance(kind, types.Struct) or not isinstance(value, tuple) or len(value) >= len(kind.fields):
            return super().mended(value, kind)
        return (*value, *[None] * (len(kind.fields) - len(value)))


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

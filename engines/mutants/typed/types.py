"""Bugs of typed cells: a value that fits is stored as another one."""

from __future__ import annotations

import math
import struct
from decimal import Decimal as Number
from typing import Any, ClassVar
from unicodedata import normalize

from conformance.engines.mutants.registry import typed_bug
from conformance.engines.reference_cells import TypedValue
from conformance.model import types
from conformance.model.types import Type


class Changed(TypedValue):
    """Base: ``change`` is what becomes of each value of the types ``of``, at any depth, that is not null."""

    of: ClassVar[tuple[type[Type], ...]] = ()

    def kept(self, value: Any, kind: Type) -> Any:
        def change(inner: Type, each: Any) -> Any:
            return each if each is None or type(inner) not in self.of else self.change(each)

        return types.changed(kind, super().kept(value, kind), change)

    def change(self, value: Any) -> Any:
        raise NotImplementedError


@typed_bug("a boolean is stored as 0 or 1")
class BooleansAsNumbers(Changed):
    of = (types.Boolean,)

    def change(self, value: Any) -> Any:
        return int(value)


@typed_bug("an int is stored as a double")
class IntsAsDoubles(Changed):
    of = (types.Int,)

    def change(self, value: Any) -> Any:
        return float(value)


@typed_bug("the smallest whole number of a type is read as the largest")
class SmallestIntNegated(Changed):
    of = (types.Int, types.Long)

    def change(self, value: Any) -> Any:
        return -value - 1 if value in (-(2**31), -(2**63)) else value


@typed_bug("a long keeps its lower 32 bits")
class LongsCut(Changed):
    of = (types.Long,)

    def change(self, value: Any) -> Any:
        return (value + 2**31) % 2**32 - 2**31


@typed_bug("a long goes through a double")
class LongsThroughDoubles(Changed):
    of = (types.Long,)

    def change(self, value: Any) -> Any:
        return int(float(value))


@typed_bug("a double is kept as a float")
class DoublesAsFloats(Changed):
    of = (types.Double,)

    def change(self, value: Any) -> Any:
        try:
            return struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)


@typed_bug("a float is rounded to four decimal places")
class FloatsRounded(Changed):
    of = (types.Float,)

    def change(self, value: Any) -> Any:
        return round(value, 4)


@typed_bug("a double near 0 becomes 0")
class SubnormalsLost(Changed):
    of = (types.Double,)

    def change(self, value: Any) -> Any:
        return 0.0 if 0 < abs(value) < 1e-300 else value


@typed_bug("a negative zero becomes zero")
class NegativeZeroLost(Changed):
    of = (types.Float, types.Double)

    def change(self, value: Any) -> Any:
        return value + 0.0


@typed_bug("NaN is stored as null")
class NanIsNull(Changed):
    of = (types.Float, types.Double)

    def change(self, value: Any) -> Any:
        return None if math.isnan(value) else value


@typed_bug("NaN is stored as 0")
class NanIsZero(Changed):
    of = (types.Float, types.Double)

    def change(self, value: Any) -> Any:
        return 0.0 if math.isnan(value) else value


@typed_bug("an infinity is stored as the largest number")
class InfinityClipped(Changed):
    of = (types.Float, types.Double)

    def change(self, value: Any) -> Any:
        return math.copysign(1.7976931348623157e308, value) if math.isinf(value) else value


@typed_bug("an infinity loses its sign")
class InfinitySignLost(Changed):
    of = (types.Float, types.Double)

    def change(self, value: Any) -> Any:
        return abs(value) if math.isinf(value) else value


@typed_bug("a decimal loses the zeros at its end")
class DecimalsLoseScale(Changed):
    of = (types.Decimal,)

    def change(self, value: Any) -> Any:
        return value.normalize()


@typed_bug("a decimal is stored as a double")
class DecimalsAsDoubles(Changed):
    of = (types.Decimal,)

    def change(self, value: Any) -> Any:
        return float(value)


@typed_bug("a decimal goes through a double")
class DecimalsThroughDoubles(Changed):
    of = (types.Decimal,)

    def change(self, value: Any) -> Any:
        return Number(repr(float(value))).quantize(value) if len(value.as_tuple().digits) < 20 else Number(float(value))


@typed_bug("a decimal keeps two places")
class DecimalsKeepTwoPlaces(Changed):
    of = (types.Decimal,)

    def change(self, value: Any) -> Any:
        return value if value.as_tuple().exponent < -3 else value.quantize(Number("0.01")).quantize(value)


@typed_bug("texts are stored composed")
class TextsComposed(Changed):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return normalize("NFC", value)


@typed_bug("texts are stored decomposed")
class TextsDecomposed(Changed):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return normalize("NFD", value)


@typed_bug("a text ends at its first null character")
class TextsEndAtNul(Changed):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return value.split("\0")[0]


@typed_bug("texts lose the white space around them")
class TextsTrimmed(Changed):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return value.rstrip(" \ufeff")


@typed_bug("a character of two surrogates becomes a question mark")
class SurrogatePairsLost(Changed):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return "".join("?" if ord(character) > 0xFFFF else character for character in value)


@typed_bug("texts keep ASCII alone")
class TextsAreAscii(Changed):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return value.encode("ascii", "replace").decode()


@typed_bug("an empty text is stored as null")
class EmptyTextIsNull(Changed):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return value or None


@typed_bug("a text keeps 65,535 characters")
class TextsCut(Changed):
    of = (types.String,)

    def change(self, value: Any) -> Any:
        return value[: 2**16 - 1]


@typed_bug("a binary is stored as a text")
class BytesDecoded(Changed):
    of = (types.Binary,)

    def change(self, value: Any) -> Any:
        return value.decode("latin-1")


@typed_bug("bytes that are no UTF-8 are replaced")
class BytesThroughUtf8(Changed):
    of = (types.Binary,)

    def change(self, value: Any) -> Any:
        return value.decode("utf-8", "replace").encode()


@typed_bug("a binary ends at its first zero")
class BytesEndAtZero(Changed):
    of = (types.Binary,)

    def change(self, value: Any) -> Any:
        return value.split(b"\0")[0]


@typed_bug("a binary without bytes is stored as null")
class NoBytesAreNull(Changed):
    of = (types.Binary,)

    def change(self, value: Any) -> Any:
        return value or None


@typed_bug("a binary keeps less than 1 MiB")
class BytesCut(Changed):
    of = (types.Binary,)

    def change(self, value: Any) -> Any:
        return value[: 2**20 - 1]

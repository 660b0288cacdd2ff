"""Bugs of typed cells: a value that fits is stored as another one."""

import math
import struct
from collections.abc import Callable
from decimal import Decimal as Number
from typing import Any, ClassVar
from unicodedata import normalize

from conformance.engines.mutants.registry import family, typed_bug
from conformance.engines.reference_cells import TypedValue
from conformance.model import types
from conformance.model.types import Binary, Boolean, Decimal, Double, Float, Int, Long, String, Type


class Changed(TypedValue):
    """Base: ``change`` is what becomes of each value of the types ``of``, at any depth, that is not null."""

    of: ClassVar[tuple[type[Type], ...]] = ()
    change: Callable[[Any], Any]

    def kept(self, value: Any, kind: Type) -> Any:
        def change(inner: Type, each: Any) -> Any:
            return each if each is None or type(inner) not in self.of else self.change(each)

        return types.changed(kind, super().kept(value, kind), change)


stored = family(__name__, Changed, mark=typed_bug)


def _as_float(value: float) -> Any:
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _through_a_double(value: Number) -> Number:
    return Number(repr(float(value))).quantize(value) if len(value.as_tuple().digits) < 20 else Number(float(value))


def _two_places(value: Any) -> Any:
    return value if value.as_tuple().exponent < -3 else value.quantize(Number("0.01")).quantize(value)


def _clipped(value: float) -> float:
    return math.copysign(1.7976931348623157e308, value) if math.isinf(value) else value


def _surrogates_lost(value: str) -> str:
    return "".join("?" if ord(character) > 0xFFFF else character for character in value)


def _largest(value: int) -> int:
    return -value - 1 if value in (-(2**31), -(2**63)) else value


stored("BooleansAsNumbers", "a boolean is stored as 0 or 1", int, Boolean)
stored("IntsAsDoubles", "an int is stored as a double", float, Int)
stored("SmallestIntNegated", "the smallest whole number of a type is read as the largest", _largest, Int, Long)
stored("LongsCut", "a long keeps its lower 32 bits", lambda value: (value + 2**31) % 2**32 - 2**31, Long)
stored("LongsThroughDoubles", "a long goes through a double", lambda value: int(float(value)), Long)
stored("DoublesAsFloats", "a double is kept as a float", _as_float, Double)
stored("FloatsRounded", "a float is rounded to four decimal places", lambda value: round(value, 4), Float)
stored("SubnormalsLost", "a double near 0 becomes 0", lambda value: 0.0 if 0 < abs(value) < 1e-300 else value, Double)
stored("NegativeZeroLost", "a negative zero becomes zero", lambda value: value + 0.0, Float, Double)
stored("NanIsNull", "NaN is stored as null", lambda value: None if math.isnan(value) else value, Float, Double)
stored("NanIsZero", "NaN is stored as 0", lambda value: 0.0 if math.isnan(value) else value, Float, Double)
stored("InfinityClipped", "an infinity is stored as the largest number", _clipped, Float, Double)
stored(
    "InfinitySignLost",
    "an infinity loses its sign",
    lambda value: abs(value) if math.isinf(value) else value,
    Float,
    Double,
)
stored("DecimalsLoseScale", "a decimal loses the zeros at its end", Number.normalize, Decimal)
stored("DecimalsAsDoubles", "a decimal is stored as a double", float, Decimal)
stored("DecimalsThroughDoubles", "a decimal goes through a double", _through_a_double, Decimal)
stored("DecimalsKeepTwoPlaces", "a decimal keeps two places", _two_places, Decimal)
stored("TextsComposed", "texts are stored composed", lambda value: normalize("NFC", value), String)
stored("TextsDecomposed", "texts are stored decomposed", lambda value: normalize("NFD", value), String)
stored("TextsEndAtNul", "a text ends at its first null character", lambda value: value.split("\0")[0], String)
stored("TextsTrimmed", "texts lose the white space around them", lambda value: value.rstrip(" \ufeff"), String)
stored("SurrogatePairsLost", "a character of two surrogates becomes a question mark", _surrogates_lost, String)
stored("TextsAreAscii", "texts keep ASCII alone", lambda value: value.encode("ascii", "replace").decode(), String)
stored("EmptyTextIsNull", "an empty text is stored as null", lambda value: value or None, String)
stored("TextsCut", "a text keeps 65,535 characters", lambda value: value[: 2**16 - 1], String)
stored("BytesDecoded", "a binary is stored as a text", lambda value: value.decode("latin-1"), Binary)
stored(
    "BytesThroughUtf8",
    "bytes that are no UTF-8 are replaced",
    lambda value: value.decode("utf-8", "replace").encode(),
    Binary,
)
stored("BytesEndAtZero", "a binary ends at its first zero", lambda value: value.split(b"\0")[0], Binary)
stored("NoBytesAreNull", "a binary without bytes is stored as null", lambda value: value or None, Binary)
stored("BytesCut", "a binary keeps less than 1 MiB", lambda value: value[: 2**20 - 1], Binary)

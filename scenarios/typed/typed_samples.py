"""Values of each type, with a name each, for the scenarios about typed state."""

from __future__ import annotations

import copy
import math
from datetime import date, datetime, timezone
from decimal import Decimal as Number
from typing import Any

from conformance.model.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Double,
    Float,
    Int,
    Long,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
    shown,
)
from conformance.model.values import Json

PLAIN: dict[str, Type] = {
    "boolean": Boolean(),
    "int": Int(),
    "long": Long(),
    "float": Float(),
    "double": Double(),
    "decimal": Decimal(10, 3),
    "wide": Decimal(38, 18),
    "string": String(),
    "binary": Binary(),
    "date": Date(),
    "timestamp": Timestamp(),
    "pair": Struct((("n", Int()), ("t", String()))),
}
"""Cell -> its type, without arrays and maps."""

CONTAINERS: dict[str, Type] = {
    "array": Array(Int()),
    "map": Map(String(), Long()),
    "struct": Struct((("a", Int()), ("b", String()), ("c", Array(Double())))),
    "nested": Map(String(), Array(Struct((("n", Long()), ("at", Timestamp()))))),
}
"""Cell -> its type, with arrays and maps."""

TYPES = PLAIN | CONTAINERS


def at(*fields: int) -> datetime:
    return datetime(*fields, tzinfo=timezone.utc)  # type: ignore[arg-type,misc]


SAMPLES: dict[str, tuple[str, Any]] = {
    "true": ("boolean", True),
    "false": ("boolean", False),
    "int 7": ("int", 7),
    "int -1": ("int", -1),
    "largest int": ("int", 2**31 - 1),
    "smallest int": ("int", -(2**31)),
    "long 7": ("long", 7),
    "long 2**31": ("long", 2**31),
    "long 2**53+1": ("long", 2**53 + 1),
    "largest long": ("long", 2**63 - 1),
    "smallest long": ("long", -(2**63)),
    "float 1.5": ("float", 1.5),
    "float 2**-20": ("float", 2.0**-20),
    "double 0.1": ("double", 0.1),
    "double 1e300": ("double", 1e300),
    "smallest double": ("double", 5e-324),
    "NaN": ("double", math.nan),
    "float NaN": ("float", math.nan),
    "-0.0": ("double", -0.0),
    "float -0.0": ("float", -0.0),
    "infinity": ("double", math.inf),
    "minus infinity": ("double", -math.inf),
    "float infinity": ("float", math.inf),
    "decimal 1.500": ("decimal", Number("1.500")),
    "decimal -0.001": ("decimal", Number("-0.001")),
    "largest decimal": ("decimal", Number("9999999.999")),
    "38 digits": ("wide", Number("12345678901234567890.123456789012345678")),
    "18 places": ("wide", Number("0.000000000000000001")),
    "text": ("string", "a text"),
    "not ASCII": ("string", "na\u00efve \u65e5\u672c"),
    "empty text": ("string", ""),
    "surrogate pairs": ("string", "\U0001f600\U0001d11e"),
    "composed": ("string", "\u00e9"),
    "decomposed": ("string", "e\u0301"),
    "control characters": ("string", "\0 \t\r\n\ufeff "),
    "64 KiB": ("string", "0123456789abcdef" * 4096),
    "1 MiB": ("binary", bytes(range(256)) * 4096),
    "bytes": ("binary", b"\x00\x01\x7f"),
    "bytes of no text": ("binary", b"\xff\xfe\x80\x00"),
    "no bytes": ("binary", b""),
    "date of 2026": ("date", date(2026, 3, 29)),
    "date of 1969": ("date", date(1969, 12, 31)),
    "date of 1582": ("date", date(1582, 10, 4)),
    "first date": ("date", date(1, 1, 1)),
    "last date": ("date", date(9999, 12, 31)),
    "moment of 2026": ("timestamp", at(2026, 3, 29, 1, 30)),
    "microseconds": ("timestamp", at(2026, 3, 29, 1, 30, 0, 123456)),
    "microsecond before 1970": ("timestamp", at(1969, 12, 31, 23, 59, 59, 999999)),
    "an hour": ("timestamp", at(2026, 10, 25, 0, 30)),
    "the hour again": ("timestamp", at(2026, 10, 25, 1, 30)),
    "leap day": ("timestamp", at(2028, 2, 29, 23, 59, 59)),
    "moment of 1900": ("timestamp", at(1900, 1, 1)),
    "moment of 1582": ("timestamp", at(1582, 10, 4)),
    "moment of 2038": ("timestamp", at(2038, 1, 19, 3, 14, 8)),
    "moment of 2300": ("timestamp", at(2300, 1, 1, 0, 0, 0, 1)),
    "last microsecond": ("timestamp", at(9999, 12, 31, 23, 59, 59, 999999)),
    "pair": ("pair", (7, "x")),
    "pair of nulls": ("pair", (None, None)),
    "pair with a null": ("pair", (None, "")),
    "array": ("array", [3, 1, 2]),
    "extreme array": ("array", [2**31 - 1, -(2**31)]),
    "empty array": ("array", []),
    "array with a null": ("array", [1, None, 3]),
    "map": ("map", {"b": 1, "a": 2**40}),
    "extreme map": ("map", {"a": 2**53 + 1, "A": -(2**63), "a\0": 2**63 - 1}),
    "empty map": ("map", {}),
    "map with a null": ("map", {"a": None, "": 0}),
    "struct": ("struct", (1, "x", [0.5])),
    "extreme struct": ("struct", (-(2**31), "e\u0301", [math.nan, -0.0, math.inf])),
    "struct of nulls": ("struct", (None, None, None)),
    "struct with a null": ("struct", (None, "", [])),
    "nested": ("nested", {"a": [(1, at(2026, 1, 1)), (2, at(2026, 1, 2, 0, 0, 0, 5))], "b": []}),
    "extreme nested": ("nested", {"": [(2**53 + 1, at(1969, 12, 31, 23, 59, 59, 999999))]}),
    "nested with nulls": ("nested", {"a": None, "b": [None, (None, None)]}),
}
"""Name -> (cell, a value that fits the cell's type)."""

KINDS: dict[str, tuple[str, ...]] = {
    "a boolean": ("true", "false"),
    "an int": ("int 7", "int -1"),
    "a long": ("long 7", "long 2**31"),
    "an extreme whole number": ("largest int", "smallest int", "long 2**53+1", "largest long", "smallest long"),
    "a float": ("float 1.5", "float 2**-20"),
    "a double": ("double 0.1", "double 1e300", "smallest double"),
    "a NaN": ("NaN", "float NaN"),
    "a negative zero": ("-0.0", "float -0.0"),
    "an infinity": ("infinity", "minus infinity", "float infinity"),
    "a decimal": ("decimal 1.500", "decimal -0.001", "largest decimal"),
    "a decimal of many digits": ("38 digits", "18 places"),
    "a string": ("text", "not ASCII"),
    "an empty string or binary": ("empty text", "no bytes"),
    "a string of unusual characters": ("surrogate pairs", "composed", "decomposed", "control characters"),
    "a large string or binary": ("64 KiB", "1 MiB"),
    "a binary": ("bytes", "bytes of no text"),
    "a date": ("date of 2026", "date of 1969"),
    "a date at the limits": ("first date", "last date", "date of 1582"),
    "a timestamp": ("moment of 2026", "moment of 2038", "an hour", "the hour again", "leap day"),
    "a timestamp with microseconds": ("microseconds", "microsecond before 1970"),
    "a timestamp before 1970": ("microsecond before 1970", "moment of 1900", "moment of 1582"),
    "a timestamp after 2262": ("moment of 2300", "last microsecond"),
    "a flat struct": ("pair",),
    "a flat struct with nulls": ("pair of nulls", "pair with a null"),
    "an array": ("array", "extreme array", "empty array"),
    "a map": ("map", "extreme map", "empty map"),
    "a struct": ("struct", "extreme struct"),
    "an array or a map with a null": ("array with a null", "map with a null"),
    "a struct with nulls": ("struct of nulls", "struct with a null"),
    "a nested value": ("nested", "extreme nested", "nested with nulls"),
}
"""Kind of value -> its samples."""

MISFITS: dict[str, tuple[str, Any]] = {
    "a text into an int": ("int", "seven"),
    "digits into an int": ("int", "7"),
    "a fraction into an int": ("int", 1.5),
    "true into an int": ("int", True),
    "2**40 into an int": ("int", 2**40),
    "2**31 into an int": ("int", 2**31),
    "2**63 into a long": ("long", 2**63),
    "1e300 into a float": ("float", 1e300),
    "0.1 into a float": ("float", 0.1),
    "a whole number into a double": ("double", 7),
    "a text into a double": ("double", "0.5"),
    "too many digits into a decimal": ("decimal", Number("12345678.000")),
    "too many places into a decimal": ("decimal", Number("1.23456")),
    "a double into a decimal": ("decimal", 1.5),
    "a number into a string": ("string", 7),
    "bytes into a string": ("string", b"abc"),
    "a text into a binary": ("binary", "abc"),
    "a moment into a date": ("date", at(2026, 3, 29, 1, 30)),
    "a text into a date": ("date", "2026-03-29"),
    "a date into a timestamp": ("timestamp", date(2026, 3, 29)),
    "a number into a timestamp": ("timestamp", 7),
    "a text into an array": ("array", "abc"),
    "a text in an array": ("array", [1, "two"]),
    "an array into a map": ("map", [1, 2]),
    "a text in a map": ("map", {"a": "one"}),
    "too many fields": ("struct", (1, "x", [0.5], 4)),
    "too few fields": ("struct", (1, "x")),
    "a field of another type": ("struct", ("one", "x", [])),
    "null as a map's key": ("map", {None: 1}),
}
"""Name -> (cell, a value that does not fit the cell's type)."""

WRONG: dict[str, tuple[str, ...]] = {
    "a number too large for its type": (
        "2**40 into an int",
        "2**31 into an int",
        "2**63 into a long",
        "1e300 into a float",
    ),
    "a number with more digits than its type": (
        "too many digits into a decimal",
        "too many places into a decimal",
        "0.1 into a float",
    ),
    "a number of another type": (
        "a fraction into an int",
        "true into an int",
        "a whole number into a double",
        "a double into a decimal",
    ),
    "a text in the place of a number": ("a text into an int", "digits into an int", "a text into a double"),
    "a value in the place of a string or binary": (
        "a number into a string",
        "bytes into a string",
        "a text into a binary",
    ),
    "a value in the place of a date or timestamp": (
        "a moment into a date",
        "a text into a date",
        "a date into a timestamp",
        "a number into a timestamp",
    ),
    "a value of another type in an array, a map or a struct": (
        "a text into an array",
        "a text in an array",
        "an array into a map",
        "a text in a map",
        "a field of another type",
        "null as a map's key",
    ),
    "a struct with too many or too few fields": ("too many fields", "too few fields"),
}
"""Kind of misfit -> its samples."""


def sample(name: str) -> tuple[str, Any]:
    """(cell, a copy of the value) of a sample or a misfit."""
    cell, value = SAMPLES.get(name) or MISFITS[name]
    return cell, copy.deepcopy(value)


def cell_of(name: str) -> str:
    """The cell of a sample or a misfit."""
    return (SAMPLES.get(name) or MISFITS[name])[0]


def wanted(name: str) -> Json:
    """What a cell shows after this sample was written."""
    cell, value = SAMPLES[name]
    return shown(TYPES[cell].fitted(value))

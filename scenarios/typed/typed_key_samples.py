"""Keys of each type, with a name each, for the scenario about typed keys."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal as Number
from typing import Any

from conformance.model.keys import TypedKey
from conformance.model.types import (
    Binary,
    Boolean,
    Date,
    Decimal,
    Double,
    Int,
    Long,
    String,
    Struct,
    Timestamp,
    Type,
)

MONEY = Decimal(10, 3)
WIDE = Decimal(38, 18)
PAIR = Struct((("a", Int()), ("b", String())))
TEXTS = Struct((("a", String()), ("b", String())))
LONG = 65_536

Keys = dict[str, TypedKey]
Families = tuple[tuple[str, ...], ...]


def _of(kind: Type, **values: Any) -> Keys:
    return {name.replace("_", " "): TypedKey(kind, value) for name, value in values.items()}


def _named(kind: Type, values: dict[str, Any]) -> Keys:
    return {name: TypedKey(kind, value) for name, value in values.items()}


def moment(*fields: int, micros: int = 0) -> datetime:
    return datetime(*fields, tzinfo=timezone.utc) + timedelta(microseconds=micros)  # type: ignore[arg-type,misc]


KEYS: Keys = {
    **_of(Boolean(), true=True, false=False),
    **_named(
        Int(),
        {"int 0": 0, "int 1": 1, "int -1": -1, "largest int": 2**31 - 1, "smallest int": -(2**31), "int 256": 256},
    ),
    **_named(
        Long(),
        {
            "long 2**32": 2**32,
            "long 2**32+1": 2**32 + 1,
            "long 2**33": 2**33,
            "long 2**53": 2**53,
            "long 2**53+1": 2**53 + 1,
            "long 2**53+2": 2**53 + 2,
            "largest long": 2**63 - 1,
            "smallest long": -(2**63),
        },
    ),
    **_named(
        Double(),
        {
            "double 0.0": 0.0,
            "double 1.0": 1.0,
            "double 0.1": 0.1,
            "double after 0.1": math.nextafter(0.1, 1),
            "double 0.2": 0.2,
            "smallest double": 5e-324,
            "largest double": 1.7976931348623157e308,
            "infinity": math.inf,
            "minus infinity": -math.inf,
            "NaN": math.nan,
        },
    ),
    **_named(
        MONEY,
        {
            "decimal 1.000": Number("1.000"),
            "decimal 1.001": Number("1.001"),
            "decimal -1.000": Number("-1.000"),
            "decimal 10.000": Number("10.000"),
            "largest decimal": Number("9999999.999"),
        },
    ),
    **_named(WIDE, {f"38 digits, last {n}": Number(f"12345678901234567890.12345678901234567{n}") for n in (7, 8, 9)}),
    **_named(
        String(),
        {
            "empty text": "",
            "text 1": "1",
            "text 1.0": "1.0",
            "text 01": "01",
            "key": "key",
            "Key": "Key",
            "KEY": "KEY",
            "composed": "\u00e9",
            "decomposed": "e\u0301",
            "plain e": "e",
            "ligature": "\ufb01",
            "two letters": "fi",
            "kelvin": "\u212a",
            "letter K": "K",
            "blank": " ",
            "NUL": "\0",
            "two NULs": "\0\0",
            "text": "a",
            "text and a blank": "a ",
            "text and a NUL": "a\0",
            "text, NUL, b": "a\0b",
            "not ASCII": "na\u00efve \u65e5\u672c",
            "not ASCII either": "na\u00efve \u65e5\u6728",
            "a smile": "\U0001f600",
            "a grin": "\U0001f601",
            "64 KiB of text": "k" * LONG,
            "64 KiB, another end": "k" * (LONG - 1) + "l",
            "64 KiB and one": "k" * (LONG + 1),
        },
    ),
    **_named(
        Binary(),
        {
            "no bytes": b"",
            "a zero byte": b"\0",
            "two zero bytes": b"\0\0",
            "a": b"a",
            "a, 0, b": b"a\0b",
            "a, 0, c": b"a\0c",
            "bytes of no text": b"\xff\xfe",
            "other bytes of no text": b"\xfe\xff",
            "byte 255": b"\xff",
            "64 KiB of bytes": bytes(range(256)) * 256,
            "64 KiB of bytes, another end": bytes(range(256)) * 255 + bytes(255) + b"\1",
            "64 KiB of bytes but one": (bytes(range(256)) * 256)[:-1],
        },
    ),
    **_named(
        Timestamp(),
        {
            "noon": moment(2026, 3, 29, 12),
            "noon and 1 us": moment(2026, 3, 29, 12, micros=1),
            "noon and 999 us": moment(2026, 3, 29, 12, micros=999),
            "noon and 1 ms": moment(2026, 3, 29, 12, micros=1_000),
            "half past midnight": moment(2026, 10, 25, 0, 30),
            "half past one": moment(2026, 10, 25, 1, 30),
            "half past two": moment(2026, 10, 25, 2, 30),
            "1970": moment(1970, 1, 1),
            "1970 less 1 us": moment(1970, 1, 1, micros=-1),
            "1970 less 2 us": moment(1970, 1, 1, micros=-2),
            "1970 less 1 ms": moment(1970, 1, 1, micros=-1_000),
            "1900": moment(1900, 1, 1),
            "1900 and 1 us": moment(1900, 1, 1, micros=1),
            "1900 and 1 s": moment(1900, 1, 1, 0, 0, 1),
        },
    ),
    **_named(
        Date(),
        {
            "first of 1970": date(1970, 1, 1),
            "last of 1969": date(1969, 12, 31),
            "second of 1970": date(1970, 1, 2),
            "a day of 1900": date(1900, 3, 1),
            "the day before": date(1900, 2, 28),
            "last date": date(9999, 12, 31),
            "last date but one": date(9999, 12, 30),
            "a day of 2026": date(2026, 3, 29),
        },
    ),
    **_named(
        PAIR,
        {
            "1 and x": (1, "x"),
            "1 and y": (1, "y"),
            "2 and x": (2, "x"),
            "1 and null": (1, None),
            "1 and empty": (1, ""),
            "null and x": (None, "x"),
            "0 and x": (0, "x"),
            "two nulls": (None, None),
        },
    ),
    **_named(
        TEXTS,
        {
            "ab, c": ("ab", "c"),
            "a, bc": ("a", "bc"),
            "abc and empty": ("abc", ""),
            "null, ab": (None, "ab"),
            "ab, null": ("ab", None),
        },
    ),
}
"""The keys of the programs that take no nulls."""

OF_OTHER_TYPES: Families = (
    ("int 1", "double 1.0", "true", "text 1", "decimal 1.000"),
    ("int 0", "double 0.0", "false", "empty text", "no bytes"),
)

KINDS: dict[str, Families] = {
    "of other types that are equal in Python": OF_OTHER_TYPES,
    "that are whole numbers": (
        ("int 0", "int 1", "int -1", "int 256"),
        ("largest int", "smallest int", "int -1"),
        ("long 2**32", "long 2**32+1", "long 2**33"),
        ("long 2**53", "long 2**53+1", "long 2**53+2"),
        ("largest long", "smallest long", "long 2**53"),
    ),
    "that are doubles": (
        ("double 0.1", "double after 0.1", "double 0.2", "NaN"),
        ("infinity", "minus infinity", "NaN", "largest double"),
        ("smallest double", "double 0.0", "NaN"),
    ),
    "that are decimals": (
        ("decimal 1.000", "decimal 1.001", "decimal -1.000"),
        ("decimal 1.000", "decimal 10.000", "largest decimal"),
        ("38 digits, last 7", "38 digits, last 8", "38 digits, last 9"),
    ),
    "that differ in upper and lower case, or in Unicode's normal form": (
        ("key", "Key", "KEY"),
        ("composed", "decomposed", "plain e"),
        ("ligature", "two letters", "kelvin", "letter K"),
    ),
    "that are texts of blanks, NULs, digits or other alphabets": (
        ("empty text", "blank", "NUL", "two NULs"),
        ("text", "text and a blank", "text and a NUL", "text, NUL, b"),
        ("text 1", "text 1.0", "text 01"),
        ("not ASCII", "not ASCII either", "a smile", "a grin"),
    ),
    "that are longer than 64 KiB": (
        ("64 KiB of text", "64 KiB, another end", "64 KiB and one"),
        ("64 KiB of bytes", "64 KiB of bytes, another end", "64 KiB of bytes but one"),
    ),
    "that are binaries": (
        ("no bytes", "a zero byte", "two zero bytes"),
        ("a", "a, 0, b", "a, 0, c"),
        ("bytes of no text", "other bytes of no text", "byte 255"),
    ),
    "that are dates": (
        ("first of 1970", "last of 1969", "second of 1970"),
        ("a day of 1900", "the day before", "first of 1970"),
        ("last date", "last date but one", "a day of 2026"),
    ),
    "that are timestamps": (
        ("noon", "noon and 1 us", "noon and 999 us", "noon and 1 ms"),
        ("half past midnight", "half past one", "half past two"),
        ("1970", "1970 less 1 us", "1970 less 2 us", "1970 less 1 ms"),
        ("1900", "1900 and 1 us", "1900 and 1 s"),
    ),
    "that are structs": (
        ("1 and x", "1 and y", "2 and x"),
        ("1 and x", "1 and null", "1 and empty"),
        ("null and x", "0 and x", "two nulls"),
        ("ab, c", "a, bc", "abc and empty"),
        ("null, ab", "ab, null", "ab, c"),
    ),
}
"""Kind of keys -> families of names. The keys of a family are easily taken for one another."""

NULLS: Keys = {
    "null text": TypedKey(String(), None),
    "text null": TypedKey(String(), "null"),
    "null int": TypedKey(Int(), None),
    "null double": TypedKey(Double(), None),
    "null binary": TypedKey(Binary(), None),
    "null timestamp": TypedKey(Timestamp(), None),
    "null boolean": TypedKey(Boolean(), None),
    "null struct": TypedKey(PAIR, None),
    **{
        name: KEYS[name]
        for name in ("empty text", "int 0", "NaN", "double 0.0", "no bytes", "a zero byte", "1970", "false", "true")
    },
    **{name: KEYS[name] for name in ("int 1", "1970 less 1 us", "two nulls", "1 and null")},
}
BESIDE_NULLS: Families = (
    ("null text", "empty text", "text null"),
    ("null int", "int 0", "int 1"),
    ("null double", "NaN", "double 0.0"),
    ("null binary", "no bytes", "a zero byte"),
    ("null timestamp", "1970", "1970 less 1 us"),
    ("null boolean", "false", "true"),
    ("null struct", "two nulls", "1 and null"),
)

FORMS: Keys = {
    **_named(Double(), {"0.0": 0.0, "-0.0": -0.0}),
    **_named(MONEY, {"1.5": Number("1.5"), "1.50": Number("1.50")}),
}
"""Keys that are equal numbers, and are written otherwise."""

OF_FORMS: Families = (("0.0", "-0.0"), ("1.5", "1.50"))

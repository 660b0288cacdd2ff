"""The schema of a subject's input: columns and their types, as a line of SQL's DDL says them.

A row is a JSON object. A timestamp in it is ISO 8601 in UTC (``2020-03-01T00:00:00.001Z``), a date is ``2020-03-01``, a
binary value is Base64, a decimal is a string, a struct is an object, and a map has texts as keys.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone

from conformance.model.types import (
    EPOCH,
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
)
from conformance.model.values import Json
from conformance.plugins.points import InvalidPlugin
from conformance.support.naming import instead


class InvalidSubject(InvalidPlugin):
    """A subject cannot be tested as it is declared. The message says in one line what is wrong, and how to mend it."""


@dataclass(frozen=True, slots=True)
class LocalTimestamp(Timestamp):
    """A time without a zone, as a clock on a wall shows it. In a row it is written without one."""

    def __str__(self) -> str:
        return "timestamp_ntz"


SIMPLE: dict[str, Type] = {
    "boolean": Boolean(),
    "tinyint": Int(),
    "byte": Int(),
    "smallint": Int(),
    "short": Int(),
    "int": Int(),
    "integer": Int(),
    "bigint": Long(),
    "long": Long(),
    "float": Float(),
    "real": Float(),
    "double": Double(),
    "decimal": Decimal(10, 0),
    "string": String(),
    "varchar": String(),
    "char": String(),
    "binary": Binary(),
    "date": Date(),
    "timestamp": Timestamp(),
    "timestamp_ltz": Timestamp(),
    "timestamp_ntz": LocalTimestamp(),
}
"""Name of a type in a schema -> the type. Values that are drawn of the whole numbers fit the smallest of them."""

NARROW = ("tinyint", "byte", "smallint", "short")

WORD = re.compile(r"\s*(`[^`]+`|[A-Za-z_]\w*|\d+|[<>(),:])")


@dataclass(frozen=True)
class Column:
    """A column of a subject's input. ``nullable`` says whether nulls are drawn for it; ``narrow``, that it is a number
    of fewer than 32 bits."""

    name: str
    type: Type
    nullable: bool = True
    narrow: bool = False


def columns_of(schema: str) -> tuple[Column, ...]:
    """The columns of a schema such as "user string NOT NULL, page string, at timestamp".

    Raises:
        InvalidSubject: the text is no schema, or has a type that no value is drawn of.
    """
    reader = _Reader(schema)
    found = [reader.column()]
    while reader.took(","):
        found.append(reader.column())
    if reader.left:
        reader.fail(f"{reader.left[0]!r} is not expected")
    names = [column.name for column in found]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise InvalidSubject(f"schema {schema!r}: two columns are called {twice!r}")
    return tuple(found)


class _Reader:
    def __init__(self, schema: str) -> None:
        self.schema = schema
        self.left = [*_words(schema)]

    def fail(self, why: str) -> None:
        raise InvalidSubject(f"schema {self.schema!r}: {why}; write it as 'user string, n int, at timestamp'")

    def took(self, word: str) -> bool:
        if self.left and self.left[0].upper() == word:
            self.left.pop(0)
            return True
        return False

    def word(self, what: str) -> str:
        if not self.left or self.left[0] in "<>(),:":
            self.fail(f"{what} is missing {f'before {self.left[0]!r}' if self.left else 'at the end'}")
        return self.left.pop(0).strip("`")

    def ask(self, sign: str) -> None:
        if not self.took(sign):
            self.fail(f"{sign!r} is missing {f'before {self.left[0]!r}' if self.left else 'at the end'}")

    def column(self) -> Column:
        name = self.word("the name of a column")
        self.took(":")
        narrow = bool(self.left) and self.left[0].lower() in NARROW
        kind = self.type(name)
        nullable = not self.took("NOT")
        if not nullable:
            self.ask("NULL")
        return Column(name, kind, nullable, narrow)

    def type(self, column: str) -> Type:
        name = self.word(f"the type of column {column!r}").lower()
        if name == "array":
            self.ask("<")
            element = self.type(column)
            self.ask(">")
            return Array(element)
        if name == "map":
            self.ask("<")
            key = self.type(column)
            self.ask(",")
            value = self.type(column)
            self.ask(">")
            if key != String():
                self.fail(f"column {column!r} is a map whose keys are no strings, and rows are JSON")
            return Map(key, value)
        if name == "struct":
            self.ask("<")
            fields = [self.column()]
            while self.took(","):
                fields.append(self.column())
            self.ask(">")
            return Struct(tuple((field.name, field.type) for field in fields))
        if name not in SIMPLE:
            known = [*SIMPLE, "array", "map", "struct"]
            raise InvalidSubject(
                f"schema {self.schema!r}: column {column!r} has an unknown type {name!r}; {instead(name, known)}"
            )
        numbers = []
        if self.took("("):
            numbers = [self.word("a number")]
            while self.took(","):
                numbers.append(self.word("a number"))
            self.ask(")")
        if name == "decimal" and numbers:
            return Decimal(int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0)
        return SIMPLE[name]


WRITTEN: dict[type[Type], tuple[type, ...]] = {
    Boolean: (bool,),
    Int: (int,),
    Double: (int, float),
    Float: (int, float),
    Decimal: (int, float, str),
    String: (str,),
    Binary: (str,),
    Date: (str,),
    Timestamp: (str, int),
}
"""How the values of a type are written in JSON."""


def misfit(kind: Type, value: Json, name: str) -> str:
    """What is wrong with a value (JSON) of a type, "" for nothing. ``name`` says where it is."""
    if value is None:
        return ""
    if isinstance(kind, Array) and isinstance(value, list):
        return next(filter(None, (misfit(kind.element, each, f"{name}[{n}]") for n, each in enumerate(value))), "")
    if isinstance(kind, Map | Struct) and isinstance(value, dict):
        fields = dict(kind.fields) if isinstance(kind, Struct) else dict.fromkeys(value, kind.value)
        if strange := [field for field in value if field not in fields]:
            return f"{name} has no field {strange[0]!r}"
        return next(filter(None, (misfit(fields[field], each, f"{name}.{field}") for field, each in value.items())), "")
    known = next((ways for of, ways in WRITTEN.items() if isinstance(kind, of)), ())
    with suppress(ValueError):
        if isinstance(kind, Timestamp) and isinstance(value, str):
            millis(value)
        elif isinstance(kind, Date) and isinstance(value, str):
            date.fromisoformat(value)
        wide = (
            isinstance(kind, Int) and not isinstance(kind, Long) and isinstance(value, int) and value.bit_length() > 31
        )
        if isinstance(value, known) and (bool in known or not isinstance(value, bool)) and not wide:
            return ""
    return f"{name} is {kind}, not {value!r:.40}"


def _words(text: str) -> Iterator[str]:
    at = 0
    while text[at:].strip():
        found = WORD.match(text, at)
        if not found:
            raise InvalidSubject(f"schema {text!r}: {text[at:].strip()[0]!r} is not expected")
        yield found[1]
        at = found.end()


# Times

UNITS = {
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
    "min": 60_000,
    "sec": 1_000,
    "hr": 3_600_000,
}
DAY = UNITS["day"]


def duration(text: str, what: str) -> int:
    """A time such as "10 seconds" or "1 hour 30 minutes", in ms. ``what`` begins the message about another text.

    Raises:
        InvalidSubject: the text is no such time.
    """
    if not isinstance(text, str):
        raise InvalidSubject(f"{what} is a text such as '10 seconds', not {text!r}")
    parts = re.findall(r"(\d+)\s*([a-z]+?)s?(?=\s|,|$)", text.strip().lower())
    rest = re.sub(r"(\d+)\s*([a-z]+?)s?(?=\s|,|$)|,|\s", "", text.strip().lower())
    if not parts or rest or any(unit not in UNITS for _, unit in parts):
        raise InvalidSubject(f"{what} is a time such as '10 seconds' or '1 hour', not {text!r}")
    return sum(int(number) * UNITS[unit] for number, unit in parts)


def moment(ms: int) -> str:
    """A time (ms since the epoch) as ISO 8601 in UTC."""
    return moment_of(EPOCH + timedelta(milliseconds=ms))


def moment_of(at: datetime) -> str:
    """A moment as ISO 8601 in UTC, to the millisecond, or to the microsecond if it has any."""
    at = at.astimezone(timezone.utc)
    spec = "microseconds" if at.microsecond % 1_000 else "milliseconds"
    return at.replace(tzinfo=None).isoformat(timespec=spec) + "Z"


def millis(text: str) -> int:
    """The ms since the epoch of an ISO 8601 time; one without a zone is in UTC. Raises ValueError."""
    at = datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace(" ", "T", 1))
    at = at.replace(tzinfo=timezone.utc) if at.tzinfo is None else at
    return (at - EPOCH) // timedelta(milliseconds=1)

"""Bugs of typed keys: a program is handed another key than the one that went in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from typing import Any, ClassVar

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import family
from conformance.model import types
from conformance.model.keys import TypedKey
from conformance.model.program import Program
from conformance.model.types import EPOCH, micros


class _Handed(CaseRun):
    """Hands over a changed value of keys of some types. Groups are as they should be."""

    of: ClassVar[tuple[type[types.Type], ...]] = (types.Type,)
    change: Callable[[Any], Any]

    @staticmethod
    def concerns(program: Program) -> bool:
        return bool(program.keys)

    def handed(self, identity: str) -> str | TypedKey:
        key = super().handed(identity)
        if isinstance(key, str) or not isinstance(key.type, self.of):
            return key
        return TypedKey(key.type, None if key.value is None else self.change(key.value))


handed = family(__name__, _Handed)


def _milliseconds(value: datetime) -> datetime:
    return EPOCH + timedelta(milliseconds=micros(value) // 1000)


def _moment(value: date) -> datetime:
    return datetime.combine(value, time(), timezone.utc)


handed("KeysHandedAsTexts", "a typed key is handed over as a text", str)
handed("DecimalKeysHandedAsDoubles", "a key that is a decimal is handed over as a double", float, types.Decimal)
handed("BooleanKeysHandedAsNumbers", "a key that is a boolean is handed over as a number", int, types.Boolean)
handed("DateKeysHandedAsTimestamps", "a key that is a date is handed over as a timestamp", _moment, types.Date)
handed(
    "KeysHandedInMilliseconds",
    "a key that is a timestamp is handed over in milliseconds",
    _milliseconds,
    types.Timestamp,
)
handed(
    "StructKeysHandedAsMaps",
    "a key that is a struct is handed over as a map",
    lambda value: dict(enumerate(value)),
    types.Struct,
)
handed(
    "BinaryKeysHandedAsTexts",
    "a key that is a binary is handed over as a text",
    lambda value: value.decode("latin-1"),
    types.Binary,
)

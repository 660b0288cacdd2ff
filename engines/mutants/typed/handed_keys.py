"""Bugs of typed keys: a program is handed another key than the one that went in."""

from __future__ import annotations

from datetime import datetime, time, timedelta, timezone
from typing import Any, ClassVar

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug
from conformance.model import types
from conformance.model.keys import TypedKey
from conformance.model.program import Program
from conformance.model.types import EPOCH, micros


class _Handed(CaseRun):
    """Hands over a changed value of keys of some types. Groups are as they should be."""

    of: ClassVar[tuple[type[types.Type], ...]] = (types.Type,)

    @staticmethod
    def concerns(program: Program) -> bool:
        return bool(program.keys)

    def change(self, value: Any) -> Any:
        raise NotImplementedError

    def handed(self, identity: str) -> str | TypedKey:
        key = super().handed(identity)
        if isinstance(key, str) or not isinstance(key.type, self.of):
            return key
        return TypedKey(key.type, None if key.value is None else self.change(key.value))


@bug("a typed key is handed over as a text")
class KeysHandedAsTexts(_Handed):
    def change(self, value: Any) -> Any:
        return str(value)


@bug("a key that is a decimal is handed over as a double")
class DecimalKeysHandedAsDoubles(_Handed):
    of = (types.Decimal,)

    def change(self, value: Any) -> Any:
        return float(value)


@bug("a key that is a boolean is handed over as a number")
class BooleanKeysHandedAsNumbers(_Handed):
    of = (types.Boolean,)

    def change(self, value: Any) -> Any:
        return int(value)


@bug("a key that is a date is handed over as a timestamp")
class DateKeysHandedAsTimestamps(_Handed):
    of = (types.Date,)

    def change(self, value: Any) -> Any:
        return datetime.combine(value, time(), timezone.utc)


@bug("a key that is a timestamp is handed over in milliseconds")
class KeysHandedInMilliseconds(_Handed):
    of = (types.Timestamp,)

    def change(self, value: Any) -> Any:
        return EPOCH + timedelta(milliseconds=micros(value) // 1000)


@bug("a key that is a struct is handed over as a map")
class StructKeysHandedAsMaps(_Handed):
    of = (types.Struct,)

    def change(self, value: Any) -> Any:
        return dict(enumerate(value))


@bug("a key that is a binary is handed over as a text")
class BinaryKeysHandedAsTexts(_Handed):
    of = (types.Binary,)

    def change(self, value: Any) -> Any:
        return value.decode("latin-1")

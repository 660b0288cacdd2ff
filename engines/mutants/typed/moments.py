"""Bugs of typed cells that hold dates and timestamps."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

from conformance.engines.mutants.registry import typed_bug
from conformance.engines.mutants.typed.types import Changed
from conformance.model import types
from conformance.model.types import EPOCH

UTC = timezone.utc


@typed_bug("a date is stored as a number of days")
class DatesAsNumbers(Changed):
    of = (types.Date,)

    def change(self, value: Any) -> Any:
        return value.toordinal() - EPOCH.date().toordinal()


@typed_bug("a date is stored as the moment at which it begins")
class DatesAsMoments(Changed):
    of = (types.Date,)

    def change(self, value: Any) -> Any:
        return datetime(value.year, value.month, value.day, tzinfo=UTC)


@typed_bug("a date before 1970 is stored as the day after")
class EarlyDatesADayOff(Changed):
    of = (types.Date,)

    def change(self, value: Any) -> Any:
        return value + timedelta(days=1) if value < EPOCH.date() else value


@typed_bug("a date before 1583 is read in the Julian calendar")
class JulianDates(Changed):
    of = (types.Date,)

    def change(self, value: Any) -> Any:
        return value + timedelta(days=10) if date(1500, 3, 1) <= value < date(1582, 10, 15) else value


@typed_bug("a timestamp is stored as a number of microseconds")
class MomentsAsNumbers(Changed):
    of = (types.Timestamp,)

    def change(self, value: Any) -> Any:
        return types.micros(value)


@typed_bug("a timestamp keeps its milliseconds")
class MicrosecondsCut(Changed):
    of = (types.Timestamp,)

    def change(self, value: Any) -> Any:
        return value.replace(microsecond=value.microsecond // 1000 * 1000)


@typed_bug("a timestamp before 1970 is cut towards 1970")
class EarlyMomentsCutUp(Changed):
    of = (types.Timestamp,)

    def change(self, value: Any) -> Any:
        return value.replace(microsecond=0) + timedelta(seconds=1) if value < EPOCH and value.microsecond else value


@typed_bug("a timestamp before 1970 is stored as 1970")
class EarlyMomentsClipped(Changed):
    of = (types.Timestamp,)

    def change(self, value: Any) -> Any:
        return max(value, EPOCH)


@typed_bug("a timestamp keeps 32 bits of seconds")
class MomentsKeep32Bits(Changed):
    of = (types.Timestamp,)

    def change(self, value: Any) -> Any:
        seconds = (types.micros(value) // 10**6 + 2**31) % 2**32 - 2**31
        return EPOCH + timedelta(seconds=seconds, microseconds=value.microsecond)


@typed_bug("a timestamp keeps 64 bits of nanoseconds")
class MomentsKeep64BitsOfNanoseconds(Changed):
    of = (types.Timestamp,)

    def change(self, value: Any) -> Any:
        nanoseconds = (types.micros(value) * 1000 + 2**63) % 2**64 - 2**63
        return EPOCH + timedelta(microseconds=nanoseconds // 1000)


@typed_bug("a timestamp in summer time is stored an hour off")
class SummerTimeAnHourOff(Changed):
    of = (types.Timestamp,)

    def change(self, value: Any) -> Any:
        return value - timedelta(hours=1) if 3 <= value.month <= 9 else value

"""Bugs of typed cells that hold dates and timestamps."""

from datetime import date, datetime, timedelta, timezone

from conformance.engines.mutants.registry import family, typed_bug
from conformance.engines.mutants.typed.types import Changed
from conformance.model.types import EPOCH, Date, Timestamp, micros

DAY, HOUR = timedelta(days=1), timedelta(hours=1)

stored = family(__name__, Changed, mark=typed_bug)


def _begins(value: date) -> datetime:
    return datetime(value.year, value.month, value.day, tzinfo=timezone.utc)


def _julian(value: date) -> date:
    return value + 10 * DAY if date(1500, 3, 1) <= value < date(1582, 10, 15) else value


def _milliseconds(value: datetime) -> datetime:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


def _cut_up(value: datetime) -> datetime:
    return value.replace(microsecond=0) + timedelta(seconds=1) if value < EPOCH and value.microsecond else value


def _32_bits_of_seconds(value: datetime) -> datetime:
    seconds = (micros(value) // 10**6 + 2**31) % 2**32 - 2**31
    return EPOCH + timedelta(seconds=seconds, microseconds=value.microsecond)


def _64_bits_of_nanoseconds(value: datetime) -> datetime:
    nanoseconds = (micros(value) * 1000 + 2**63) % 2**64 - 2**63
    return EPOCH + timedelta(microseconds=nanoseconds // 1000)


def _a_day_off(value: date) -> date:
    return value + DAY if value < EPOCH.date() else value


def _an_hour_off(value: datetime) -> datetime:
    return value - HOUR if 3 <= value.month <= 9 else value


def _days(value: date) -> int:
    return value.toordinal() - EPOCH.date().toordinal()


stored("DatesAsNumbers", "a date is stored as a number of days", _days, Date)
stored("DatesAsMoments", "a date is stored as the moment at which it begins", _begins, Date)
stored("EarlyDatesADayOff", "a date before 1970 is stored as the day after", _a_day_off, Date)
stored("JulianDates", "a date before 1583 is read in the Julian calendar", _julian, Date)
stored("MomentsAsNumbers", "a timestamp is stored as a number of microseconds", micros, Timestamp)
stored("MicrosecondsCut", "a timestamp keeps its milliseconds", _milliseconds, Timestamp)
stored("EarlyMomentsCutUp", "a timestamp before 1970 is cut towards 1970", _cut_up, Timestamp)
stored("EarlyMomentsClipped", "a timestamp before 1970 is stored as 1970", lambda value: max(value, EPOCH), Timestamp)
stored("MomentsKeep32Bits", "a timestamp keeps 32 bits of seconds", _32_bits_of_seconds, Timestamp)
stored("MomentsKeep64BitsOfNanoseconds", "a timestamp keeps 64 bits of nanoseconds", _64_bits_of_nanoseconds, Timestamp)
stored("SummerTimeAnHourOff", "a timestamp in summer time is stored an hour off", _an_hour_off, Timestamp)

"""Bugs of typed cells that hold dates and timestamps, and bugs that show at some dates alone: numbers of milliseconds
or of seconds that need more than 32 bits."""

from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug_of, family, typed_bug
from conformance.engines.mutants.typed.types import Changed
from conformance.model.schedule import Event
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


MOST_MS, MOST_SECONDS = 2**32, 2**31 * 1000


@bug_of(CaseRun.set_timer, "a timer keeps 32 bits of its milliseconds")
def timer_keeps32_bits_of_milliseconds(run: CaseRun, timer: TimerId, time: int) -> None:
    CaseRun.set_timer(run, timer, time % MOST_MS)


@bug_of(CaseRun.set_timer, "a timer for a date after 2038 is set for one before 1970")
def timer_keeps32_bits_of_seconds(run: CaseRun, timer: TimerId, time: int) -> None:
    CaseRun.set_timer(run, timer, time if time < MOST_SECONDS else time - 2 * MOST_SECONDS)


@bug_of(CaseRun.refuses, "an event after 2038 is dropped as late")
def events_after2038_dropped(run: CaseRun, event: Event) -> bool:
    return event.event_time >= MOST_SECONDS or CaseRun.refuses(run, event)


@bug_of(CaseRun.process, "a program is told 32 bits of the milliseconds of an event's time")
def event_times_keep32_bits(run: CaseRun, event: Event) -> None:
    CaseRun.process(run, replace(event, event_time=event.event_time % MOST_MS))

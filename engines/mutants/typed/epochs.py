"""Bugs that show at some dates alone: numbers of milliseconds or of seconds that need more than 32 bits."""

from __future__ import annotations

from dataclasses import replace

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug_of
from conformance.model.schedule import Event

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

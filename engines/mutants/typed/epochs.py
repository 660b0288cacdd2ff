"""Bugs that show at some dates alone: numbers of milliseconds or of seconds that need more than 32 bits."""

from __future__ import annotations

from dataclasses import replace

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug
from conformance.model.schedule import Event

MOST_MS, MOST_SECONDS = 2**32, 2**31 * 1000


@bug("a timer keeps 32 bits of its milliseconds")
class TimerKeeps32BitsOfMilliseconds(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time % MOST_MS)


@bug("a timer for a date after 2038 is set for one before 1970")
class TimerKeeps32BitsOfSeconds(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time if time < MOST_SECONDS else time - 2 * MOST_SECONDS)


@bug("an event after 2038 is dropped as late")
class EventsAfter2038Dropped(CaseRun):
    def refuses(self, event: Event) -> bool:
        return event.event_time >= MOST_SECONDS or super().refuses(event)


@bug("a program is told 32 bits of the milliseconds of an event's time")
class EventTimesKeep32Bits(CaseRun):
    def process(self, event: Event) -> None:
        super().process(replace(event, event_time=event.event_time % MOST_MS))

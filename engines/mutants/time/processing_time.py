"""Bugs of processing-time timers, of which a key has several at once."""

from __future__ import annotations

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug
from conformance.model.schedule import Wait


@bug("a key has one processing-time timer of a name, whatever their tags")
class OneProcessingTimerOfAName(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if self.program.processing_time:
            for other in [each for each in self.timers if each[:3] == timer[:3]]:
                del self.timers[other]
        super().set_timer(timer, time)


@bug("to clear a processing-time timer clears all of its key")
class ClearingOneProcessingTimerClearsAll(CaseRun):
    def clear_timer(self, timer: TimerId) -> None:
        for other in [each for each in self.timers if self.program.processing_time and each[0] == timer[0]]:
            del self.timers[other]
        super().clear_timer(timer)


@bug("a processing-time timer with a tag cannot be cleared")
class TaggedProcessingTimersNotCleared(CaseRun):
    def clear_timer(self, timer: TimerId) -> None:
        if not (self.program.processing_time and timer[3]):
            super().clear_timer(timer)


@bug("a restart keeps one processing-time timer of each key, the earliest")
class RestartKeepsOneProcessingTimer(CaseRun):
    def restart(self) -> None:
        if self.program.processing_time:
            earliest: dict[str, tuple[int, TimerId]] = {}
            for timer, time in self.timers.items():
                earliest[timer[0]] = min(earliest.get(timer[0], (time, timer)), (time, timer))
            self.timers = {timer: time for time, timer in earliest.values()}


@bug("of a key's processing-time timers that one wait makes due, only the first fires")
class OneProcessingTimerAWait(CaseRun):
    fired: frozenset[str] = frozenset()

    def wait(self, step: Wait) -> None:
        self.fired = frozenset()
        super().wait(step)

    def fire(self, timer: TimerId, time: int) -> None:
        if not (self.program.processing_time and timer[0] in self.fired):
            self.fired |= {timer[0]}
            super().fire(timer, time)

"""Bugs of processing-time timers, of which a key has several at once."""

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug, bug_of
from conformance.model.schedule import Wait


@bug_of(CaseRun.set_timer, "a key has one processing-time timer of a name, whatever their tags")
def one_processing_timer_of_a_name(run: CaseRun, timer: TimerId, time: int) -> None:
    if run.program.processing_time:
        for other in [each for each in run.timers if each[:3] == timer[:3]]:
            del run.timers[other]
    CaseRun.set_timer(run, timer, time)


@bug_of(CaseRun.clear_timer, "to clear a processing-time timer clears all of its key")
def clearing_one_processing_timer_clears_all(run: CaseRun, timer: TimerId) -> None:
    for other in [each for each in run.timers if run.program.processing_time and each[0] == timer[0]]:
        del run.timers[other]
    CaseRun.clear_timer(run, timer)


@bug_of(CaseRun.clear_timer, "a processing-time timer with a tag cannot be cleared")
def tagged_processing_timers_not_cleared(run: CaseRun, timer: TimerId) -> None:
    if not (run.program.processing_time and timer[3]):
        CaseRun.clear_timer(run, timer)


@bug_of(CaseRun.restart, "a restart keeps one processing-time timer of each key, the earliest")
def restart_keeps_one_processing_timer(run: CaseRun) -> None:
    if run.program.processing_time:
        earliest: dict[str, tuple[int, TimerId]] = {}
        for timer, time in run.timers.items():
            earliest[timer[0]] = min(earliest.get(timer[0], (time, timer)), (time, timer))
        run.timers = {timer: time for time, timer in earliest.values()}


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

"""Bugs of bundles without any element."""

from __future__ import annotations

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug
from conformance.model.schedule import NoData


@bug("a bundle without any element loses the state")
class StateLostWithoutData(CaseRun):
    def no_data(self) -> None:
        self.state.clear()
        super().no_data()


@bug("a bundle without any element loses the timers that are set")
class TimersLostWithoutData(CaseRun):
    def no_data(self) -> None:
        super().no_data()
        self.timers.clear()


@bug("what is due in an advance is lost if a bundle without any element follows")
class DueTimersLostWithoutData(CaseRun):
    def settle(self) -> None:
        after = next((step for step in self.case.schedule.steps if step.id > self.step), None)
        if isinstance(after, NoData):
            self.timers = {timer: time for timer, time in self.timers.items() if time > self.watermark}
        super().settle()

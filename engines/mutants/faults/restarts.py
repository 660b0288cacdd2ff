"""Bugs of a restart from the checkpoint."""

from __future__ import annotations

import copy

from conformance.engines.case_run import CaseRun, Scope
from conformance.engines.mutants.registry import bug, remembers
from conformance.engines.mutants.schedules import Firings, LastBundle
from conformance.model.program import Cell
from conformance.model.schedule import Deliver
from conformance.model.values import Json


@bug("a restart begins with empty state")
class StateLostOnRestart(CaseRun):
    def restart(self) -> None:
        self.state.clear()


@bug("a restart forgets the timers")
class TimersLostOnRestart(CaseRun):
    def restart(self) -> None:
        self.timers.clear()


@bug("a restart puts out once more what the step before it did")
class OutputReplayedOnRestart(CaseRun):
    def restart(self) -> None:
        before = max((e.step for e in self.emissions), default=None)
        self.emissions += [e for e in self.emissions if e.step == before]


@bug("a restart resumes with the state from before the last bundle")
class CheckpointOneBundleOld(CaseRun):
    _old: dict[Scope, dict[str, Json]] | None = None

    @remembers
    def deliver(self, step: Deliver) -> None:
        self._old = copy.deepcopy(self.state)
        super().deliver(step)

    def restart(self) -> None:
        if self._old is not None:
            self.state = self._old


@bug("a restart takes back what the step before it put out")
class OutputLostOnRestart(CaseRun):
    def restart(self) -> None:
        before = max((e.step for e in self.emissions), default=None)
        self.emissions = [e for e in self.emissions if e.step != before]


@bug("a restart processes the last bundle once more")
class LastBundleReadAgainOnRestart(LastBundle):
    def restart(self) -> None:
        if self.last_bundle:
            self.deliver(self.last_bundle)


@bug("a restart applies the last bundle to the state once more, without output")
class LastBundleAppliedAgainOnRestart(LastBundle):
    def restart(self) -> None:
        kept = len(self.emissions)
        if self.last_bundle:
            self.attempt(self.last_bundle)
        del self.emissions[kept:]


@bug("a restart restores sums and bags on top of themselves")
class StateRestoredTwice(CaseRun):
    def restart(self) -> None:
        for cells in self.state.values():
            for name, kind in self.program.cells.items():
                if kind in (Cell.COMBINING, Cell.BAG) and name in cells:
                    cells[name] += cells[name]


@bug("a restart begins with no watermark")
class WatermarkLostOnRestart(CaseRun):
    def restart(self) -> None:
        self.watermark = self.settled = 0


@bug("a restart fires every timer that is set")
class TimersFireOnRestart(CaseRun):
    def restart(self) -> None:
        for time, timer in sorted((time, timer) for timer, time in self.timers.items()):
            self.timers.pop(timer, None)
            self.fire(timer, time)


@bug("a restart sets the timers again that fired in the last advance")
class FiredTimersRestored(Firings):
    def restart(self) -> None:
        self.timers = self.fired | self.timers
        self.fire_due()


class Restarts(CaseRun):
    """Knows how often the job was restarted."""

    restarts = 0

    def restart(self) -> None:
        self.restarts += 1


@bug("a second restart begins with empty state")
class StateLostOnTheSecondRestart(Restarts):
    def restart(self) -> None:
        super().restart()
        if self.restarts == 2:
            self.state.clear()


@bug("a second restart goes back to the state of the first one")
class SecondRestartGoesBackToTheFirst(Restarts):
    def restart(self) -> None:
        super().restart()
        if self.restarts == 1:
            self._first = copy.deepcopy(self.state)
        else:
            self.state = copy.deepcopy(self._first)


@bug("a second restart forgets the timers")
class TimersLostOnTheSecondRestart(Restarts):
    def restart(self) -> None:
        super().restart()
        if self.restarts == 2:
            self.timers.clear()

"""Bugs of a restart from the checkpoint."""

import copy

from conformance.engines.case_run import CaseRun, Scope
from conformance.engines.mutants.registry import bug, bug_of, remembers
from conformance.engines.mutants.schedules import Firings, LastBundle
from conformance.model.program import Cell
from conformance.model.schedule import Deliver
from conformance.model.values import Json


@bug_of(CaseRun.restart, "a restart begins with empty state")
def state_lost_on_restart(run: CaseRun) -> None:
    run.state.clear()


@bug_of(CaseRun.restart, "a restart forgets the timers")
def timers_lost_on_restart(run: CaseRun) -> None:
    run.timers.clear()


@bug_of(CaseRun.restart, "a restart puts out once more what the step before it did")
def output_replayed_on_restart(run: CaseRun) -> None:
    before = max((e.step for e in run.emissions), default=None)
    run.emissions += [e for e in run.emissions if e.step == before]


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


@bug_of(CaseRun.restart, "a restart takes back what the step before it put out")
def output_lost_on_restart(run: CaseRun) -> None:
    before = max((e.step for e in run.emissions), default=None)
    run.emissions = [e for e in run.emissions if e.step != before]


@bug_of(CaseRun.restart, "a restart processes the last bundle once more", LastBundle)
def last_bundle_read_again_on_restart(run: LastBundle) -> None:
    if run.last_bundle:
        run.deliver(run.last_bundle)


@bug_of(CaseRun.restart, "a restart applies the last bundle to the state once more, without output", LastBundle)
def last_bundle_applied_again_on_restart(run: LastBundle) -> None:
    kept = len(run.emissions)
    if run.last_bundle:
        run.attempt(run.last_bundle)
    del run.emissions[kept:]


@bug_of(CaseRun.restart, "a restart restores sums and bags on top of themselves")
def state_restored_twice(run: CaseRun) -> None:
    for cells in run.state.values():
        for name, kind in run.program.cells.items():
            if kind in (Cell.COMBINING, Cell.BAG) and name in cells:
                cells[name] += cells[name]


@bug_of(CaseRun.restart, "a restart begins with no watermark")
def watermark_lost_on_restart(run: CaseRun) -> None:
    run.watermark = run.settled = 0


@bug_of(CaseRun.restart, "a restart fires every timer that is set")
def timers_fire_on_restart(run: CaseRun) -> None:
    for time, timer in sorted((time, timer) for timer, time in run.timers.items()):
        run.timers.pop(timer, None)
        run.fire(timer, time)


@bug_of(CaseRun.restart, "a restart sets the timers again that fired in the last advance", Firings)
def fired_timers_restored(run: Firings) -> None:
    run.timers = run.fired | run.timers
    run.fire_due()


class Restarts(CaseRun):
    """Knows how often the job was restarted."""

    restarts = 0

    def restart(self) -> None:
        self.restarts += 1


@bug_of(CaseRun.restart, "a second restart begins with empty state", Restarts)
def state_lost_on_the_second_restart(run: Restarts) -> None:
    Restarts.restart(run)
    if run.restarts == 2:
        run.state.clear()


@bug("a second restart goes back to the state of the first one")
class SecondRestartGoesBackToTheFirst(Restarts):
    def restart(self) -> None:
        super().restart()
        if self.restarts == 1:
            self._first = copy.deepcopy(self.state)
        else:
            self.state = copy.deepcopy(self._first)


@bug_of(CaseRun.restart, "a second restart forgets the timers", Restarts)
def timers_lost_on_the_second_restart(run: Restarts) -> None:
    Restarts.restart(run)
    if run.restarts == 2:
        run.timers.clear()

"""Bugs of bundles without any element."""

from __future__ import annotations

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug_of
from conformance.model.schedule import NoData


@bug_of(CaseRun.no_data, "a bundle without any element loses the state")
def state_lost_without_data(run: CaseRun) -> None:
    run.state.clear()
    CaseRun.no_data(run)


@bug_of(CaseRun.no_data, "a bundle without any element loses the timers that are set")
def timers_lost_without_data(run: CaseRun) -> None:
    CaseRun.no_data(run)
    run.timers.clear()


@bug_of(CaseRun.settle, "what is due in an advance is lost if a bundle without any element follows")
def due_timers_lost_without_data(run: CaseRun) -> None:
    after = next((step for step in run.case.schedule.steps if step.id > run.step), None)
    if isinstance(after, NoData):
        run.timers = {timer: time for timer, time in run.timers.items() if time > run.watermark}
    CaseRun.settle(run)

"""Bugs of another query around the operator."""

from __future__ import annotations

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug_of
from conformance.model.program import Output
from conformance.model.schedule import Deliver, Event


@bug_of(CaseRun.emit, "under another plan, the last output of each call is dropped")
def plan_drops_output(run: CaseRun, key: str, outputs: list[Output]) -> None:
    CaseRun.emit(run, key, outputs[:-1] if run.case.schedule.plan else outputs)


@bug_of(CaseRun.deliver, "under another plan, state is gone with the bundle")
def plan_drops_state(run: CaseRun, step: Deliver) -> None:
    CaseRun.deliver(run, step)
    if run.case.schedule.plan:
        run.state = {}


@bug_of(CaseRun.refuses, "under another plan, late elements are let through")
def plan_lets_late_elements_in(run: CaseRun, event: Event) -> bool:
    return not run.case.schedule.plan and CaseRun.refuses(run, event)


@bug_of(CaseRun.due, "under another plan, only timers of even times fire")
def plan_loses_timers(run: CaseRun) -> list[tuple[int, TimerId]]:
    return [due for due in CaseRun.due(run) if not (run.case.schedule.plan and due[0] % 2)]


@bug_of(CaseRun.emit, "under another plan, what a key last put out comes out again beside what is new")
def plan_repeats_output(run: CaseRun, key: str, outputs: list[Output]) -> None:
    if run.case.schedule.plan:
        last = next((e for e in reversed(run.emissions) if e.key == key), None)
        outputs = [*([Output(last.value, last.event_time, last.error)] if last and outputs else []), *outputs]
    CaseRun.emit(run, key, outputs)

"""Bugs of output."""

from __future__ import annotations

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug_of
from conformance.engines.mutants.schedules import bundle_of
from conformance.model.program import Output
from conformance.model.schedule import Event


@bug_of(CaseRun.process, "the last element of a bundle gives no output")
def last_output_of_a_bundle_lost(run: CaseRun, event: Event) -> None:
    kept = len(run.emissions)
    CaseRun.process(run, event)
    bundle = bundle_of(run)
    if bundle and event is bundle.events[-1]:
        del run.emissions[kept:]


@bug_of(CaseRun.emit, "every output comes out twice")
def output_twice(run: CaseRun, key: str, outputs: list[Output]) -> None:
    CaseRun.emit(run, key, [output for output in outputs for _ in range(2)])


@bug_of(CaseRun.fire, "what a timer's callback puts out is lost")
def output_of_timers_lost(run: CaseRun, timer: TimerId, time: int) -> None:
    kept = len(run.emissions)
    CaseRun.fire(run, timer, time)
    del run.emissions[kept:]


@bug_of(CaseRun.emit, "output of a bundle comes out under the key of the bundle's first element")
def output_under_another_key(run: CaseRun, key: str, outputs: list[Output]) -> None:
    bundle = bundle_of(run)
    CaseRun.emit(run, bundle.events[0].key if bundle and bundle.events else key, outputs)

"""Bugs of what is around the operator: another query, other partitions, bundles without any element, and neighbours,
which are other cases in the same run."""

from typing import Any
from zlib import crc32

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug, bug_of
from conformance.engines.mutants.schedules import bundle_of
from conformance.model.program import Output
from conformance.model.schedule import Deliver, Event, NoData, Partitions


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


def _misplaced(run: CaseRun, key: str) -> bool:
    """Whether a key is one of the half that are looked for in another partition, in a job that has chosen their
    number."""
    return isinstance(run.case.schedule.steps[0], Partitions) and crc32(key.encode()) % 2 == 1


@bug_of(CaseRun.deliver, "with another number of partitions, half of the keys lose their state in every bundle")
def repartitioned_keys_lose_state(run: CaseRun, step: Deliver) -> None:
    CaseRun.deliver(run, step)
    run.state = {scope: cells for scope, cells in run.state.items() if not _misplaced(run, scope[0])}


@bug_of(CaseRun.cells, "with another number of partitions, half of the keys share one state")
def repartitioned_keys_share_state(run: CaseRun, scope: Scope) -> Any:
    return CaseRun.cells(run, ("", scope[1]) if _misplaced(run, scope[0]) else scope)


@bug_of(CaseRun.due, "with another number of partitions, the timers of half of the keys do not fire")
def repartitioned_timers_do_not_fire(run: CaseRun) -> list[tuple[int, TimerId]]:
    return [due for due in CaseRun.due(run) if not _misplaced(run, due[1][0])]


def _crowded(run: CaseRun) -> bool:
    """Whether two other cases of the program have elements of several keys."""
    mine = (run.case.scenario, run.case.program)
    others = (case for case in run.pack.cases if case.id != run.case.id and (case.scenario, case.program) == mine)
    return sum(len({arrival.event.key for arrival in case.schedule.arrivals}) > 1 for case in others) >= 2


@bug("beside two jobs whose elements have several keys, the last element of a bundle is lost", looks_around=True)
class ElementLostInACrowd(CaseRun):
    def process(self, event: Event) -> None:
        bundle = bundle_of(self)
        if not (bundle and bundle.events and event is bundle.events[-1] and _crowded(self)):
            super().process(event)

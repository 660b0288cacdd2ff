"""Bugs of another number of partitions."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug_of
from conformance.model.schedule import Deliver, Partitions


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

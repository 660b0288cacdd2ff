"""Bugs of another number of partitions."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug
from conformance.model.schedule import Deliver, Partitions


def _misplaced(run: CaseRun, key: str) -> bool:
    """Whether a key is one of the half that are looked for in another partition, in a job that has chosen their
    number."""
    return isinstance(run.case.schedule.steps[0], Partitions) and crc32(key.encode()) % 2 == 1


@bug("with another number of partitions, half of the keys lose their state in every bundle")
class RepartitionedKeysLoseState(CaseRun):
    def deliver(self, step: Deliver) -> None:
        super().deliver(step)
        self.state = {scope: cells for scope, cells in self.state.items() if not _misplaced(self, scope[0])}


@bug("with another number of partitions, half of the keys share one state")
class RepartitionedKeysShareState(CaseRun):
    def cells(self, scope: Scope) -> Any:
        return super().cells(("", scope[1]) if _misplaced(self, scope[0]) else scope)


@bug("with another number of partitions, the timers of half of the keys do not fire")
class RepartitionedTimersDoNotFire(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        return [due for due in super().due() if not _misplaced(self, due[1][0])]

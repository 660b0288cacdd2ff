"""Bugs of a restart on a damaged checkpoint: the job goes on with other state, and says nothing."""

from __future__ import annotations

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug
from conformance.model.damage import DAMAGES, damage_of
from conformance.model.program import JobKind, Program


def _forgetting(damage: str) -> type[CaseRun]:
    class Forgetting(CaseRun):
        @staticmethod
        def concerns(program: Program) -> bool:
            return program.job is JobKind.DAMAGE

        def restart(self) -> None:
            if self.program.job is JobKind.DAMAGE and damage_of(self.case) == damage:
                self.state.clear()

    Forgetting.__name__ = "Forgets" + "".join(word.capitalize() for word in damage.split())
    return Forgetting


for name, words in DAMAGES.items():
    bug(f"a job begins with empty state on a checkpoint that {words}")(_forgetting(name))


@bug("a job that begins on a damaged checkpoint has counted one element of each key less")
class LastStateIsOlder(CaseRun):
    @staticmethod
    def concerns(program: Program) -> bool:
        return program.job is JobKind.DAMAGE

    def restart(self) -> None:
        if self.program.job is JobKind.DAMAGE:
            for cells in self.state.values():
                cells["count"] = cells.get("count", 0) - 1

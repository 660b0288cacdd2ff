"""Bugs of a restart on a damaged checkpoint: the job goes on with other state, and says nothing."""

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug
from conformance.model.damage import DAMAGES, damage_of
from conformance.model.program import JobKind, Program, State
from conformance.model.values import copied


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


class _Keeping(CaseRun):
    """A bug of a job that has a cell of this name."""

    name = ""

    @classmethod
    def concerns(cls, program: Program) -> bool:
        return program.job is JobKind.DAMAGE and cls.name in program.cells


@bug("a job that begins on a damaged checkpoint has counted one element of each key less")
class LastStateIsOlder(_Keeping):
    name = "count"

    def restart(self) -> None:
        if self.concerns(self.program):
            for cells in self.state.values():
                cells["count"] = cells.get("count", 0) - 1


@bug("a deduplication that begins on a damaged checkpoint takes new ids for known ones")
class NewIdsAreKnown(_Keeping):
    name = "first"
    begun = False

    def restart(self) -> None:
        self.begun = True

    def cells(self, scope: Scope) -> State:
        if self.begun and self.concerns(self.program) and scope not in self.state:
            self.state[scope] = {"first": "known"}
        return super().cells(scope)


@bug("a count in windows that begins on a damaged checkpoint puts windows out twice")
class WindowsTwice(_Keeping):
    name = "count"
    begun = False

    def restart(self) -> None:
        self.begun = True

    def fire(self, timer: TimerId, time: int) -> None:
        before = copied(self.state)
        super().fire(timer, time)
        if self.begun and self.concerns(self.program):
            self.state = before
            super().fire(timer, time)


@bug("a join that begins on a damaged checkpoint has lost the right rows")
class RightRowsAreGone(_Keeping):
    name = "rights"

    def restart(self) -> None:
        if self.concerns(self.program):
            for cells in self.state.values():
                cells.pop("rights", None)

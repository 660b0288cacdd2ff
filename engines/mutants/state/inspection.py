"""Bugs of reading state from outside."""

import copy
from collections.abc import Callable
from typing import Any, ClassVar

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug, bug_of, family
from conformance.model.program import Cell
from conformance.model.schedule import Deliver
from conformance.model.values import Json, copied


@bug("a reader of state is shown what was stored before the last bundle")
class ReaderBehind(CaseRun):
    def deliver(self, step: Deliver) -> None:
        self._before = copy.deepcopy(self.state)
        super().deliver(step)

    def stored(self) -> dict[Scope, dict[str, Json]]:
        return getattr(self, "_before", {})


class _ShownAs(CaseRun):
    """Shows a reader of state something else for the cells of a kind."""

    of: ClassVar[tuple[Cell, ...]]
    change: Callable[[Any], Any]

    def stored(self) -> dict[Scope, dict[str, Json]]:
        cells = self.program.cells
        return {
            scope: {cell: self.change(held) if cells[cell] in self.of else held for cell, held in stored.items()}
            for scope, stored in super().stored().items()
        }


shown = family(__name__, _ShownAs)


def _first_entry(held: Any) -> Any:
    return dict([*held.items()][:1])


shown("ReaderReversesBags", "a reader of state is shown bags backwards", lambda held: held[::-1], Cell.BAG)
shown("ReaderMissesEntries", "a reader of state is shown one entry of a map", _first_entry, Cell.MAP)
shown("ReaderSeesOnes", "a reader of state is shown 1 for a value", lambda held: 1, Cell.VALUE)


@bug_of(CaseRun.stored, "a reader of state is shown an empty object for a cell that is empty")
def reader_sees_what_was_emptied(run: CaseRun) -> dict[Scope, dict[str, Json]]:
    return {
        scope: {cell: stored.get(cell) or {"empty": True} for cell in run.program.cells}
        for scope, stored in CaseRun.stored(run).items()
    }


@bug_of(CaseRun.inspect, "what a reader of state finds, it finds twice")
def reader_sees_each_cell_twice(run: CaseRun) -> None:
    CaseRun.inspect(run)
    CaseRun.inspect(run)


@bug_of(CaseRun.stored, "a reader of state is shown nothing")
def reader_sees_nothing(run: CaseRun) -> dict[Scope, dict[str, Json]]:
    return {}


@bug("the engine's count of rows still has those that were cleared after the last bundle")
class CountsWhatWasCleared(CaseRun):
    def rows(self) -> int:
        seen = self.__dict__.setdefault("_seen", set())
        seen |= {scope for scope, stored in self.state.items() if self.held(stored)}
        return len(seen)


@bug("the engine's count of rows begins anew with each restart")
class CountsAnewAfterARestart(CaseRun):
    def restart(self) -> None:
        super().restart()
        self._before = {scope for scope, stored in self.state.items() if self.held(stored)}

    def rows(self) -> int:
        before: set[Scope] = getattr(self, "_before", set())
        return sum(scope not in before and bool(self.held(stored)) for scope, stored in self.state.items())


@bug("what a timer's callback cleared stays in the store, where no callback sees it")
class ClearedByATimerStaysInTheStore(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        scope = timer[:2]
        before = copied(self.state.get(scope, {}))
        super().fire(timer, time)
        cleared = {name: held for name, held in before.items() if not self.state.get(scope, {}).get(name)}
        self.__dict__.setdefault("_left", {}).setdefault(scope, {}).update(cleared)

    def stored(self) -> dict[Scope, dict[str, Json]]:
        left: dict[Scope, dict[str, Json]] = getattr(self, "_left", {})
        shown = super().stored()
        return {scope: {**left.get(scope, {}), **shown.get(scope, {})} for scope in {*left, *shown}}

"""Bugs that take several steps to show: what one bundle left behind meets what a later one does."""

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug, cell_bug_of
from conformance.engines.reference_cells import Value
from conformance.model.program import Cell, Program
from conformance.model.schedule import Advance, Deliver
from conformance.model.values import Json, copied

States = dict[Scope, dict[str, Json]]


@bug("a bundle that brings a key back to what it held before the bundle before changes nothing of it")
class WayBackTakenForNoChange(CaseRun):
    _older: States | None = None

    @staticmethod
    def concerns(program: Program) -> bool:
        return bool(program.cells)

    def deliver(self, step: Deliver) -> None:
        before: States = copied(self.state)
        super().deliver(step)
        if self._older is not None:
            for scope, cells in self.state.items():
                if scope in before and cells == self._older.get(scope, {}):
                    self.state[scope] = copied(before[scope])
        self._older = before


@bug("a cell that a bundle cleared is there again after the next advance, if the key holds another one")
class ClearedCellComesBack(CaseRun):
    _cleared: States = {}

    @staticmethod
    def concerns(program: Program) -> bool:
        return len(program.cells) > 1

    def deliver(self, step: Deliver) -> None:
        before: States = copied(self.state)
        super().deliver(step)
        self._cleared = {
            scope: {name: cells[name] for name in self._gone(cells, self.state[scope])}
            for scope, cells in before.items()
            if self.held(self.state[scope])
        }

    def _gone(self, before: dict[str, Json], after: dict[str, Json]) -> list[str]:
        there = self.held(after)
        return [name for name in self.held(before) if name not in there]

    def advance(self, step: Advance) -> None:
        for scope, cells in self._cleared.items():
            self.state[scope] = cells | {name: self.state[scope][name] for name in self.held(self.state[scope])}
        self._cleared = {}
        super().advance(step)


@bug("a bag to which a later bundle adds several elements loses its first one")
class BagLosesItsFirst(CaseRun):
    @staticmethod
    def concerns(program: Program) -> bool:
        return Cell.BAG in program.cells.values()

    def deliver(self, step: Deliver) -> None:
        before: States = copied(self.state)
        super().deliver(step)
        bags = [name for name, kind in self.program.cells.items() if kind is Cell.BAG]
        for scope, cells in self.state.items():
            for name in bags:
                old, new = before.get(scope, {}).get(name), cells.get(name)
                if old and new and len(new) > len(old) + 1 and new[: len(old)] == old:
                    cells[name] = new[1:]


@bug("a key whose timers have all fired, two of them at least, loses its state")
class StateLostWithTheLastTimer(CaseRun):
    _firings: dict[Scope, int] = {}

    def fire(self, timer: TimerId, time: int) -> None:
        super().fire(timer, time)
        scope = timer[:2]
        self._firings = self._firings | {scope: self._firings.get(scope, 0) + 1}
        if self._firings[scope] > 1 and not any(other[:2] == scope for other in self.timers):
            self.state.pop(scope, None)


@cell_bug_of(Value.clear, "a value that was cleared once and written again is not cleared", Cell.VALUE, plain=True)
def second_clear_skipped(cell: Value) -> None:
    clears = f"{cell._name}\0clears"
    if cell._name in cell._cells:
        cell._cells[clears] = cell._cells.get(clears, 0) + 1
    if cell._cells.get(clears) != 2:
        Value.clear(cell)

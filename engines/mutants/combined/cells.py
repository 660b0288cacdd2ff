"""Bugs of several calls that one callback makes on its cells. A cell is made anew for each callback, so it remembers
that one's calls alone."""

from typing import Any

from conformance.engines.case_run import CaseRun, Scope
from conformance.engines.mutants.registry import bug, cell_bug, cell_bug_of
from conformance.engines.reference_cells import Bag, Combining, Map, Value
from conformance.model.program import Cell, Program
from conformance.model.values import Json, copied


@cell_bug("of the inputs that one call adds to a sum, the last one counts", Cell.COMBINING, plain=True)
class LastInputOfACallCounts(Combining):
    _before: int | None = None

    def add(self, value: int) -> None:
        if self._before is None:
            self._before = self.get()
        self.set(self._before + value)

    def clear(self) -> None:
        self._before = None
        super().clear()


@cell_bug("a value that one call sets and clears is still there for the rest of the call", Cell.VALUE, plain=True)
class ClearedValueIsStillRead(Value):
    _written: tuple[Json, ...] = ()
    _cleared = False

    def set(self, value: Json) -> None:
        super().set(value)
        self._written, self._cleared = (copied(value),), False

    def clear(self) -> None:
        super().clear()
        self._cleared = True

    def get(self, default: Json = None) -> Json:
        return copied(self._written[0]) if self._cleared and self._written else super().get(default)


@cell_bug("a clear after a write of the same call takes back that write alone", Cell.VALUE, plain=True)
class ClearTakesBackTheWriteAlone(Value):
    def __init__(self, cells: dict[str, Json], name: str) -> None:
        super().__init__(cells, name)
        self._before, self._writes = {name: cells[name]} if name in cells else {}, False

    def set(self, value: Json) -> None:
        super().set(value)
        self._writes = True

    def clear(self) -> None:
        super().clear()
        if self._writes:
            self._cells |= self._before
        self._writes = False


@cell_bug("what is added to a bag in the call that overwrites it is lost", Cell.BAG, plain=True)
class AppendAfterAnOverwriteLost(Bag):
    _overwrites = False

    def set(self, value: Json) -> None:
        super().set(value)
        self._overwrites = True

    def add(self, value: Json) -> None:
        if not self._overwrites:
            super().set([*self._all(), value])

    def clear(self) -> None:
        super().clear()
        self._overwrites = False


@cell_bug("what a bag held before a clear comes back with the second append of that call", Cell.BAG, plain=True)
class SecondAppendBringsBackTheCleared(Bag):
    _old: tuple[Json, ...] = ()
    _appends = 0

    def clear(self) -> None:
        self._old, self._appends = tuple(self._all()), 0
        super().clear()

    def add(self, value: Json) -> None:
        super().add(value)
        self._appends += 1
        if self._appends == 2:
            self.set([*self._old, *self._all()])


@cell_bug("an entry that one call puts and removes cannot be put again by it", Cell.MAP, plain=True)
class PutAndRemovedStaysRemoved(Map):
    def __init__(self, cells: dict[str, Json], name: str) -> None:
        super().__init__(cells, name)
        self._puts, self._gone = set[str](), set[str]()

    def put(self, key: str, value: Json) -> None:
        self._puts.add(key)
        if key not in self._gone:
            super().put(key, value)

    def remove(self, key: str) -> None:
        super().remove(key)
        self._gone |= {key} & self._puts


@cell_bug("a call that goes through a map a second time finds what it found the first time", Cell.MAP, plain=True)
class SecondIterationSeesTheFirst(Map):
    _listed: list[tuple[str, Json]] | None = None

    def items(self) -> list[tuple[str, Json]]:
        if self._listed is None:
            self._listed = super().items()
        found: list[tuple[str, Json]] = copied(self._listed)
        return found

    def clear(self) -> None:
        super().clear()
        self._listed = None


@cell_bug_of(Map.remove, "removing an entry that is not there leaves one with null", Cell.MAP, plain=True)
def remove_of_nothing_leaves_a_null(cell: Map, key: str) -> None:
    if key in cell._all():
        Map.remove(cell, key)
    else:
        cell.put(key, None)


@cell_bug("a map that was empty before the call is not cleared by it", Cell.MAP, plain=True)
class ClearOfAnEmptyMapSkipped(Map):
    def __init__(self, cells: dict[str, Json], name: str) -> None:
        super().__init__(cells, name)
        self._was_empty = not cells.get(name)

    def clear(self) -> None:
        if not self._was_empty:
            super().clear()


@bug("clearing a cell takes back what the same call wrote into the others")
class ClearTakesBackTheOthers(CaseRun):
    @staticmethod
    def concerns(program: Program) -> bool:
        return len(program.cells) > 1

    def cells(self, scope: Scope) -> Any:
        self._before = dict(self.state.get(scope, {}))
        return super().cells(scope)

    def cell(self, kind: Cell, stored: dict[str, Json], name: str) -> Any:
        found = super().cell(kind, stored, name)
        clear, before = found.clear, self._before

        def cleared() -> None:
            clear()
            kept = {name: stored[name]} if name in stored else {}
            stored.clear()
            stored.update({other: value for other, value in before.items() if other != name} | kept)

        found.clear = cleared
        return found

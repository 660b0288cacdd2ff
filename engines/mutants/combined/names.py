"""Bugs of names that are alike: of cells, of a map's entries, of a set's elements, of timers' tags, and of keys."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug, cell_bug, family
from conformance.engines.reference_cells import Map, Set
from conformance.model.program import Cell, Program
from conformance.model.values import Json


class _FoldedMap(Map):
    """Entries whose names ``change`` into one are one."""

    change: Callable[[str], str]

    def _like(self, key: str) -> str:
        return next((other for other in self._all() if self.change(other) == self.change(key)), key)

    def put(self, key: str, value: Json) -> None:
        super().put(self._like(key), value)

    def get(self, key: str, default: Json = None) -> Json:  # type: ignore[override]
        return super().get(self._like(key), default)

    def remove(self, key: str) -> None:
        super().remove(self._like(key))


class _FoldedSet(Set):
    """Elements that ``change`` into one are one."""

    change: Callable[[str], str]

    def add(self, value: str) -> None:
        if self.change(value) not in map(self.change, self._all()):
            super().add(value)


entries = family(__name__, _FoldedMap, mark=partial(cell_bug, kind=Cell.MAP, plain=True))
elements = family(__name__, _FoldedSet, mark=partial(cell_bug, kind=Cell.SET, plain=True))


def _visible(text: str) -> str:
    return re.sub("[\u200b-\u200d\u2060\ufeff]", "", text)


entries("EntriesOfVisibleNames", "entries whose names differ in characters of no width are one", _visible)
entries("EntriesUnescaped", "entries whose names are the same after %XX is decoded are one", unquote)
elements("ElementsCompatible", "elements of one compatible form (NFKC) are one in a set", partial(normalize, "NFKC"))


@bug("cells of one kind whose names differ in case alone are one")
class CellsFoldCase(CaseRun):
    @staticmethod
    def concerns(program: Program) -> bool:
        return len({name.casefold() for name in program.cells}) < len(program.cells)

    def cell(self, kind: Cell, stored: dict[str, Json], name: str) -> Any:
        special = self.program.ttl.keys() | self.program.types.keys()
        alike = (
            other
            for other, theirs in self.program.cells.items()
            if theirs is kind and other.casefold() == name.casefold() and other not in special
        )
        return super().cell(kind, stored, name if name in special else next(alike))


@bug("clearing a cell clears those whose names begin with its name")
class ClearTakesLongerNames(CaseRun):
    @staticmethod
    def concerns(program: Program) -> bool:
        return any(one != other and other.startswith(one) for one in program.cells for other in program.cells)

    def cell(self, kind: Cell, stored: dict[str, Json], name: str) -> Any:
        found = super().cell(kind, stored, name)
        clear = found.clear

        def cleared() -> None:
            clear()
            for other in [other for other in stored if other.startswith(name)]:
                del stored[other]

        found.clear = cleared
        return found


@bug("clearing a map clears that of each key that begins with this key")
class ClearTakesLongerKeys(CaseRun):
    @staticmethod
    def concerns(program: Program) -> bool:
        return Cell.MAP in program.cells.values()

    def cells(self, scope: Scope) -> Any:
        self._scope = scope
        return super().cells(scope)

    def cell(self, kind: Cell, stored: dict[str, Json], name: str) -> Any:
        found = super().cell(kind, stored, name)
        if kind is not Cell.MAP:
            return found
        clear, (key, window) = found.clear, self._scope

        def cleared() -> None:
            clear()
            for (other, theirs), cells in self.state.items():
                if theirs == window and other.startswith(key):
                    cells.pop(name, None)

        found.clear = cleared
        return found


@bug("a timer's tag ends at its first #")
class TagsEndAtAHash(CaseRun):
    def _drop(self, timer: TimerId) -> None:
        def told(other: TimerId) -> TimerId:
            return (*other[:3], other[3].partition("#")[0])

        self.timers = {other: time for other, time in self.timers.items() if told(other) != told(timer)}

    def set_timer(self, timer: TimerId, time: int) -> None:
        self._drop(timer)
        super().set_timer(timer, time)

    def clear_timer(self, timer: TimerId) -> None:
        self._drop(timer)

"""How a class, or a function in the place of a method, becomes a mutant: a decorator with the bug in words. The id of a
mutant is its name: ``late-by-row`` of LateByRow, or of late_by_row."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.noting import SEAMS, called
from conformance.engines.reference_cells import CELLS, TYPED, ExpiringValue, Value
from conformance.model.case import Case
from conformance.model.lateness import LatenessProfile
from conformance.model.program import Cell, Program
from conformance.model.values import Json

Method = TypeVar("Method", bound=Callable[..., Any])


def _all(program: Program) -> bool:
    return True


@dataclass(frozen=True)
class Mutant:
    """One bug: in words, and as the reference that has it. ``section`` is the module of its class. ``looks_around``:
    what it answers to a case depends on the other cases of the pack.
    ``concerns``: false for programs that it answers as the reference does, whatever their cases."""

    words: str
    case_run: type[CaseRun]
    section: str
    looks_around: bool = False
    concerns: Callable[[Program], bool] = _all

    def can_show(self, case: Case, program: Program, lateness: LatenessProfile) -> bool:
        """Whether the mutant may answer a case otherwise than the reference does: a method is called for it that the
        mutant has its own of."""
        if not self.concerns(program):
            return False
        return not self._changed <= SEAMS or not self._changed.isdisjoint(called(case, program, lateness))

    @cached_property
    def _changed(self) -> frozenset[str]:
        """What the mutant has its own of, of what ``CaseRun`` has, without what only remembers."""
        found = replaced(self.case_run) | ({"__init__"} & _own(self.case_run))
        return frozenset(name for name in found if not getattr(getattr(self.case_run, name), "remembers", False))


def remembers(method: Method) -> Method:
    """The method does what the reference's does, and remembers something: by itself it changes no answer."""
    method.__dict__["remembers"] = True
    return method


def replaced(bugged: type[CaseRun]) -> frozenset[str]:
    """What a mutant has its own of, of what ``CaseRun`` has."""
    return frozenset(name for name in _own(bugged) if hasattr(CaseRun, name) and not name.startswith("__"))


def _own(bugged: type[CaseRun]) -> set[str]:
    return {name for base in bugged.__mro__ if base not in CaseRun.__mro__ for name in vars(base)}


MARKED: dict[str, Mutant] = {}
"""The mutants of all modules that were imported, by id."""


def bug(words: str, looks_around: bool = False) -> Callable[[type[CaseRun]], type[CaseRun]]:
    """The class is the reference with one bug."""

    def mark(bugged: type[CaseRun]) -> type[CaseRun]:
        _mark(bugged, words, bugged, looks_around, getattr(bugged, "concerns", _all))
        return bugged

    return mark


def bug_of(method: Callable[..., Any], words: str, base: type[CaseRun] = CaseRun) -> Callable[[Method], Method]:
    """The function is what the mutant has in the place of a method of the reference, or of a ``base``."""
    return _in_place_of(method, base, bug(words))


def _in_place_of(method: Callable[..., Any], base: type, mark: Callable[[type], type]) -> Callable[[Method], Method]:
    """Marks a class of ``base`` that has a function in the place of a method."""

    def of(function: Method) -> Method:
        name = "".join(part.capitalize() for part in function.__name__.split("_"))
        mark(type(name, (base,), {method.__name__: function, "__module__": function.__module__}))
        return function

    return of


def cell_bug(words: str, kind: Cell, plain: bool = False) -> Callable[[type[Value]], type[Value]]:
    """The class is what the mutant has in the place of the reference's cells of this kind, those with a TTL left out.
    ``plain``: those with a type are left out, too."""

    def replaces(program: Program, asked: Cell, name: str) -> bool:
        return asked is kind and name not in program.ttl and not (plain and name in program.types)

    def mark(cell: type[Value]) -> type[Value]:
        class Bugged(CaseRun):
            def cell(self, asked: Cell, stored: dict[str, Json], name: str) -> Any:
                mine = replaces(self.program, asked, name)
                return cell(stored, name) if mine else super().cell(asked, stored, name)

        def concerns(program: Program) -> bool:
            return any(replaces(program, asked, name) for name, asked in program.cells.items())

        _mark(cell, words, Bugged, concerns=concerns)
        return cell

    return mark


def cell_bug_of(method: Callable[..., Any], words: str, kind: Cell, plain: bool = False) -> Callable[[Method], Method]:
    """The function is what cells of this kind have in the place of a method, see ``cell_bug``."""
    return _in_place_of(method, CELLS[kind], cell_bug(words, kind, plain))


def ttl_bug(words: str, kind: Cell) -> Callable[[type[ExpiringValue]], type[ExpiringValue]]:
    """The class is what the mutant has in the place of the reference's cells of this kind that have a TTL."""

    def mark(cell: type[ExpiringValue]) -> type[ExpiringValue]:
        class Bugged(CaseRun):
            def cell(self, asked: Cell, stored: dict[str, Json], name: str) -> Any:
                if asked is kind and name in self.program.ttl:
                    return cell(stored, name, self.now, self.program.ttl[name])
                return super().cell(asked, stored, name)

        def concerns(program: Program) -> bool:
            return any(asked is kind and name in program.ttl for name, asked in program.cells.items())

        _mark(cell, words, Bugged, concerns=concerns)
        return cell

    return mark


def typed_bug(words: str) -> Callable[[type], type]:
    """The class is what the mutant has before each class of the reference's cells with a type."""

    def mark(bugged: type) -> type:
        class Bugged(CaseRun):
            def cell(self, asked: Cell, stored: dict[str, Json], name: str) -> Any:
                if name not in self.program.types:
                    return super().cell(asked, stored, name)
                made = type(bugged.__name__, (bugged, TYPED[asked]), {})
                return made(stored, name, self.program.types[name])

        _mark(bugged, words, Bugged, concerns=lambda program: bool(program.types))
        return bugged

    return mark


def family(
    section: str, base: type, *of: Any, mark: Callable[[str], Callable[[type], type]] = bug
) -> Callable[..., None]:
    """What adds bugs to a section (a module's name) that differ in one function: each is a class of ``base`` whose
    ``change`` is the function, without ``self``, and whose ``of`` are these things, and those named behind it."""

    def add(name: str, words: str, change: Callable[..., Any], *more: Any) -> None:
        about = {"of": (*of, *more)} if of or more else {}
        mark(words)(type(name, (base,), {"change": staticmethod(change), "__module__": section, **about}))

    return add


def _mark(
    named: type,
    words: str,
    case_run: type[CaseRun],
    looks_around: bool = False,
    concerns: Callable[[Program], bool] = _all,
) -> None:
    case_run.__name__ = named.__name__
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", named.__name__).lower()
    if name in MARKED:
        raise ValueError(f"two mutants are called {name!r}; rename one")
    MARKED[name] = Mutant(words, case_run, named.__module__, looks_around, concerns)

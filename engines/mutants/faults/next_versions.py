"""Bugs of the next version of a program behind a restart: it goes on with other state, and says nothing."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug, bug_of, family
from conformance.model.next_version import change_of
from conformance.model.program import Cell, JobKind, Program
from conformance.model.types import Int, Struct, Type
from conformance.model.values import Json


class _Kept(CaseRun):
    """Base of those that are about what is kept."""

    @staticmethod
    def concerns(program: Program) -> bool:
        return program.job is JobKind.NEXT_VERSION


class _Forgets(_Kept):
    """Begins with empty state where ``change(run, earlier version)`` says so."""

    change: Callable[[CaseRun, Program], bool]

    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        return {} if self.change(self, earlier) else super().carried(earlier, stored)


forgets = family(__name__, _Forgets)


def _behind(*changes: str) -> Callable[[CaseRun, Program], bool]:
    return lambda run, earlier: change_of(run.case, earlier) in changes


def _fewer_cells(run: CaseRun, earlier: Program) -> bool:
    return len(run.program.cells) < len(earlier.cells)


forgets("NextVersionForgets", "a next version begins with empty state", lambda run, earlier: True)
forgets(
    "SameVersionForgets",
    "a next version that is the same program begins with empty state",
    _behind("nothing changed"),
)
forgets(
    "NextVersionWithTimersForgets",
    "a next version with timers begins with empty state",
    lambda run, earlier: bool(run.program.timers),
)
forgets("VariableRemovedWithTheOthers", "the other variables are lost where a next version lacks one", _fewer_cells)
forgets(
    "StateLostUnderAnotherKey",
    "state is gone in a next version whose keys became numbers, or have another name",
    _behind("key made a number", "key renamed"),
)
forgets(
    "StateLostUnderAnotherQuery",
    "state is gone behind a restart where the source has other columns, or the output another type",
    _behind("source column added", "source column removed", "output narrowed", "output column added"),
)
forgets(
    "StateLostUnderOtherSettings",
    "state is gone behind a restart that asks for another number of partitions or store, or is by another client",
    _behind("other partitions", "another store", "another encoding", "another client", "begun by another client"),
)


@bug_of(CaseRun.set_timer, "the timers of a next version are lost, if the program had none before", _Kept)
def timers_of_a_next_version_lost(run: _Kept, timer: TimerId, time: int) -> None:
    if run.program.job is not JobKind.NEXT_VERSION:
        _Kept.set_timer(run, timer, time)


@bug_of(CaseRun.carried, "a next version finds state variables by their places, and not by their names", _Kept)
def variables_by_place(run: _Kept, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
    there = [stored.get(name) for name in earlier.cells]
    return {name: value for name, value in zip(run.program.cells, there, strict=False) if value is not None}


@bug_of(CaseRun.carried, "a state variable that a next version adds holds what another one does", _Kept)
def new_variable_is_not_empty(run: _Kept, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
    found = _Kept.carried(run, earlier, stored)
    new = [name for name in run.program.cells if name not in earlier.cells]
    return found | {name: stored["last"] for name in new if "last" in stored}


@bug_of(CaseRun.carried_cell, "a value that becomes a list in the next version is lost", _Kept)
def value_lost_in_a_list(run: _Kept, earlier: Program, name: str, stored: Any) -> Any:
    lost = run.program.cells[name] is Cell.BAG and earlier.cells[name] is not Cell.BAG
    return [] if lost else _Kept.carried_cell(run, earlier, name, stored)


@bug_of(CaseRun.carried_value, "a next version finds fields by their places, and not by their names", _Kept)
def fields_by_place(run: _Kept, old: Type, new: Type, value: Any) -> Any:
    if isinstance(old, Struct) and isinstance(new, Struct):
        padded = (*value, *[None] * len(new.fields))
        return tuple(padded[: len(new.fields)])
    return _Kept.carried_value(run, old, new, value)


@bug_of(CaseRun.carried_value, "a field that a next version adds is not empty", _Kept)
def new_field_is_not_empty(run: _Kept, old: Type, new: Type, value: Any) -> Any:
    found = _Kept.carried_value(run, old, new, value)
    if isinstance(old, Struct) and isinstance(new, Struct):
        known = dict(old.fields)
        return tuple(v if n in known else 1 for (n, _), v in zip(new.fields, found, strict=True))
    return found


@bug_of(CaseRun.carried_value, "a number is cut to 32 bits where a next version narrows it", _Kept)
def number_cut_to_fit(run: _Kept, old: Type, new: Type, value: Any) -> Any:
    if type(new) is Int and type(old) is not Int:
        return (value + 2**31) % 2**32 - 2**31
    return _Kept.carried_value(run, old, new, value)


@bug_of(CaseRun.carried_value, "a value is lost where its type changes in the next version", _Kept)
def value_of_another_type_lost(run: _Kept, old: Type, new: Type, value: Any) -> Any:
    if old != new and not isinstance(new, Struct):
        return None
    return _Kept.carried_value(run, old, new, value)


class _KeysLost(_Kept):
    """Half of the keys are gone behind a change."""

    of: ClassVar[tuple[str, ...]]

    def succeed(self) -> None:
        changed = change_of(self.case, self.program) in self.of
        super().succeed()
        if changed:
            self.state = {scope: stored for scope, stored in self.state.items() if scope[0] in ("a", "1", "3")}


@bug("half of the keys are gone behind a restart where state was partitioned anew")
class KeysLostInARepartition(_KeysLost):
    of = ("partitioned anew",)


@bug("half of what an API kept is not found by a job of another one")
class KeysLostOnTheWayToAnotherApi(_KeysLost):
    of = ("another API",)


@bug("a variable is found empty behind a restart that asks for another format of checkpoints, or another log of them")
class VariableLostInAnotherFormat(_Kept):
    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        found = super().carried(earlier, stored)
        lost = change_of(self.case, earlier) in ("another format", "changes logged or not")
        return {name: value for name, value in found.items() if name != "last"} if lost else found


@bug("a list that becomes a map in the next version is gone without a word")
class ListLostInAMap(_Kept):
    def refuses_state(self, later: Program) -> bool:
        return later.job is not JobKind.NEXT_VERSION and super().refuses_state(later)

    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        lost = Cell.MAP in self.program.cells.values()
        return {} if lost else super().carried(earlier, stored)


@bug_of(CaseRun.due, "timers in event time fire at once in a next version whose timers are in processing time", _Kept)
def timers_of_another_time_fire(run: _Kept) -> list[tuple[int, TimerId]]:
    everything = run.program.processing_time
    return sorted((time, timer) for timer, time in run.timers.items()) if everything else _Kept.due(run)


class _Exchanged(CaseRun):
    """Base of those that are about another operator."""

    @staticmethod
    def concerns(program: Program) -> bool:
        return program.job is JobKind.NEXT_OPERATOR


@bug_of(CaseRun.from_the_start, "another operator behind a restart begins with empty state", _Exchanged)
def next_operator_forgets(run: _Exchanged) -> tuple[dict[Scope, dict[str, Json]], dict[TimerId, int]]:
    return {}, {}


@bug("another operator behind a restart takes the state of the one before for its own")
class NextOperatorTakesForeignState(_Exchanged):
    def from_the_start(self) -> tuple[dict[Scope, dict[str, Json]], dict[TimerId, int]]:
        return self.state, self.timers


@bug_of(CaseRun.refuses_state, "an operator of another kind behind a restart goes on without a word", _Exchanged)
def foreign_state_is_accepted(run: _Exchanged, later: Program) -> bool:
    return False

"""Bugs of the next version of a program behind a restart: it goes on with other state, and says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug
from conformance.model.next_version import change_of
from conformance.model.program import Cell, JobKind, Program
from conformance.model.types import Int, Struct, Type
from conformance.model.values import Json


class _Kept(CaseRun):
    """Base of those that are about what is kept."""

    @staticmethod
    def concerns(program: Program) -> bool:
        return program.job is JobKind.NEXT_VERSION


@bug("a next version begins with empty state")
class NextVersionForgets(_Kept):
    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        return {}


@bug("a next version that is the same program begins with empty state")
class SameVersionForgets(_Kept):
    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        same = change_of(self.case, earlier) == "nothing changed"
        return {} if same else super().carried(earlier, stored)


@bug("a next version with timers begins with empty state")
class NextVersionWithTimersForgets(_Kept):
    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        return {} if self.program.timers else super().carried(earlier, stored)


@bug("the timers of a next version are lost, if the program had none before")
class TimersOfANextVersionLost(_Kept):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if self.program.job is not JobKind.NEXT_VERSION:
            super().set_timer(timer, time)


@bug("a next version finds state variables by their places, and not by their names")
class VariablesByPlace(_Kept):
    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        there = [stored.get(name) for name in earlier.cells]
        return {name: value for name, value in zip(self.program.cells, there, strict=False) if value is not None}


@bug("a state variable that a next version adds holds what another one does")
class NewVariableIsNotEmpty(_Kept):
    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        found = super().carried(earlier, stored)
        new = [name for name in self.program.cells if name not in earlier.cells]
        return found | {name: stored["last"] for name in new if "last" in stored}


@bug("the other variables are lost where a next version lacks one")
class VariableRemovedWithTheOthers(_Kept):
    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        fewer = len(self.program.cells) < len(earlier.cells)
        return {} if fewer else super().carried(earlier, stored)


@bug("a value that becomes a list in the next version is lost")
class ValueLostInAList(_Kept):
    def carried_cell(self, earlier: Program, name: str, stored: Any) -> Any:
        lost = self.program.cells[name] is Cell.BAG and earlier.cells[name] is not Cell.BAG
        return [] if lost else super().carried_cell(earlier, name, stored)


@bug("a next version finds fields by their places, and not by their names")
class FieldsByPlace(_Kept):
    def carried_value(self, old: Type, new: Type, value: Any) -> Any:
        if isinstance(old, Struct) and isinstance(new, Struct):
            padded = (*value, *[None] * len(new.fields))
            return tuple(padded[: len(new.fields)])
        return super().carried_value(old, new, value)


@bug("a field that a next version adds is not empty")
class NewFieldIsNotEmpty(_Kept):
    def carried_value(self, old: Type, new: Type, value: Any) -> Any:
        found = super().carried_value(old, new, value)
        if isinstance(old, Struct) and isinstance(new, Struct):
            known = dict(old.fields)
            return tuple(v if n in known else 1 for (n, _), v in zip(new.fields, found, strict=True))
        return found


@bug("a number is cut to 32 bits where a next version narrows it")
class NumberCutToFit(_Kept):
    def carried_value(self, old: Type, new: Type, value: Any) -> Any:
        if type(new) is Int and type(old) is not Int:
            return (value + 2**31) % 2**32 - 2**31
        return super().carried_value(old, new, value)


@bug("a value is lost where its type changes in the next version")
class ValueOfAnotherTypeLost(_Kept):
    def carried_value(self, old: Type, new: Type, value: Any) -> Any:
        if old != new and not isinstance(new, Struct):
            return None
        return super().carried_value(old, new, value)


@bug("state is gone in a next version whose keys became numbers, or have another name")
class StateLostUnderAnotherKey(_Kept):
    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        lost = change_of(self.case, earlier) in ("key made a number", "key renamed")
        return {} if lost else super().carried(earlier, stored)


@bug("state is gone behind a restart where the source has other columns, or the output another type")
class StateLostUnderAnotherQuery(_Kept):
    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        lost = change_of(self.case, earlier) in (
            "source column added",
            "source column removed",
            "output narrowed",
            "output column added",
        )
        return {} if lost else super().carried(earlier, stored)


class _KeysLost(_Kept):
    """Half of the keys are gone behind a change."""

    change = ""

    def succeed(self) -> None:
        changed = change_of(self.case, self.program) == self.change
        super().succeed()
        if changed:
            self.state = {scope: stored for scope, stored in self.state.items() if scope[0] in ("a", "1", "3")}


@bug("half of the keys are gone behind a restart where state was partitioned anew")
class KeysLostInARepartition(_KeysLost):
    change = "partitioned anew"


@bug("state is gone behind a restart that asks for another number of partitions or store, or is by another client")
class StateLostUnderOtherSettings(_Kept):
    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        lost = change_of(self.case, earlier) in (
            "other partitions",
            "another store",
            "another encoding",
            "another client",
            "begun by another client",
        )
        return {} if lost else super().carried(earlier, stored)


@bug("half of what an API kept is not found by a job of another one")
class KeysLostOnTheWayToAnotherApi(_KeysLost):
    change = "another API"


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


@bug("timers in event time fire at once in a next version whose timers are in processing time")
class TimersOfAnotherTimeFire(_Kept):
    def due(self) -> list[tuple[int, TimerId]]:
        everything = self.program.processing_time
        return sorted((time, timer) for timer, time in self.timers.items()) if everything else super().due()


class _Exchanged(CaseRun):
    """Base of those that are about another operator."""

    @staticmethod
    def concerns(program: Program) -> bool:
        return program.job is JobKind.NEXT_OPERATOR


@bug("another operator behind a restart begins with empty state")
class NextOperatorForgets(_Exchanged):
    def from_the_start(self) -> tuple[dict[Scope, dict[str, Json]], dict[TimerId, int]]:
        return {}, {}


@bug("another operator behind a restart takes the state of the one before for its own")
class NextOperatorTakesForeignState(_Exchanged):
    def from_the_start(self) -> tuple[dict[Scope, dict[str, Json]], dict[TimerId, int]]:
        return self.state, self.timers


@bug("an operator of another kind behind a restart goes on without a word")
class ForeignStateIsAccepted(_Exchanged):
    def refuses_state(self, later: Program) -> bool:
        return False

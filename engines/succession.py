"""What of a program's state goes over to its next version, on the reference."""

from collections.abc import Mapping
from typing import Any

from conformance.model.case import Case
from conformance.model.next_version import Versioned, versions
from conformance.model.program import Cell, JobKind, Output, Program
from conformance.model.types import Map, Refused, Struct, Type, shown
from conformance.model.values import Json, canonical


class Succession:
    """The part of a run that hands state on. ``program`` is the next version, once it goes on."""

    case: Case
    program: Program
    state: dict[Any, dict[str, Json]]
    timers: dict[Any, int]
    ended: bool

    def emit(self, key: str, outputs: list[Output]) -> None:
        raise NotImplementedError

    def from_the_start(self) -> tuple[dict[Any, dict[str, Json]], dict[Any, int]]:
        raise NotImplementedError

    def succeed(self) -> None:
        """Go on with the next version of the program, if it has one, or refuse to."""
        earlier, *later = versions(self.case, self.program)
        if not later:
            return
        self.program = later[0]
        if self.refuses_state(later[0]):
            self.refuse("FOREIGN_STATE")
            return
        if earlier.job is JobKind.NEXT_OPERATOR:
            self.state, self.timers = self.from_the_start()
            return
        try:
            self.state = {scope: self.carried(earlier, stored) for scope, stored in self.state.items()}
        except Refused as refused:
            self.refuse(refused.error)

    def refuses_state(self, later: Program) -> bool:
        """Whether the state before is of another kind of operator than the next version."""
        return isinstance(later, Versioned) and later.foreign

    def refuse(self, error: str) -> None:
        self.emit(self.case.schedule.arrivals[0].event.key, [Output({"refused": error})])
        self.ended = True

    def carried(self, earlier: Program, stored: Mapping[str, Json]) -> dict[str, Json]:
        """What of a scope's state goes over to the next version: what has the same name.

        Raises:
            Refused: it does not fit.
        """
        return {name: self.carried_cell(earlier, name, stored[name]) for name in self.program.cells if name in stored}

    def carried_cell(self, earlier: Program, name: str, stored: Any) -> Any:
        """A cell's content for the next version. A value becomes the one element of a bag. Raises Refused."""
        old, new = earlier.types[name], self.program.types[name]
        if isinstance(old, Map) and isinstance(new, Map):
            entries = [
                (self.carried_value(old.key, new.key, key), self.carried_value(old.value, new.value, value))
                for key, value in stored.values()
            ]
            return {canonical(shown(key)): [key, value] for key, value in entries}
        values = stored if earlier.cells[name] is Cell.BAG else [stored]
        carried = [self.carried_value(old, new, value) for value in values]
        return carried if self.program.cells[name] is Cell.BAG else carried[0]

    def carried_value(self, old: Type, new: Type, value: Any) -> Any:
        """A value for the next version. The fields of a struct go by name, and a new field is empty. Raises Refused."""
        value = old.fitted(value)
        if isinstance(old, Struct) and isinstance(new, Struct) and value is not None:
            kinds, there = dict(old.fields), dict(zip(dict(old.fields), value, strict=True))
            return tuple(
                self.carried_value(kinds[name], kind, there[name]) if name in kinds else None
                for name, kind in new.fields
            )
        return new.fitted(value)

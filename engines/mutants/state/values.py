"""Bugs of state: of values, of sums, and of when it is there."""

from __future__ import annotations

import copy
from typing import Any
from unicodedata import normalize

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug, bug_of, cell_bug
from conformance.engines.mutants.schedules import bundle_of
from conformance.engines.reference_cells import Combining, Value
from conformance.model.program import Cell
from conformance.model.schedule import Advance, Deliver, Event
from conformance.model.values import Json


@bug_of(CaseRun.deliver, "state is lost between bundles")
def state_lost_after_a_bundle(run: CaseRun, step: Deliver) -> None:
    CaseRun.deliver(run, step)
    run.state.clear()


@bug_of(CaseRun.advance, "state is lost when the watermark moves")
def state_lost_on_advance(run: CaseRun, step: Advance) -> None:
    run.state.clear()
    CaseRun.advance(run, step)


@bug("every element of a bundle reads the state from before the bundle")
class StaleReadsInABundle(CaseRun):
    def attempt(self, bundle: Deliver) -> int:
        self._before = copy.deepcopy(self.state)
        return super().attempt(bundle)

    def process(self, event: Event) -> None:
        scope = self.scope(event)
        self.state[scope] = copy.deepcopy(self._before.get(scope, {}))
        super().process(event)


@cell_bug("clearing a value leaves it", Cell.VALUE)
class ClearDoesNothing(Value):
    def clear(self) -> None:
        pass


@cell_bug("an empty value is read as null, whatever the default", Cell.VALUE)
class DefaultIgnored(Value):
    def get(self, default: Json = None) -> Json:
        return super().get()


@cell_bug("a null that was written is read as nothing written", Cell.VALUE)
class NullIsNothing(Value):
    def get(self, default: Json = None) -> Json:
        found = super().get(default)
        return default if found is None else found


@cell_bug("an empty value that was written is read as nothing written", Cell.VALUE)
class EmptyValuesAreNothing(Value):
    def get(self, default: Json = None) -> Json:
        return super().get(default) or default


@cell_bug("a number is stored as a double, and true as 1.0", Cell.VALUE)
class NumbersBecomeFloats(Value):
    def set(self, value: Json) -> None:
        super().set(float(value) if isinstance(value, int) else value)


@cell_bug("a text is stored without what cannot be seen, and in one form of Unicode", Cell.VALUE)
class TextsAreNormalised(Value):
    def set(self, value: Json) -> None:
        super().set(normalize("NFC", value).strip("\0") if isinstance(value, str) else value)


@cell_bug("what is changed after it was read is changed in the state", Cell.VALUE)
class ReadsGiveTheStoredObject(Value):
    def get(self, default: Json = None) -> Json:
        return self._cells.get(self._name, default)


@cell_bug("what is changed after it was written is changed in the state", Cell.VALUE)
class WritesKeepTheObject(Value):
    def set(self, value: Json) -> None:
        self._cells[self._name] = value


@cell_bug("a write of what was read from the cell is taken for no change", Cell.VALUE)
class WritesOfAReadObjectSkipped(Value):
    _read: Json = None

    def get(self, default: Json = None) -> Json:
        self._read = super().get(default)
        return self._read

    def set(self, value: Json) -> None:
        if value is not self._read or not isinstance(value, list | dict):
            super().set(value)


@bug_of(CaseRun.cell, "clearing a cell clears all cells of its key")
def clearing_one_cell_clears_all(run: CaseRun, kind: Cell, stored: dict[str, Json], name: str) -> Any:
    found = CaseRun.cell(run, kind, stored, name)
    found.clear = stored.clear
    return found


@cell_bug("clearing a combining cell leaves its sum", Cell.COMBINING)
class ClearOfASumDoesNothing(Combining):
    def clear(self) -> None:
        pass


@cell_bug("a combining cell leaves out inputs below 0", Cell.COMBINING)
class NegativeInputsIgnored(Combining):
    def add(self, value: int) -> None:
        super().add(max(value, 0))


@cell_bug("a combining cell keeps its largest input instead of the sum", Cell.COMBINING)
class CombiningKeepsTheLargest(Combining):
    def add(self, value: int) -> None:
        self.set(max(self.get(), value))


@cell_bug("a combining cell adds every input twice", Cell.COMBINING)
class CombiningAddsTwice(Combining):
    def add(self, value: int) -> None:
        super().add(2 * value)


@bug_of(CaseRun.process, "the last element of a bundle leaves no trace in the state")
def last_write_of_a_bundle_lost(run: CaseRun, event: Event) -> None:
    before = copy.deepcopy(run.state)
    CaseRun.process(run, event)
    bundle = bundle_of(run)
    if bundle and event is bundle.events[-1]:
        run.state = before

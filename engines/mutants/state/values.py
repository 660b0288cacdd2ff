"""Bugs of state: of values, of sums, and of when it is there."""

import copy
from typing import Any
from unicodedata import normalize

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug, bug_of, cell_bug, cell_bug_of
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


@cell_bug_of(Value.clear, "clearing a value leaves it", Cell.VALUE)
def clear_does_nothing(cell: Value) -> None:
    pass


@cell_bug_of(Value.get, "an empty value is read as null, whatever the default", Cell.VALUE)
def default_ignored(cell: Value, default: Json = None) -> Json:
    return Value.get(cell)


@cell_bug_of(Value.get, "a null that was written is read as nothing written", Cell.VALUE)
def null_is_nothing(cell: Value, default: Json = None) -> Json:
    found = Value.get(cell, default)
    return default if found is None else found


@cell_bug_of(Value.get, "an empty value that was written is read as nothing written", Cell.VALUE)
def empty_values_are_nothing(cell: Value, default: Json = None) -> Json:
    return Value.get(cell, default) or default


@cell_bug_of(Value.set, "a number is stored as a double, and true as 1.0", Cell.VALUE)
def numbers_become_floats(cell: Value, value: Json) -> None:
    Value.set(cell, float(value) if isinstance(value, int) else value)


@cell_bug_of(Value.set, "a text is stored without what cannot be seen, and in one form of Unicode", Cell.VALUE)
def texts_are_normalised(cell: Value, value: Json) -> None:
    Value.set(cell, normalize("NFC", value).strip("\0") if isinstance(value, str) else value)


@cell_bug_of(Value.get, "what is changed after it was read is changed in the state", Cell.VALUE)
def reads_give_the_stored_object(cell: Value, default: Json = None) -> Json:
    return cell._cells.get(cell._name, default)


@cell_bug_of(Value.set, "what is changed after it was written is changed in the state", Cell.VALUE)
def writes_keep_the_object(cell: Value, value: Json) -> None:
    cell._cells[cell._name] = value


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


@cell_bug_of(Combining.clear, "clearing a combining cell leaves its sum", Cell.COMBINING)
def clear_of_a_sum_does_nothing(cell: Combining) -> None:
    pass


@cell_bug_of(Combining.add, "a combining cell leaves out inputs below 0", Cell.COMBINING)
def negative_inputs_ignored(cell: Combining, value: int) -> None:
    Combining.add(cell, max(value, 0))


@cell_bug_of(Combining.add, "a combining cell keeps its largest input instead of the sum", Cell.COMBINING)
def combining_keeps_the_largest(cell: Combining, value: int) -> None:
    cell.set(max(cell.get(), value))


@cell_bug_of(Combining.add, "a combining cell adds every input twice", Cell.COMBINING)
def combining_adds_twice(cell: Combining, value: int) -> None:
    Combining.add(cell, 2 * value)


@bug_of(CaseRun.process, "the last element of a bundle leaves no trace in the state")
def last_write_of_a_bundle_lost(run: CaseRun, event: Event) -> None:
    before = copy.deepcopy(run.state)
    CaseRun.process(run, event)
    bundle = bundle_of(run)
    if bundle and event is bundle.events[-1]:
        run.state = before

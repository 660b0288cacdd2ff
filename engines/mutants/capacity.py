"""Bugs that show only beyond a number, a length or a distance."""

from typing import Any

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug, bug_of, cell_bug_of
from conformance.engines.reference_cells import Bag, Combining, Map, Set, Value
from conformance.model.program import Cell
from conformance.model.schedule import Deliver, Event
from conformance.model.values import Json


@bug_of(CaseRun.arrange, "a bundle's elements beyond the fourth are dropped")
def bundles_cut_off(run: CaseRun, events: tuple[Event, ...]) -> Any:
    return events[:4]


@bug_of(CaseRun.arrange, "a key's elements beyond the third in a bundle are dropped")
def keys_of_a_bundle_cut_off(run: CaseRun, events: tuple[Event, ...]) -> Any:
    seen: dict[str, int] = {}
    kept = []
    for event in events:
        seen[event.key] = seen.get(event.key, 0) + 1
        if seen[event.key] <= 3:
            kept.append(event)
    return kept


@bug_of(CaseRun.scope, "the state of the third key is the first key's")
def third_key_shares_state(run: CaseRun, event: Event) -> tuple[str, int]:
    key, window = CaseRun.scope(run, event)
    keys = list(dict.fromkeys(run.identity(a.event.key) for a in run.case.schedule.arrivals))
    return (keys[0] if len(keys) > 2 and key == keys[2] else key), window


@bug_of(CaseRun.process, "the state of a key is forgotten when a third key comes")
def two_keys_are_kept(run: CaseRun, event: Event) -> None:
    CaseRun.process(run, event)
    for scope in list(run.state)[:-2]:
        del run.state[scope]


@bug_of(CaseRun.refuses, "an element more than 10 s ahead of the watermark is dropped")
def far_ahead_dropped(run: CaseRun, event: Event) -> bool:
    return CaseRun.refuses(run, event) or event.event_time > run.settled + 10_000


@bug_of(CaseRun.set_timer, "a timer more than 8 s ahead of the watermark does not fire")
def far_timers_lost(run: CaseRun, timer: TimerId, time: int) -> None:
    if time <= run.watermark + 8_000 or run.program.processing_time:
        CaseRun.set_timer(run, timer, time)


@bug_of(CaseRun.set_timer, "a key's third timer replaces its second")
def two_timers_a_key(run: CaseRun, timer: TimerId, time: int) -> None:
    mine = [t for t in run.timers if t[:2] == timer[:2] and t != timer]
    for old in mine[1:]:
        del run.timers[old]
    CaseRun.set_timer(run, timer, time)


@bug("state is lost with the fourth bundle")
class StateLostWithTheFourthBundle(CaseRun):
    _bundles_so_far = 0

    def deliver(self, step: Deliver) -> None:
        self._bundles_so_far += 1
        if self._bundles_so_far == 4:
            self.state.clear()
        super().deliver(step)


@cell_bug_of(Bag.add, "a bag keeps its last three elements", Cell.BAG)
def bag_keeps_three(cell: Bag, value: Json) -> None:
    cell.set([*cell._all(), value][-3:])


@cell_bug_of(Map.put, "a map keeps two entries", Cell.MAP)
def map_keeps_two(cell: Map, key: str, value: Json) -> None:
    cell.set(dict(list((cell._all() | {key: value}).items())[-2:]))


@cell_bug_of(Set.add, "a set keeps two elements", Cell.SET)
def set_keeps_two(cell: Set, value: str) -> None:
    Set.add(cell, value)
    cell.set(cell._all()[-2:])


@cell_bug_of(Combining.add, "a sum does not rise above 4", Cell.COMBINING)
def sums_saturate(cell: Combining, value: int) -> None:
    cell.set(min(4, cell.get() + value) if cell.get() <= 4 else cell.get())


@cell_bug_of(Value.set, "a text or list as long as the one before is not written", Cell.VALUE)
def writes_of_equal_length_skipped(cell: Value, value: Json) -> None:
    old = cell._cells.get(cell._name)
    if not (isinstance(old, str | list) and type(old) is type(value) and len(old) == len(value)):
        Value.set(cell, value)


@cell_bug_of(Value.set, "a third write to a value does nothing", Cell.VALUE)
def third_write_lost(cell: Value, value: Json) -> None:
    counter = f"{cell._name}\0writes"
    cell._cells[counter] = cell._cells.get(counter, 0) + 1
    if cell._cells[counter] != 3:
        Value.set(cell, value)

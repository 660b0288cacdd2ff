"""Bugs that show only beyond a number, a length or a distance."""

from __future__ import annotations

from typing import Any

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug, bug_of, cell_bug
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


@cell_bug("a bag keeps its last three elements", Cell.BAG)
class BagKeepsThree(Bag):
    def add(self, value: Json) -> None:
        self.set([*self._all(), value][-3:])


@cell_bug("a map keeps two entries", Cell.MAP)
class MapKeepsTwo(Map):
    def put(self, key: str, value: Json) -> None:
        self.set(dict(list((self._all() | {key: value}).items())[-2:]))


@cell_bug("a set keeps two elements", Cell.SET)
class SetKeepsTwo(Set):
    def add(self, value: str) -> None:
        super().add(value)
        self.set(self._all()[-2:])


@cell_bug("a sum does not rise above 4", Cell.COMBINING)
class SumsSaturate(Combining):
    def add(self, value: int) -> None:
        self.set(min(4, self.get() + value) if self.get() <= 4 else self.get())


@cell_bug("a text or list as long as the one before is not written", Cell.VALUE)
class WritesOfEqualLengthSkipped(Value):
    def set(self, value: Json) -> None:
        old = self._cells.get(self._name)
        if not (isinstance(old, str | list) and type(old) is type(value) and len(old) == len(value)):
            super().set(value)


@cell_bug("a third write to a value does nothing", Cell.VALUE)
class ThirdWriteLost(Value):
    def set(self, value: Json) -> None:
        counter = f"{self._name}\0writes"
        self._cells[counter] = self._cells.get(counter, 0) + 1
        if self._cells[counter] != 3:
            super().set(value)

"""Mutants: the reference engine with one seeded bug each. They show that the guarantees can be broken, and are noticed.

Each bug is one that a real engine could have. ``mutant:NAME`` is an engine id like any other, and so is
``mutant:NAME+NAME``, which has two bugs at once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import groupby, pairwise
from typing import Any
from unicodedata import normalize
from zlib import crc32

from conformance.engine import Family
from conformance.model import Advance, Deliver, Event, Json, Partitions, Step, StepCount, Wait, canonical
from conformance.program import Cell, FixedWindows, Output
from conformance.registry import UnknownName
from engines.reference import (
    CELLS,
    EXPIRING,
    Bag,
    CaseRun,
    Checkpoint,
    Combining,
    ExpiringBag,
    ExpiringMap,
    ExpiringValue,
    Map,
    Reference,
    Scope,
    Set,
    TimerId,
    Value,
)

MUTANTS: dict[str, tuple[str, type[CaseRun]]] = {}
"""Name -> (the bug in words, the reference with it)."""


UNDO_EACH_OTHER = (
    {"failed-attempt-kept", "failed-bundle-skipped"},
    {"output-of-a-failed-attempt-kept", "retry-loses-its-output"},
)
"""Mutants that together do what the reference does: here, each bundle counts once, by its first attempt."""


def mutant(name: str) -> Reference:
    """The engine ``mutant:name``, or ``mutant:one+two`` with the bugs of both.

    Raises:
        UnknownName: no such mutant, or two that cannot be one.
    """
    names = name.split("+")
    if len(names) > 2 or not set(names) <= MUTANTS.keys():
        raise UnknownName(f"unknown mutant {name!r}; there are: {', '.join(sorted(MUTANTS))}")
    engine = Reference()
    engine.id = f"mutant:{name}"
    engine.title = "reference, but " + ", and ".join(MUTANTS[part][0] for part in names)
    engine.case_run = pair(*names) if len(names) == 2 else MUTANTS[name][1]
    return engine


def pair(one: str, two: str) -> type[CaseRun]:
    """The reference with the bugs of two mutants.

    Raises:
        UnknownName: one bug would hide or undo the other.
    """
    if {one, two} in UNDO_EACH_OTHER:
        raise UnknownName(f"no mutant {one}+{two}: they undo each other")
    first, second = MUTANTS[one][1], MUTANTS[two][1]
    if shared := _changed(first) & _changed(second):
        raise UnknownName(f"no mutant {one}+{two}: both change {min(shared)}")
    return type(f"{first.__name__}And{second.__name__}", (first, second), {})


def _changed(bugged: type[CaseRun]) -> set[str]:
    """The methods of the reference that a mutant has its own of."""
    own = {name for base in bugged.__mro__ if base not in CaseRun.__mro__ for name in vars(base)}
    return {name for name in own if hasattr(CaseRun, name) and not name.startswith("__")}


def _bug(name: str, description: str) -> Callable[[type[CaseRun]], type[CaseRun]]:
    def register(bugged: type[CaseRun]) -> type[CaseRun]:
        MUTANTS[name] = (description, bugged)
        return bugged

    return register


def _cell_bug(name: str, description: str, kind: Cell) -> Callable[[type[Value]], type[Value]]:
    """A mutant whose cells of this kind are bugged."""

    def register(bugged: type[Value]) -> type[Value]:
        class Bugged(CaseRun):
            def cell(self, asked: Cell, stored: dict[str, Json], name: str) -> Any:
                mine = asked is kind and name not in self.program.ttl
                return bugged(stored, name) if mine else super().cell(asked, stored, name)

        Bugged.__name__ = bugged.__name__
        _bug(name, description)(Bugged)
        return bugged

    return register


def _watermark_after(run: CaseRun, watermark: int) -> int:
    return next((a.watermark for a in run.case.schedule.advances if a.watermark > watermark), watermark)


def _watermark_before(run: CaseRun, watermark: int) -> int:
    return max((a.watermark for a in run.case.schedule.advances if a.watermark < watermark), default=0)


def _bundle(run: CaseRun) -> Deliver | None:
    """The bundle of the step at hand."""
    return next((bundle for bundle in run.case.schedule.bundles if bundle.id == run.step), None)


# Lateness


@_bug("late-at-the-watermark", "the late filter drops what is exactly at the watermark")
class LateAtTheWatermark(CaseRun):
    def refuses(self, event: Event) -> bool:
        return super().refuses(event) or event.event_time == self.watermark


@_bug("never-late", "nothing is ever dropped as late")
class NeverLate(CaseRun):
    def refuses(self, event: Event) -> bool:
        return False


@_bug("late-by-row-in-windows", "fixed windows drop by the element's time, not by the window's end")
class LateByRowInWindows(CaseRun):
    def refuses(self, event: Event) -> bool:
        return event.event_time < self.watermark


@_bug("allowed-lateness-ignored", "windows expire at their end, whatever the allowed lateness")
class AllowedLatenessIgnored(CaseRun):
    def refuses(self, event: Event) -> bool:
        windowing = self.program.windowing
        if isinstance(windowing, FixedWindows):
            return windowing.start(event.event_time) + windowing.size <= self.watermark
        return super().refuses(event)


@_bug("late-filter-one-step-early", "the late filter uses the watermark of the next advance")
class LateFilterOneStepEarly(CaseRun):
    def refuses(self, event: Event) -> bool:
        return self.lateness.refuses(event.event_time, _watermark_after(self, self.watermark), self.program)


@_bug("late-filter-one-step-late", "the late filter uses the watermark before the last advance")
class LateFilterOneStepLate(CaseRun):
    def refuses(self, event: Event) -> bool:
        return self.lateness.refuses(event.event_time, _watermark_before(self, self.watermark), self.program)


@_bug("late-filter-off-by-one", "the late filter drops what is one millisecond after the watermark")
class LateFilterOffByOne(CaseRun):
    def refuses(self, event: Event) -> bool:
        return super().refuses(event) or event.event_time == self.watermark + 1


@_bug("late-filter-misses-a-coalesced-advance", "an advance that does not settle at once never reaches the late filter")
class LateFilterMissesACoalescedAdvance(CaseRun):
    def deliver(self, step: Deliver) -> None:
        before = self.settled
        super().deliver(step)
        self.settled = before


@_bug("watermark-one-step-early", "the late filter and timers see the watermark of the next advance")
class WatermarkOneStepEarly(CaseRun):
    def advance(self, step: Advance) -> None:
        super().advance(replace(step, watermark=_watermark_after(self, step.watermark)))


@_bug("watermark-one-step-late", "the late filter and timers see the watermark before the last advance")
class WatermarkOneStepLate(CaseRun):
    def advance(self, step: Advance) -> None:
        super().advance(replace(step, watermark=_watermark_before(self, step.watermark)))


@_bug("drops-not-counted", "dropped elements are not counted")
class DropsNotCounted(CaseRun):
    def count(self, step: Deliver, delivered: int, received: int) -> StepCount:
        return StepCount(step.id, delivered, received, 0)


@_bug("drops-counted-twice", "dropped elements are counted twice")
class DropsCountedTwice(CaseRun):
    def count(self, step: Deliver, delivered: int, received: int) -> StepCount:
        return StepCount(step.id, delivered, received, 2 * (delivered - received))


@_bug("windows-never-expire", "an element of an expired window is still processed, and opens it again")
class WindowsNeverExpire(CaseRun):
    def refuses(self, event: Event) -> bool:
        return not isinstance(self.program.windowing, FixedWindows) and super().refuses(event)


# State


@_bug("state-shared-across-keys", "all keys share one state")
class StateSharedAcrossKeys(CaseRun):
    def cells(self, scope: Scope) -> Any:
        return super().cells(("", scope[1]))


@_bug("state-shared-across-windows", "all windows of a key share one state")
class StateSharedAcrossWindows(CaseRun):
    def scope(self, event: Event) -> Scope:
        return event.key, 0


def _key_bug(name: str, description: str, change: Callable[[str], str]) -> None:
    """A mutant that keeps state by a changed key."""

    class Changed(CaseRun):
        def cells(self, scope: Scope) -> Any:
            return super().cells((change(scope[0]), scope[1]))

    Changed.__name__ = "".join(word.capitalize() for word in name.split("-"))
    _bug(name, description)(Changed)


def _as_number(key: str) -> str:
    try:
        return str(float(key))
    except ValueError:
        return key


_key_bug("keys-as-numbers", "keys that are the same number share one state", _as_number)
_key_bug("keys-trimmed", "keys that differ in blanks around them share one state", str.strip)
_key_bug("keys-case-folded", "keys that differ in upper and lower case share one state", str.casefold)
_key_bug(
    "keys-normalised", "keys that are one text in Unicode's normal form share one state", partial(normalize, "NFC")
)
_key_bug("keys-cut-off", "keys with the same 4,096 characters at the start share one state", lambda key: key[:4_096])
_key_bug("keys-end-at-nul", "keys that are the same up to a NUL share one state", lambda key: key.partition("\0")[0])
_key_bug("keys-split", "keys that are the same up to a slash share one state", lambda key: key.partition("/")[0])


@_bug("empty-key-lost", "elements of the empty key are dropped")
class EmptyKeyLost(CaseRun):
    def refuses(self, event: Event) -> bool:
        return super().refuses(event) or not event.key


@_bug("keys-come-back-normalised", "output comes out under the key in Unicode's normal form, without blanks around it")
class KeysComeBackNormalised(CaseRun):
    def emit(self, key: str, outputs: list[Output]) -> None:
        super().emit(normalize("NFC", key).strip(), outputs)


@_bug("timers-see-another-key", "a timer's callback finds the state of the first key that has any")
class TimersSeeAnotherKey(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        first = next(iter(self.state), timer[:2])
        mine = self.state.get(timer[:2], {})
        self.state[timer[:2]] = copy.deepcopy(self.state.get(first, {}))
        super().fire(timer, time)
        self.state[timer[:2]] = mine


@_bug("window-boundary-off-by-one", "an element at the start of a window counts for the window before")
class WindowBoundaryOffByOne(CaseRun):
    def scope(self, event: Event) -> Scope:
        return super().scope(replace(event, event_time=max(event.event_time - 1, 0)))


@_bug("state-lost-after-a-bundle", "state is lost between bundles")
class StateLostAfterABundle(CaseRun):
    def deliver(self, step: Deliver) -> None:
        super().deliver(step)
        self.state.clear()


@_bug("state-lost-on-advance", "state is lost when the watermark moves")
class StateLostOnAdvance(CaseRun):
    def advance(self, step: Advance) -> None:
        self.state.clear()
        super().advance(step)


@_bug("stale-reads-in-a-bundle", "every element of a bundle reads the state from before the bundle")
class StaleReadsInABundle(CaseRun):
    def attempt(self, bundle: Deliver) -> int:
        self._before = copy.deepcopy(self.state)
        return super().attempt(bundle)

    def process(self, event: Event) -> None:
        scope = self.scope(event)
        self.state[scope] = copy.deepcopy(self._before.get(scope, {}))
        super().process(event)


@_cell_bug("clear-does-nothing", "clearing a value leaves it", Cell.VALUE)
class KeptValue(Value):
    def clear(self) -> None:
        pass


@_cell_bug("default-ignored", "an empty value is read as null, whatever the default", Cell.VALUE)
class NullForNothing(Value):
    def get(self, default: Json = None) -> Json:
        return super().get()


@_cell_bug("null-is-nothing", "a null that was written is read as nothing written", Cell.VALUE)
class NullIsNothing(Value):
    def get(self, default: Json = None) -> Json:
        found = super().get(default)
        return default if found is None else found


@_cell_bug("empty-values-are-nothing", "an empty value that was written is read as nothing written", Cell.VALUE)
class EmptyIsNothing(Value):
    def get(self, default: Json = None) -> Json:
        return super().get(default) or default


@_cell_bug("numbers-become-floats", "a number is stored as a double, and true as 1.0", Cell.VALUE)
class FloatValue(Value):
    def set(self, value: Json) -> None:
        super().set(float(value) if isinstance(value, int) else value)


@_cell_bug(
    "texts-are-normalised", "a text is stored without what cannot be seen, and in one form of Unicode", Cell.VALUE
)
class NormalisedValue(Value):
    def set(self, value: Json) -> None:
        super().set(normalize("NFC", value).strip("\0") if isinstance(value, str) else value)


@_cell_bug("reads-give-the-stored-object", "what is changed after it was read is changed in the state", Cell.VALUE)
class SharedOnRead(Value):
    def get(self, default: Json = None) -> Json:
        return self._cells.get(self._name, default)


@_cell_bug("writes-keep-the-object", "what is changed after it was written is changed in the state", Cell.VALUE)
class SharedOnWrite(Value):
    def set(self, value: Json) -> None:
        self._cells[self._name] = value


@_cell_bug(
    "writes-of-a-read-object-skipped", "a write of what was read from the cell is taken for no change", Cell.VALUE
)
class SkippedWrite(Value):
    _read: Json = None

    def get(self, default: Json = None) -> Json:
        self._read = super().get(default)
        return self._read

    def set(self, value: Json) -> None:
        if value is not self._read or not isinstance(value, list | dict):
            super().set(value)


@_bug("clearing-one-cell-clears-all", "clearing a cell clears all cells of its key")
class ClearingOneClearsAll(CaseRun):
    def cell(self, kind: Cell, stored: dict[str, Json], name: str) -> Any:
        found = super().cell(kind, stored, name)
        found.clear = stored.clear
        return found


@_cell_bug("clear-of-a-sum-does-nothing", "clearing a combining cell leaves its sum", Cell.COMBINING)
class KeptSum(Combining):
    def clear(self) -> None:
        pass


@_cell_bug("negative-inputs-ignored", "a combining cell leaves out inputs below 0", Cell.COMBINING)
class NoNegativeInput(Combining):
    def add(self, value: int) -> None:
        super().add(max(value, 0))


@_cell_bug("combining-keeps-the-largest", "a combining cell keeps its largest input instead of the sum", Cell.COMBINING)
class LargestInput(Combining):
    def add(self, value: int) -> None:
        self.set(max(self.get(), value))


@_cell_bug("combining-adds-twice", "a combining cell adds every input twice", Cell.COMBINING)
class DoubledInput(Combining):
    def add(self, value: int) -> None:
        super().add(2 * value)


@_bug("last-write-of-a-bundle-lost", "the last element of a bundle leaves no trace in the state")
class LastWriteOfABundleLost(CaseRun):
    def process(self, event: Event) -> None:
        before = copy.deepcopy(self.state)
        super().process(event)
        bundle = _bundle(self)
        if bundle and event is bundle.events[-1]:
            self.state = before


# Collections


@_cell_bug("bag-read-in-reverse", "a bag is read in reverse", Cell.BAG)
class ReversedBag(Bag):
    def get(self, default: Json = None) -> Json:
        return self._all()[::-1]


@_cell_bug("bag-read-sorted", "a bag is read in the order of its elements' values", Cell.BAG)
class SortedBag(Bag):
    def get(self, default: Json = None) -> Json:
        return sorted(self._all(), key=canonical)


@_cell_bug("bag-append-overwrites", "an append to a bag replaces what was in it", Cell.BAG)
class OverwrittenBag(Bag):
    def add(self, value: Json) -> None:
        self.set([value])


@_cell_bug("bag-appends-twice", "an append to a bag adds its element twice", Cell.BAG)
class DoubledBag(Bag):
    def add(self, value: Json) -> None:
        super().add(value)
        super().add(value)


@_cell_bug("bag-drops-equal-elements", "a bag keeps one of several equal elements", Cell.BAG)
class DistinctBag(Bag):
    def add(self, value: Json) -> None:
        if value not in self._all():
            super().add(value)


@_cell_bug("clear-of-a-bag-does-nothing", "clearing a bag leaves its elements", Cell.BAG)
class KeptBag(Bag):
    def clear(self) -> None:
        pass


@_cell_bug(
    "clear-of-a-bag-comes-last", "what is put into a bag in the call that clears it is cleared as well", Cell.BAG
)
class BagClearedLast(Bag):
    _cleared = False

    def clear(self) -> None:
        self._cleared = True
        super().clear()

    def add(self, value: Json) -> None:
        if not self._cleared:
            super().add(value)


@_cell_bug("map-put-keeps-the-first", "a put to an entry that is there changes nothing", Cell.MAP)
class FirstPutMap(Map):
    def put(self, key: str, value: Json) -> None:
        if key not in self._all():
            super().put(key, value)


@_cell_bug("map-put-replaces-all", "a put drops all other entries", Cell.MAP)
class OneEntryMap(Map):
    def put(self, key: str, value: Json) -> None:
        self.set({key: value})


@_cell_bug("map-remove-does-nothing", "removing an entry leaves it", Cell.MAP)
class KeptEntryMap(Map):
    def remove(self, key: str) -> None:
        pass


@_cell_bug("map-remove-leaves-a-null", "a removed entry is still listed, without a value", Cell.MAP)
class NullEntryMap(Map):
    def remove(self, key: str) -> None:
        self.put(key, None)


@_cell_bug("map-remove-clears", "removing an entry removes all of them", Cell.MAP)
class ClearedMap(Map):
    def remove(self, key: str) -> None:
        self.clear()


@_cell_bug("map-put-adds-an-entry", "a put to an entry that is there adds another one of its name", Cell.MAP)
class DoubledEntryMap(Map):
    def put(self, key: str, value: Json) -> None:
        had = key in self._all()
        super().put(key, value)
        if had:
            self._doubled().append([key, value])

    def _doubled(self) -> list[Json]:
        found: list[Json] = self._cells.setdefault(f"{self._name} doubled", [])
        return found

    def items(self) -> list[tuple[str, Json]]:
        return [*super().items(), *((key, value) for key, value in self._doubled())]


@_cell_bug(
    "map-keeps-what-was-put-again", "an entry that was removed and put again is given with its old value, too", Cell.MAP
)
class RevivedEntryMap(Map):
    def remove(self, key: str) -> None:
        removed = [[k, v] for k, v in self._all().items() if k == key]
        self._cells[f"{self._name} removed"] = [*self._removed(), *removed]
        super().remove(key)

    def _removed(self) -> list[Json]:
        found: list[Json] = self._cells.get(f"{self._name} removed", [])
        return found

    def items(self) -> list[tuple[str, Json]]:
        there = self._all()
        return [*super().items(), *((key, value) for key, value in self._removed() if key in there)]


@_cell_bug("map-iterated-in-another-order-each-time", "going through a map turns its order round each time", Cell.MAP)
class TurningMap(Map):
    _turn = 1

    def items(self) -> list[tuple[str, Json]]:
        self._turn = -self._turn
        return super().items()[:: self._turn]


@_cell_bug(
    "map-names-normalised", "entries whose names are the same without blanks, case and number formats are one", Cell.MAP
)
class NormalisedMap(Map):
    def put(self, key: str, value: Json) -> None:
        same = [other for other in self._all() if _plain(other) == _plain(key)]
        super().put(same[0] if same else key, value)


@_cell_bug(
    "set-elements-normalised", "elements that are the same without blanks, case and number formats are one", Cell.SET
)
class NormalisedSet(Set):
    def add(self, value: str) -> None:
        if not any(_plain(other) == _plain(value) for other in self._all()):
            super().add(value)


def _plain(text: str) -> str:
    return _as_number(normalize("NFC", text).strip().casefold())


@_cell_bug("clear-of-a-map-does-nothing", "clearing a map leaves its entries", Cell.MAP)
class KeptMap(Map):
    def clear(self) -> None:
        pass


@_cell_bug("set-holds-duplicates", "adding an element that is there adds another one", Cell.SET)
class DuplicatesSet(Set):
    def add(self, value: str) -> None:
        self.set([*self._all(), value])


@_cell_bug("set-add-toggles", "adding an element that is there removes it", Cell.SET)
class TogglingSet(Set):
    def add(self, value: str) -> None:
        if value in self._all():
            self.set([element for element in self._all() if element != value])
        else:
            super().add(value)


@_cell_bug("clear-of-a-set-does-nothing", "clearing a set leaves its elements", Cell.SET)
class KeptSet(Set):
    def clear(self) -> None:
        pass


# Time to live


def _ttl_bug(name: str, description: str, kind: Cell) -> Callable[[type[ExpiringValue]], type[ExpiringValue]]:
    """A mutant whose cells of this kind are bugged where they have a TTL."""

    def register(bugged: type[ExpiringValue]) -> type[ExpiringValue]:
        class Bugged(CaseRun):
            def cell(self, asked: Cell, stored: dict[str, Json], name: str) -> Any:
                if asked is kind and name in self.program.ttl:
                    return bugged(stored, name, self.now, self.program.ttl[name])
                return super().cell(asked, stored, name)

        Bugged.__name__ = bugged.__name__
        _bug(name, description)(Bugged)
        return bugged

    return register


@_bug("ttl-ignored", "what has a TTL is kept for ever")
class TtlIgnored(CaseRun):
    def cell(self, kind: Cell, stored: dict[str, Json], name: str) -> Any:
        return CELLS[kind](stored, name)


@_bug("ttl-halved", "what has a TTL is gone after half of it")
class TtlHalved(CaseRun):
    def cell(self, kind: Cell, stored: dict[str, Json], name: str) -> Any:
        if name in self.program.ttl:
            return EXPIRING[kind](stored, name, self.now, self.program.ttl[name] // 2)
        return super().cell(kind, stored, name)


@_bug("expiry-is-told", "a key whose value has expired puts something out")
class ExpiryIsTold(CaseRun):
    def wait(self, step: Wait) -> None:
        before, after = self.now, self.now + step.ms
        super().wait(step)
        values = [(name, ttl) for name, ttl in self.program.ttl.items() if self.program.cells[name] is Cell.VALUE]
        for (key, _), stored in self.state.items():
            for name, ttl in values:
                if name in stored and before < stored[name]["at"] + ttl <= after:
                    self.emit(key, [Output({"did": "read", "of": "", "read": None})])


@_ttl_bug("ttl-of-a-value-reset-by-reads", "a read of a value begins its TTL anew", Cell.VALUE)
class ReadValue(ExpiringValue):
    def get(self, default: Json = None) -> Json:
        found = super().get()
        if found is not None:
            self.set(found)
        return default if found is None else found


@_ttl_bug("ttl-of-a-value-from-its-first-write", "a write to a value leaves its TTL", Cell.VALUE)
class FirstWrittenValue(ExpiringValue):
    def set(self, value: Json) -> None:
        before = Value.get(self)
        super().set(value)
        if before and self.alive(before["at"]):
            Value.set(self, {"value": value, "at": before["at"]})


@_ttl_bug("expired-value-stays-so", "a value that has expired cannot be written again", Cell.VALUE)
class ForeverExpiredValue(ExpiringValue):
    def set(self, value: Json) -> None:
        before = Value.get(self)
        if not before or self.alive(before["at"]):
            super().set(value)


@_ttl_bug("ttl-of-a-list-as-a-whole", "an append begins the TTL of the whole list anew", Cell.BAG)
class WholeBag(ExpiringBag):
    def add(self, value: Json) -> None:
        self.set([*self.get(), value])


@_ttl_bug("ttl-of-a-list-not-reset-by-a-put", "a put leaves the TTL of the elements that were there", Cell.BAG)
class PutBag(ExpiringBag):
    def set(self, value: Json) -> None:
        before = {canonical(stored["value"]): stored["at"] for stored in self._all()}
        Value.set(self, [{"value": v, "at": before.get(canonical(v), self._now)} for v in value])


@_ttl_bug("ttl-of-a-map-as-a-whole", "a put begins the TTL of all entries anew", Cell.MAP)
class WholeMap(ExpiringMap):
    def put(self, key: str, value: Json) -> None:
        for name, found in [*self.items(), (key, value)]:
            super().put(name, found)


@_ttl_bug("ttl-of-an-entry-from-its-first-put", "a put to an entry that is there leaves its TTL", Cell.MAP)
class FirstPutEntry(ExpiringMap):
    def put(self, key: str, value: Json) -> None:
        before = self._all().get(key)
        super().put(key, value)
        if before and self.alive(before["at"]):
            Value.set(self, self._all() | {key: {"value": value, "at": before["at"]}})


@_ttl_bug("ttl-of-a-map-reset-by-reads", "a read of a map begins the TTL of all entries anew", Cell.MAP)
class ReadMap(ExpiringMap):
    def items(self) -> list[tuple[str, Json]]:
        found = super().items()
        for key, value in found:
            self.put(key, value)
        return found


# Initial state


@_bug("initial-state-ignored", "a job starts empty, whatever it is given to start with")
class InitialStateIgnored(CaseRun):
    def start(self, events: Iterable[Event]) -> None:
        pass


@_bug("initial-state-as-elements", "what a job starts with is processed as if it were elements")
class InitialStateAsElements(CaseRun):
    def start(self, events: Iterable[Event]) -> None:
        events = list(events)
        super().start(events)
        for event in events:
            self.process(event)


@_bug("initial-state-again-on-restart", "a restart applies the initial state once more")
class InitialStateAgainOnRestart(CaseRun):
    def restart(self) -> None:
        super().restart()
        self.start(self.case.schedule.initial)


@_bug("initial-state-with-the-first-bundles-alone", "an advance forgets initial state that no element has come for")
class InitialStateWithTheFirstBundlesAlone(CaseRun):
    def start(self, events: Iterable[Event]) -> None:
        super().start(events)
        self._waiting = dict(self.state)

    def process(self, event: Event) -> None:
        self.waiting.pop(self.scope(event), None)
        super().process(event)

    def advance(self, step: Advance) -> None:
        if self.counts:  # not before the first bundle
            for scope in self.waiting:
                self.state.pop(scope, None)
        super().advance(step)

    @property
    def waiting(self) -> dict[Scope, dict[str, Json]]:
        return getattr(self, "_waiting", {})


@_bug("initial-state-for-every-key", "every key starts with the first key's initial state, if it has none of its own")
class InitialStateForEveryKey(CaseRun):
    def start(self, events: Iterable[Event]) -> None:
        events = list(events)
        super().start(events)
        given = {event.key for event in events}
        for key in {arrival.event.key for arrival in self.case.schedule.arrivals} - given:
            for event in events[:1]:
                super().start([replace(event, key=key)])


# Reading state from outside


@_bug("reader-behind", "a reader of state is shown what was stored before the last bundle")
class ReaderBehind(CaseRun):
    def deliver(self, step: Deliver) -> None:
        self._before = copy.deepcopy(self.state)
        super().deliver(step)

    def stored(self) -> dict[Scope, dict[str, Json]]:
        return getattr(self, "_before", {})


def _read_as(name: str, description: str, kind: Cell, shown: Callable[[Any], Any]) -> None:
    """A mutant that shows a reader of state something else for the cells of a kind."""

    class Shown(CaseRun):
        def stored(self) -> dict[Scope, dict[str, Json]]:
            cells = self.program.cells
            return {
                scope: {cell: shown(held) if cells[cell] is kind else held for cell, held in stored.items()}
                for scope, stored in super().stored().items()
            }

    _bug(name, description)(Shown)


_read_as("reader-reverses-bags", "a reader of state is shown bags backwards", Cell.BAG, lambda held: held[::-1])
_read_as(
    "reader-misses-entries",
    "a reader of state is shown one entry of a map",
    Cell.MAP,
    lambda held: dict([*held.items()][:1]),
)
_read_as("reader-sees-ones", "a reader of state is shown 1 for a value", Cell.VALUE, lambda held: 1)


@_bug("reader-sees-what-was-emptied", "a reader of state is shown an empty object for a cell that is empty")
class ReaderSeesWhatWasEmptied(CaseRun):
    def stored(self) -> dict[Scope, dict[str, Json]]:
        return {
            scope: {cell: stored.get(cell) or {"empty": True} for cell in self.program.cells}
            for scope, stored in super().stored().items()
        }


@_bug("reader-sees-each-cell-twice", "what a reader of state finds, it finds twice")
class ReaderSeesEachCellTwice(CaseRun):
    def inspect(self) -> None:
        super().inspect()
        super().inspect()


# Restarts


@_bug("state-lost-on-restart", "a restart begins with empty state")
class StateLostOnRestart(CaseRun):
    def restart(self) -> None:
        self.state.clear()


@_bug("timers-lost-on-restart", "a restart forgets the timers")
class TimersLostOnRestart(CaseRun):
    def restart(self) -> None:
        self.timers.clear()


@_bug("output-replayed-on-restart", "a restart puts out once more what the step before it did")
class OutputReplayedOnRestart(CaseRun):
    def restart(self) -> None:
        before = max((e.step for e in self.emissions), default=None)
        self.emissions += [e for e in self.emissions if e.step == before]


@_bug("checkpoint-one-bundle-old", "a restart resumes with the state from before the last bundle")
class CheckpointOneBundleOld(CaseRun):
    def deliver(self, step: Deliver) -> None:
        self._old = copy.deepcopy(self.state)
        super().deliver(step)

    def restart(self) -> None:
        self.state = self._old


@_bug("output-lost-on-restart", "a restart takes back what the step before it put out")
class OutputLostOnRestart(CaseRun):
    def restart(self) -> None:
        before = max((e.step for e in self.emissions), default=None)
        self.emissions = [e for e in self.emissions if e.step != before]


class _LastBundle(CaseRun):
    """Knows the bundle that it processed last."""

    last_bundle: Deliver | None = None

    def deliver(self, step: Deliver) -> None:
        super().deliver(step)
        self.last_bundle = step


@_bug("last-bundle-read-again-on-restart", "a restart processes the last bundle once more")
class LastBundleReadAgainOnRestart(_LastBundle):
    def restart(self) -> None:
        if self.last_bundle:
            self.deliver(self.last_bundle)


@_bug(
    "last-bundle-applied-again-on-restart", "a restart applies the last bundle to the state once more, without output"
)
class LastBundleAppliedAgainOnRestart(_LastBundle):
    def restart(self) -> None:
        kept = len(self.emissions)
        if self.last_bundle:
            self.attempt(self.last_bundle)
        del self.emissions[kept:]


@_bug("state-restored-twice", "a restart restores sums and bags on top of themselves")
class StateRestoredTwice(CaseRun):
    def restart(self) -> None:
        for cells in self.state.values():
            for name, kind in self.program.cells.items():
                if kind in (Cell.COMBINING, Cell.BAG) and name in cells:
                    cells[name] += cells[name]


@_bug("watermark-lost-on-restart", "a restart begins with no watermark")
class WatermarkLostOnRestart(CaseRun):
    def restart(self) -> None:
        self.watermark = self.settled = 0


@_bug("timers-fire-on-restart", "a restart fires every timer that is set")
class TimersFireOnRestart(CaseRun):
    def restart(self) -> None:
        for time, timer in sorted((time, timer) for timer, time in self.timers.items()):
            self.timers.pop(timer, None)
            self.fire(timer, time)


class _Firings(CaseRun):
    """Knows the timers that fired since the last advance."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.fired: dict[TimerId, int] = {}

    def advance(self, step: Advance) -> None:
        self.fired = {}
        super().advance(step)

    def fire(self, timer: TimerId, time: int) -> None:
        self.fired[timer] = time
        super().fire(timer, time)


@_bug("fired-timers-restored", "a restart sets the timers again that fired in the last advance")
class FiredTimersRestored(_Firings):
    def restart(self) -> None:
        self.timers = self.fired | self.timers
        self.fire_due()


# Failures


@_bug("failed-attempt-kept", "a failed attempt counts, and so does the next one")
class FailedAttemptKept(CaseRun):
    def go_back(self, before: Checkpoint) -> None:
        pass


@_bug("state-of-a-failed-attempt-kept", "the state that a failed attempt wrote is kept")
class StateOfAFailedAttemptKept(CaseRun):
    def go_back(self, before: Checkpoint) -> None:
        super().go_back(replace(before, state=self.state))


@_bug("first-write-of-a-failed-attempt-kept", "what the first element of a failed attempt wrote is kept")
class FirstWriteOfAFailedAttemptKept(CaseRun):
    def go_back(self, before: Checkpoint) -> None:
        super().go_back(before)
        kept = len(self.emissions)
        if bundle := _bundle(self):
            self.attempt(replace(bundle, events=bundle.events[:1]))
        del self.emissions[kept:]


@_bug("output-of-a-failed-attempt-kept", "what a failed attempt put out comes out, and again with the next one")
class OutputOfAFailedAttemptKept(CaseRun):
    def go_back(self, before: Checkpoint) -> None:
        super().go_back(replace(before, emissions=self.emissions))


class _Retries(CaseRun):
    """Knows the bundle that is tried again."""

    retried: int | None = None

    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        self.retried = bundle.id


@_bug("retry-loses-its-output", "what a bundle that is tried again puts out is lost")
class RetryLosesItsOutput(_Retries):
    def deliver(self, step: Deliver) -> None:
        before = list(self.emissions)
        super().deliver(step)
        if step.id == self.retried:
            self.emissions = before


@_bug("retry-loses-its-writes", "what a bundle that is tried again writes is lost")
class RetryLosesItsWrites(_Retries):
    def deliver(self, step: Deliver) -> None:
        before = copy.deepcopy(self.state)
        super().deliver(step)
        if step.id == self.retried:
            self.state = before


@_bug("failed-bundle-skipped", "a bundle whose first attempt failed is not tried again")
class FailedBundleSkipped(_Retries):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return () if self.step == self.retried else super().arrange(events)


@_bug("retry-in-reverse", "a bundle that is tried again is processed in reverse")
class RetryInReverse(_Retries):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return events[::-1] if self.step == self.retried else super().arrange(events)


@_bug("timers-lost-on-resume", "a job that resumes after a failure has no timers")
class TimersLostOnResume(CaseRun):
    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        if resume:
            self.timers.clear()


@_bug("last-bundle-read-again-on-resume", "a job that resumes after a failure processes the bundle before once more")
class LastBundleReadAgainOnResume(_LastBundle):
    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        if resume and self.last_bundle:
            self.attempt(self.last_bundle)


# Partitions


def _misplaced(run: CaseRun, key: str) -> bool:
    """Whether a key is one of the half that are looked for in another partition, in a job that has chosen their number."""
    return isinstance(run.case.schedule.steps[0], Partitions) and crc32(key.encode()) % 2 == 1


@_bug(
    "repartitioned-keys-lose-state",
    "with another number of partitions, half of the keys lose their state in every bundle",
)
class RepartitionedKeysLoseState(CaseRun):
    def deliver(self, step: Deliver) -> None:
        super().deliver(step)
        self.state = {scope: cells for scope, cells in self.state.items() if not _misplaced(self, scope[0])}


@_bug("repartitioned-keys-share-state", "with another number of partitions, half of the keys share one state")
class RepartitionedKeysShareState(CaseRun):
    def cells(self, scope: Scope) -> Any:
        return super().cells(("", scope[1]) if _misplaced(self, scope[0]) else scope)


@_bug(
    "repartitioned-timers-do-not-fire", "with another number of partitions, the timers of half of the keys do not fire"
)
class RepartitionedTimersDoNotFire(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        return [due for due in super().due() if not _misplaced(self, due[1][0])]


# Delivery and order


@_bug("bundle-reversed", "the elements of a bundle are processed in reverse")
class BundleReversed(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return tuple(reversed(events))


@_bug("bundle-sorted-by-time", "the elements of a bundle are processed in order of event time")
class BundleSortedByTime(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return sorted(events, key=lambda event: -event.event_time)


@_bug("bundles-swapped", "two bundles between the same advances are processed in the wrong order")
class BundlesSwapped(CaseRun):
    def run(self) -> None:
        swapped: list[Step] = []
        for bundles, group in groupby(self.case.schedule.steps, key=lambda step: isinstance(step, Deliver)):
            steps = list(group)
            swapped += steps[::-1] if bundles else steps
        self.run_steps(swapped)


@_bug("third-bundle-first", "the third bundle between two advances is processed before the others")
class ThirdBundleFirst(CaseRun):
    def run(self) -> None:
        moved: list[Step] = []
        for bundles, group in groupby(self.case.schedule.steps, key=lambda step: isinstance(step, Deliver)):
            steps = list(group)
            moved += [*steps[2:3], *steps[:2], *steps[3:]] if bundles else steps
        self.run_steps(moved)


@_bug("bundle-overtaken-by-the-watermark", "the last bundle before an advance is processed after it")
class BundleOvertakenByTheWatermark(CaseRun):
    def run(self) -> None:
        steps = list(self.case.schedule.steps)
        for place, (bundle, advance) in enumerate(pairwise(self.case.schedule.steps)):
            if isinstance(bundle, Deliver) and isinstance(advance, Advance) and not advance.coalesced:
                steps[place : place + 2] = [advance, bundle]
        self.run_steps(steps)


@_bug("last-of-a-bundle-dropped", "the last element of a bundle is dropped")
class LastOfABundleDropped(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return events[:-1]


@_bug("first-of-a-bundle-doubled", "the first element of a bundle is processed twice")
class FirstOfABundleDoubled(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return (*events[:1], *events)


@_bug("first-of-a-key-dropped", "the first element of every key is dropped")
class FirstOfAKeyDropped(CaseRun):
    def process(self, event: Event) -> None:
        if self.scope(event) in self.state:
            super().process(event)
        else:
            self.state[self.scope(event)] = {}


@_bug("equal-elements-collapse", "elements of a bundle with equal key, value and time count as one")
class EqualElementsCollapse(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return list({(e.key, canonical(e.value), e.event_time): e for e in reversed(events)}.values())[::-1]


@_bug("one-element-per-key-and-bundle", "only the last element of a key in a bundle is processed")
class OneElementPerKeyAndBundle(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return list({event.key: event for event in events}.values())


@_bug("out-of-order-dropped", "an element is dropped when a later one of its key came before it")
class OutOfOrderDropped(CaseRun):
    def refuses(self, event: Event) -> bool:
        self._highest = getattr(self, "_highest", {})
        highest = self._highest.get(event.key, 0)
        self._highest[event.key] = max(highest, event.event_time)
        return super().refuses(event) or event.event_time < highest


@_bug("times-truncated-to-the-minute", "event times lose their seconds on the way in")
class TimesTruncatedToTheMinute(CaseRun):
    def process(self, event: Event) -> None:
        super().process(replace(event, event_time=event.event_time // 60_000 * 60_000))


# Output


@_bug("last-output-of-a-bundle-lost", "the last element of a bundle gives no output")
class LastOutputOfABundleLost(CaseRun):
    def process(self, event: Event) -> None:
        kept = len(self.emissions)
        super().process(event)
        bundle = _bundle(self)
        if bundle and event is bundle.events[-1]:
            del self.emissions[kept:]


@_bug("output-twice", "every output comes out twice")
class OutputTwice(CaseRun):
    def emit(self, key: str, outputs: list[Output]) -> None:
        super().emit(key, [output for output in outputs for _ in range(2)])


@_bug("output-of-timers-lost", "what a timer's callback puts out is lost")
class OutputOfTimersLost(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        kept = len(self.emissions)
        super().fire(timer, time)
        del self.emissions[kept:]


@_bug("output-under-another-key", "output of a bundle comes out under the key of the bundle's first element")
class OutputUnderAnotherKey(CaseRun):
    def emit(self, key: str, outputs: list[Output]) -> None:
        bundle = _bundle(self)
        super().emit(bundle.events[0].key if bundle and bundle.events else key, outputs)


# Timers


@_bug("timers-never-fire", "timers never fire")
class TimersNeverFire(CaseRun):
    def fire_due(self) -> None:
        pass


@_bug("timers-one-step-late", "timers fire one advance too late")
class TimersOneStepLate(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        return [due for due in super().due() if due[0] <= _watermark_before(self, self.watermark)]


@_bug("timers-one-step-early", "timers fire one advance too early")
class TimersOneStepEarly(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        return sorted(
            (time, timer) for timer, time in self.timers.items() if time <= _watermark_after(self, self.watermark)
        )


@_bug("timers-strictly-after", "a timer at exactly the watermark does not fire yet")
class TimersStrictlyAfter(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        return [due for due in super().due() if due[0] < self.watermark]


@_bug("timers-wait-for-data", "a due timer fires when data of its key comes, and not before")
class TimersWaitForData(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        bundle = _bundle(self)
        keys = {event.key for event in bundle.events} if bundle else set()
        return [due for due in super().due() if due[1][0] in keys]


@_bug("timers-of-one-instant-collide", "a key has one timer for an instant: of several, the last one set")
class TimersOfOneInstantCollide(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        for other in [o for o, due in self.timers.items() if due == time and o[:2] == timer[:2]]:
            self.clear_timer(other)
        super().set_timer(timer, time)


@_bug("past-timers-fire-twice", "a timer that is set for a time that the watermark has passed fires at once, and again")
class PastTimersFireTwice(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time)
        if time < self.watermark and not timer[3].endswith("\0"):
            super().set_timer((*timer[:3], f"{timer[3]}\0"), time)

    def fire(self, timer: TimerId, time: int) -> None:
        super().fire((*timer[:3], timer[3].removesuffix("\0")), time)


@_bug(
    "past-timers-wait",
    "a timer that is set for a time that the watermark has passed waits for the advance after the next",
)
class PastTimersWait(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        upcoming = _watermark_after(self, _watermark_after(self, self.watermark))
        super().set_timer(timer, time if time >= self.watermark else upcoming)


@_bug("timers-at-the-watermark-lost", "a timer that is set for exactly the watermark does not fire")
class TimersAtTheWatermarkLost(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if time != self.watermark:
            super().set_timer(timer, time)


@_bug("clearing-a-timer-ignores-tags", "clearing a timer clears those of its name that have other tags")
class ClearingATimerIgnoresTags(CaseRun):
    def clear_timer(self, timer: TimerId) -> None:
        for other in [other for other in self.timers if other[:3] == timer[:3]]:
            super().clear_timer(other)


@_bug("timers-fire-between-elements", "due timers fire after each element, not after the bundle")
class TimersFireBetweenElements(CaseRun):
    def process(self, event: Event) -> None:
        super().process(event)
        self.fire_due()


@_bug("timers-fire-twice", "a timer fires twice, with the state from before its first firing")
class TimersFireTwice(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        before = copy.deepcopy(self.state)
        super().fire(timer, time)
        after, self.state = self.state, before
        super().fire(timer, time)
        self.state = after


@_bug("one-timer-per-advance", "an advance fires the earliest due timer and loses the others")
class OneTimerPerAdvance(CaseRun):
    def fire_due(self) -> None:
        if due := self.due():
            for _, timer in due:
                del self.timers[timer]
            self.fire(due[0][1], due[0][0])


@_bug("timers-shared-across-keys", "a timer of one key moves the timer of that name of another")
class TimersSharedAcrossKeys(CaseRun):
    def process(self, event: Event) -> None:
        before = set(self.timers)
        super().process(event)
        for new in set(self.timers) - before:
            for old in before:
                if old[2:] == new[2:]:
                    self.timers.pop(old, None)


@_bug("timer-state-empty", "a timer's callback finds its key's state empty")
class TimerStateEmpty(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        self.state.pop(timer[:2], None)
        super().fire(timer, time)


@_bug("timers-in-the-order-set", "due timers fire in the order in which they were set")
class TimersInTheOrderSet(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        due = {timer for _, timer in super().due()}
        return [(time, timer) for timer, time in self.timers.items() if timer in due]


@_bug("timers-in-reverse", "due timers fire latest first")
class TimersInReverse(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        return super().due()[::-1]


@_bug("cleared-timers-fire", "clearing a timer does nothing")
class ClearedTimersFire(CaseRun):
    def clear_timer(self, timer: TimerId) -> None:
        pass


@_bug("timers-cleared-by-timers-fire", "clearing a timer in a timer's callback does nothing")
class TimersClearedByTimersFire(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        before = dict(self.timers)
        super().fire(timer, time)
        self.timers = before | self.timers


@_bug("due-timers-fire-though-cleared", "a due timer fires although the callback of one before has cleared it")
class DueTimersFireThoughCleared(CaseRun):
    def fire_due(self) -> None:
        while due := self.due():
            for _, timer in due:
                del self.timers[timer]
            for time, timer in due:
                self.fire(timer, time)


@_bug("timers-lost-on-advance", "an advance forgets the timers that it does not fire")
class TimersLostOnAdvance(CaseRun):
    def advance(self, step: Advance) -> None:
        super().advance(step)
        self.timers.clear()


@_bug("timers-never-forgotten", "a timer that has fired fires again in every advance")
class TimersNeverForgotten(_Firings):
    def advance(self, step: Advance) -> None:
        self.timers = self.fired | self.timers
        super().advance(step)


class _Copies(CaseRun):
    """May keep a copy of a timer that fires by itself, whatever becomes of the timer."""

    def keep(self, timer: TimerId, time: int) -> None:
        key, window, name, tag = timer
        self.timers[key, window, name, f"{tag}\0{time}"] = time

    def fire(self, timer: TimerId, time: int) -> None:
        key, window, name, tag = timer
        super().fire((key, window, name, tag.partition("\0")[0]), time)


@_bug("moved-timers-fire-at-every-time", "a timer that is moved also fires at its old time")
class MovedTimersFireAtEveryTime(_Copies):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if timer in self.timers:
            self.keep(timer, self.timers[timer])
        super().set_timer(timer, time)


@_bug("moved-timers-fire-twice", "a timer that is moved fires twice at its new time")
class MovedTimersFireTwice(_Copies):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if timer in self.timers:
            self.keep(timer, time)
        super().set_timer(timer, time)


@_bug("timers-of-a-failed-attempt-kept", "the timers that a failed attempt set fire too")
class TimersOfAFailedAttemptKept(_Copies):
    def go_back(self, before: Checkpoint) -> None:
        new = {timer: time for timer, time in self.timers.items() if before.timers.get(timer) != time}
        super().go_back(before)
        for timer, time in new.items():
            self.keep(timer, time)


@_bug("moving-a-timer-does-nothing", "a timer that is set keeps its time")
class MovingATimerDoesNothing(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, self.timers.get(timer, time))


@_bug("moving-a-timer-loses-it", "a timer that is moved does not fire at all")
class MovingATimerLosesIt(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if timer in self.timers:
            self.clear_timer(timer)
        else:
            super().set_timer(timer, time)


@_bug("timer-tags-ignored", "a timer moves those of its name that have other tags")
class TimerTagsIgnored(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        self.timers = {other: due for other, due in self.timers.items() if other[:3] != timer[:3]}
        super().set_timer(timer, time)


@_bug("past-timers-lost", "a timer that is set for a time that the watermark has passed does not fire")
class PastTimersLost(CaseRun):
    def set_timer(self, timer: TimerId, time: int) -> None:
        if time > self.watermark:
            super().set_timer(timer, time)


@_bug("timers-set-by-timers-lost", "a timer that is set in a timer's callback does not fire")
class TimersSetByTimersLost(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        before = set(self.timers)
        super().fire(timer, time)
        self.timers = {timer: time for timer, time in self.timers.items() if timer in before}


@_bug(
    "timers-set-by-timers-from-the-watermark",
    "a timer set in a timer's callback is put off by as much as that one was late",
)
class TimersSetByTimersFromTheWatermark(CaseRun):
    _late = 0

    def fire(self, timer: TimerId, time: int) -> None:
        self._late = self.watermark - time
        super().fire(timer, time)
        self._late = 0

    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time + self._late)


@_bug("timers-set-by-timers-wait", "a timer that is set in a timer's callback waits for the next step")
class TimersSetByTimersWait(CaseRun):
    def fire_due(self) -> None:
        for time, timer in self.due():
            if self.timers.get(timer) == time:
                del self.timers[timer]
                self.fire(timer, time)


@_bug("timers-of-one-key-per-step", "a step fires the due timers of one key, and leaves the others for the next")
class TimersOfOneKeyPerStep(CaseRun):
    def fire_due(self) -> None:
        due = self.due()
        while mine := [d for d in self.due() if d[1][0] == due[0][1][0]]:
            time, timer = mine[0]
            del self.timers[timer]
            self.fire(timer, time)


@_bug("timers-tell-the-watermark", "a timer's callback is told the watermark instead of the time it was set for")
class TimersTellTheWatermark(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        super().fire(timer, self.watermark)


@_bug("coalesced-advance-settles", "an advance that shall not settle yet fires its timers before the bundle")
class CoalescedAdvanceSettles(CaseRun):
    def advance(self, step: Advance) -> None:
        super().advance(replace(step, coalesced=False))


@_bug("timers-miss-a-coalesced-advance", "what an advance that does not settle makes due waits for the next advance")
class TimersMissACoalescedAdvance(CaseRun):
    def settle(self) -> None:
        self.settled = self.watermark
        if _bundle(self) is None:
            self.fire_due()


FAMILY = Family(mutant, {name: words for name, (words, _) in MUTANTS.items()}, alone=False)

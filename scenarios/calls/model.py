"""What calls on state and timers should give: a model of a key's cells and timers, and what the laws ask about each
read and firing.

The model does the calls of a key once more, in the order of the key's emissions. So it says nothing about an order that
no document promises. After a read that fails, the model goes on from what was read, so that one fault speaks once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from conformance.model.program import Cell
from conformance.model.scenario import Finding, Observation
from conformance.model.schedule import SLACK
from conformance.model.trace import Emission
from conformance.model.values import Json, canonical, digest
from conformance.scenarios.calls.language import SETTING, Call, parsed, spelled

NOTHING = "(nothing)"
"""What a read of an empty value, or of an entry that a map does not have, is emitted as."""

FEW = 100
"""More elements of a bag are emitted as their number and a digest."""

SCRIPTS = "scripts"
"""The cell that keeps the window and the calls of each timer's callback."""


READING = ("get", "items")
"""What reads a cell."""


def time_of(call: Call, now: int) -> int:
    """The time (ms) for which a call sets a timer."""
    ms: int = call[2]
    return now + ms if call[1] == "in" else (now // ms + 1) * ms


def slot(name: str, tag: str = "") -> str:
    """What a timer is called in emissions and in the cell of scripts."""
    return f"{name} {tag}"


@dataclass(frozen=True)
class Declared:
    """What a model needs to know of a program.

    Args:
        cells: cell -> kind.
        ttl: cell -> how long (ms of processing time) an entry lives.
        shown: an argument of a call -> what a read of it is emitted as; a list of them, element by element.
    """

    cells: Mapping[str, Cell]
    ttl: Mapping[str, int]
    shown: Callable[[Json], Json]


Entry = tuple[str, Json, int]
"""(the key of a map's entry or the element of a set, as text, the value, the processing time (ms) at which it was
written)."""


@dataclass(frozen=True)
class Written:
    """The content of a cell, and the calls that made it so.

    Attributes:
        callback: the number of the callback with the last write, -1 if there is none.
        calls: what was called in that callback, in order.
        history: (number of the callback, what was called, for which entry) of every write, in order. The entry is ""
            where the call is for the whole cell.
        others_since: whether another cell of the kind was written since.
    """

    entries: tuple[Entry, ...] = ()
    callback: int = -1
    calls: tuple[str, ...] = ()
    history: tuple[tuple[int, str, str], ...] = ()
    by_timer: bool = False
    others_since: bool = False

    @property
    def last(self) -> str:
        """The last call that wrote, "" for none."""
        return self.calls[-1] if self.calls else ""

    def callbacks(self, what: str) -> list[int]:
        """The numbers of the callbacks that made a call, in order."""
        return [number for number, called, _ in self.history if called == what]


@dataclass(frozen=True)
class Callback:
    """A callback: its key, its number among those of the key, the processing time (ms), its window and its event time
    (ms), whether it is a timer's, and its calls."""

    key: str
    number: int
    now: int
    window: int
    time: int
    by_timer: bool
    did: str


@dataclass(frozen=True)
class Read:
    """A call that answers: a read of a cell, or a call that was refused.

    Attributes:
        gave: what it gave, without the order in which it gave it.
        wanted: what it should give.
        listed: what it gave.
        empty: whether the cell should be empty.
        renewed: whether something that it should give is older than a wait.
        expired: whether something would be given, had it not expired.
        shared: whether another key of the case calls the cell, too.
        beside: whether another window of the key has written the cell by then, and timers of both have fired in one
            advance.
    """

    of: Callback
    cell: str
    kind: Cell
    call: Call
    gave: Json
    wanted: Json
    written: Written
    listed: Json = None
    empty: bool = False
    renewed: bool = False
    expired: bool = False
    shared: bool = False
    beside: bool = False

    @property
    def key(self) -> str:
        return self.of.key

    @property
    def callback(self) -> int:
        """The number of its callback."""
        return self.of.number

    @property
    def reads(self) -> bool:
        return self.call[1] in READING

    @property
    def script(self) -> bool:
        """Whether it is the callback of a timer that reads its calls."""
        return self.cell == SCRIPTS

    def right(self) -> Finding:
        if same(self.gave, self.wanted):
            return True
        before = f" after {', '.join(self.written.calls)}" if self.written.calls else ", never written"
        found, wanted = canonical(self.gave), canonical(self.wanted)
        return f"key {self.key}: {spelled([self.call])} gives {found:.80}, not {wanted:.80}{before}"


@dataclass(frozen=True)
class Firing:
    """A timer that fired, or that did not fire although it was due.

    Attributes:
        set_for: the time (ms) that it was last set to, None if it is not set.
        early: whether it fired before the watermark reached its time.
        nested: whether a timer's callback set it.
        rivals: whether the key has or had another timer.
        beside: whether a timer of another window of the key fired in the advance that makes it due.
    """

    key: str
    slot: str
    time: int
    set_for: int | None
    early: bool
    fired: bool
    nested: bool
    rivals: bool
    beside: bool = False

    @property
    def once(self) -> Finding:
        how = f"fired for {self.time}" if self.fired else "did not fire"
        told = f"key {self.key}: timer {self.slot!r} was last set to {self.set_for} and {how}"
        return (self.fired and self.time == self.set_for) or told


class Model:
    """The cells and timers of one key, or of one key and window."""

    def __init__(self, declared: Declared, shared: Collection[str] = ()) -> None:
        """``shared``: the cells that another key of the case calls, too."""
        self.declared, self._shared = declared, shared
        self.cells = {name: Written() for name in declared.cells}
        self.timers: dict[str, tuple[int, bool]] = {}  # slot -> (time in ms, whether a timer's callback set it)
        self.known: set[str] = set()  # the slots of all timers that were set

    def answered(self, callback: Callback, call: Call, gave: Json) -> Iterator[Read]:
        """Do a call that was answered so. Gives what the answer should have been, if anybody can say."""
        name, what, *arguments = call
        if what in SETTING:
            timer = slot(name, *arguments[1:2])
            self.timers[timer] = time_of(call, callback.time), callback.by_timer
            self.known.add(timer)
            for script in arguments[2:]:
                self._write(callback, SCRIPTS, "put", [timer, [callback.window, spelled(script)]])
        elif what == "say":
            pass
        elif what == "off":
            self.timers.pop(slot(name, *arguments), None)
        elif what in READING:
            yield from self._read(callback, call, gave)
        elif what == "twice":
            yield self._answer(callback, call, gave, True)
        else:
            yield self._answer(callback, call, gave, None)
            if not is_refusal(gave):
                self._write(callback, name, what, arguments)

    def _write(self, callback: Callback, name: str, what: str, arguments: list[Json]) -> None:
        cell, kind, now = self.cells[name], self.declared.cells[name], callback.now
        arguments = arguments[: -1 if what == "lend" else None]
        shown = arguments if name == SCRIPTS else [*map(self.declared.shown, arguments)]
        entries: Iterable[Entry]
        if what in ("clear", "drain"):
            entries = ()
        elif what == "set" or (what == "lend" and kind is Cell.VALUE):
            entries = (("", value, now) for value in (shown[0] if kind is Cell.BAG else shown))
        elif what in ("change", "extend"):
            entries = [("", [*_list_in(cell), shown[0]], now)] if what == "extend" else cell.entries
        elif kind is Cell.COMBINING:
            entries = [("", sum(value for _, value, _ in cell.entries) + shown[0], now)]
        elif kind is Cell.BAG:
            entries = (*cell.entries, ("", shown[0], now))
        else:
            key = canonical(shown[0])
            kept = (entry for entry in cell.entries if entry[0] != key)
            entries = kept if what == "remove" else (*kept, (key, shown[-1], now))
        calls = (*(cell.calls if cell.callback == callback.number else ()), what)
        entry = canonical(shown[0]) if kind in (Cell.MAP, Cell.SET) and shown else ""
        history = (*cell.history, (callback.number, what, entry))
        self.cells[name] = Written(tuple(entries), callback.number, calls, history, callback.by_timer)
        for other, written in self.cells.items():
            if other != name and self.declared.cells[other] is kind and not written.others_since:
                self.cells[other] = replace(written, others_since=True)

    def _answer(self, callback: Callback, call: Call, gave: Json, wanted: Json, **more: Any) -> Read:
        name, kind = call[0], self.declared.cells[call[0]]
        return Read(callback, name, kind, call, gave, wanted, self.cells[name], shared=name in self._shared, **more)

    def _read(self, callback: Callback, call: Call, gave: Json) -> Iterator[Read]:
        name, what = call[:2]
        kind, ttl, cell = self.declared.cells[name], self.declared.ttl.get(name, 0), self.cells[name]
        ages = [callback.now - written for _, _, written in cell.entries]
        if any(0 < ttl < age + SLACK and age < ttl for age in ages):
            return  # nobody can say what has expired
        entries = [entry for entry, age in zip(cell.entries, ages, strict=True) if not ttl or age < ttl]
        given, wanted = seen(gave, kind, what), self._wanted(call, entries)
        old = any(age > 0 and (not ttl or age < ttl) for age in ages)
        expired = len(entries) < len(ages)
        more = {"listed": gave, "empty": not entries, "renewed": old, "expired": expired}
        yield self._answer(callback, call, given, wanted, **more)
        if not same(given, wanted) and not is_refusal(gave):
            self._learn(call, gave, callback.now)

    def _wanted(self, call: Call, entries: list[Entry]) -> Json:
        """What a read of a cell with these entries should give, in the order of ``seen``."""
        name, what = call[:2]
        kind = self.declared.cells[name]
        if kind is Cell.MAP and what == "get":
            key = self._key(call)
            return next((value for other, value, _ in entries if other == key), NOTHING)
        if what == "items":
            return ordered([key, canonical(value)] for key, value, _ in entries)
        if kind is Cell.COMBINING:
            return sum(value for _, value, _ in entries)
        found = ordered(value for _, value, _ in entries)
        return folded(found) if kind is not Cell.VALUE else found[0] if found else NOTHING

    def _key(self, call: Call) -> str:
        """The key of a map that a read asks for. The cell of scripts has texts as keys in every program."""
        return canonical(call[2] if call[0] == SCRIPTS else self.declared.shown(call[2]))

    def _learn(self, call: Call, gave: Json, now: int) -> None:
        """Go on from what was read."""
        name, what = call[:2]
        cell, kind = self.cells[name], self.declared.cells[name]
        entries: Iterable[Entry] = cell.entries
        if kind is Cell.MAP and what == "get":
            key = self._key(call)
            kept = [entry for entry in cell.entries if entry[0] != key]
            entries = kept if gave == NOTHING else [*kept, (key, gave, now)]
        elif what == "items" and isinstance(gave, list):
            entries = ((canonical(pair[0]), pair[1], now) for pair in gave)
        elif isinstance(gave, list) and kind in (Cell.BAG, Cell.SET):
            entries = ((canonical(value) if kind is Cell.SET else "", value, now) for value in gave)
        elif kind in (Cell.VALUE, Cell.COMBINING):
            entries = [("", gave, now)] if gave != NOTHING else []
        self.cells[name] = replace(cell, entries=tuple(entries))


def _list_in(cell: Written) -> list[Json]:
    """The list that a value cell holds, an empty one if it holds none."""
    return next((value for _, value, _ in cell.entries if isinstance(value, list)), [])


PLAIN = (str, int, bool, type(None))
"""Types whose values are equal in JSON if they are in Python, and are of one type."""


def same(one: Json, other: Json) -> bool:
    """Whether two values are the same JSON. 1, 1.0 and true are three."""
    if type(one) is type(other) and type(one) in PLAIN:
        return bool(one == other)
    return canonical(one) == canonical(other)


def folded(found: Iterable[Json]) -> Json:
    """Elements, or their number and a digest if there are many."""
    listed = [*found]
    return listed if len(listed) <= FEW else {"size": len(listed), "digest": digest(ordered(listed))}


def ordered(found: Iterable[Json]) -> list[Json]:
    return sorted(found, key=canonical)


def seen(gave: Json, kind: Cell, what: str) -> Json:
    """What a read gave, without the order in which it gave it."""
    if what == "items" and isinstance(gave, list):
        return ordered([canonical(key), canonical(value)] for key, value in gave)
    return ordered(gave) if isinstance(gave, list) and kind in (Cell.BAG, Cell.SET) else gave


def is_refusal(gave: Json) -> bool:
    return isinstance(gave, dict) and gave.keys() == {"refused"}


def followed(run: Observation, declared: Declared) -> Iterator[Read | Firing]:
    """The reads and the firings of the keys whose elements are all answered, in order."""
    called = {
        key: {call[0] for arrival in arrivals for call in parsed(arrival.event.value)}
        for key, arrivals in run.arrivals_by_key.items()
    }
    for key, emissions in run.told.items():
        shared = set[str]().union(*(cells for other, cells in called.items() if other != key))
        windows: dict[int, list[Emission]] = {}
        for emission in emissions:
            if "said" in emission.value:
                continue
            windows.setdefault(emission.value["window"], []).append(emission)
        for window, mine in windows.items():
            others = [e for other in windows if other != window for e in windows[other]]
            yield from _of_one(run, key, mine, Model(declared, shared), others)


def _of_one(
    run: Observation, key: str, emissions: list[Emission], model: Model, others: list[Emission]
) -> Iterator[Read | Firing]:
    """``others``: the emissions of the key's other windows."""
    schedule = run.case.schedule
    end = schedule.advances[-1]
    beside = {e.step for e in others if "timer" in e.value}
    together = min((e.step for e in emissions if "timer" in e.value and e.step in beside), default=end.id + 1)
    wrote = [(e.step, call[0]) for e in others for call in parsed(e.value["did"]) if call[1] not in READING]
    for number, emission in enumerate(emissions):
        value, now = emission.value, schedule.elapsed[emission.step]
        time, by_timer = value.get("fired", value.get("at")), "timer" in value
        callback = Callback(key, number, now, value["window"], time, by_timer, value["did"])
        if callback.by_timer:
            name, due = value["timer"], schedule.due(callback.time)
            set_for, nested = model.timers.pop(name, (None, False))
            # Where the input is bounded, its end makes every timer fire.
            early = emission.step < end.id if due is None else due > emission.step
            rivals = len(model.known) > 1
            yield Firing(key, name, callback.time, set_for, early, True, nested, rivals, due in beside)
            if set_for is not None and SCRIPTS in model.cells:
                yield from model.answered(callback, [SCRIPTS, "get", name], [callback.window, value["did"]])
        for call, gave in zip(parsed(value["did"]), value["gave"], strict=False):
            for read in model.answered(callback, call, gave):
                written = any(step <= emission.step and cell == read.cell for step, cell in wrote)
                yield replace(read, beside=written and emission.step >= together)
    for name, (time, nested) in model.timers.items():
        if time <= end.watermark:
            rivals, due = len(model.known) > 1, schedule.due(time)
            yield Firing(key, name, time, time, False, False, nested, rivals, due in beside)

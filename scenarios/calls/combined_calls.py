"""Combined calls: any calls on state and timers, in any combination, answer as the laws of state and of timers say.

The value of an event is a text of calls (``call_language``). The program does them in order and emits what each read
gave. A timer has calls of its own, kept in a map cell until it fires. Each guarantee names a law, and asks about the
reads and the firings that put the law to the test (``call_model``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import sha256
from typing import Any, ClassVar, NamedTuple

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, RENAMINGS
from conformance.model.program import Cell, Emit, FixedWindows, Program, State, Timer, Timers
from conformance.model.scenario import OURS, Domain, Finding, Guarantee, Observation, Scenario, Source, promise
from conformance.model.schedule import Event
from conformance.model.types import (
    Array,
    Binary,
    Date,
    Decimal,
    Double,
    Int,
    Long,
    Map,
    Refused,
    String,
    Struct,
    Timestamp,
    shown,
)
from conformance.model.values import Json
from conformance.scenarios.calls.language import SETTING, Call, Calls, Language, Pool, parsed, spelled
from conformance.scenarios.calls.model import (
    NOTHING,
    SCRIPTS,
    Declared,
    Firing,
    Read,
    folded,
    followed,
    ordered,
    slot,
    time_of,
)
from conformance.scenarios.calls.plain import plain
from conformance.scenarios.documents import BEAM_MAP, BEAM_TIMER, REMOVE
from conformance.scenarios.typed.typed_samples import SAMPLES

LONG = 100
"""A text of more characters is emitted as their number and a digest."""


class CombinedCalls(Program):
    """An event's value is a text of calls, see ``call_language``."""

    cells: ClassVar = {
        "value_a": Cell.VALUE,
        "value_A": Cell.VALUE,
        "bag_a": Cell.BAG,
        "bag_ab": Cell.BAG,
        "map_a": Cell.MAP,
        "map_A": Cell.MAP,
        "set_a": Cell.SET,
        "sum_a": Cell.COMBINING,
        SCRIPTS: Cell.MAP,
    }
    timers: ClassVar[tuple[str, ...]] = ("x", "X", "xk")
    says: ClassVar[str] = "out"
    times: ClassVar[tuple[str, ...]] = ("at", "fired")
    timer_chain = 2

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        time = event.event_time
        window = self.windowing.start(time) if isinstance(self.windowing, FixedWindows) else 0
        self.say(parsed(event.value), event.id, time, emit)
        gave = [self.do(call, time, window, state, timers) for call in parsed(event.value)]
        emit({"id": event.id, "at": time, "window": window, "did": event.value, "gave": gave})

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        name = slot(timer.name, timer.tag)
        window, calls = state.scripts.get(name, [0, ""]) if SCRIPTS in self.cells else (0, "")
        self.say(parsed(calls), name, timer.time, emit)
        gave = [self.do(call, timer.time, window, state, timers) for call in parsed(calls)]
        emit({"timer": name, "fired": timer.time, "window": window, "did": calls, "gave": gave})

    def say(self, calls: Calls, by: str, time: int, emit: Emit) -> None:
        for name, _, *numbers in calls:
            if name == self.says:
                emit({"said": numbers[0], "by": by, "at": time})

    def do(self, call: Call, time: int, window: int, state: State, timers: Timers) -> Json:
        """Do one call for an element or a timer of this time and window (ms). Returns what a read gave, the class of
        the error with which a call was refused, or None. The order in which a map or a set gives its entries is no
        promise, and left out."""
        name, what, *arguments = call
        if what in SETTING:
            tag = arguments[1:2]
            for script in arguments[2:]:
                state.scripts.put(slot(name, *tag), [window, spelled(script)])
            timers.set(name, time_of(call, time), *tag)
            return None
        if what == "off":
            timers.clear(name, *arguments)
            return None
        if name == self.says:
            return None
        try:
            # Another one each time: a default that was stored is told from nothing.
            nothing = ... if self.types else f"{NOTHING} at {time}"
            return self.ask(getattr(state, name), self.cells[name], what, [*map(self.meant, arguments)], nothing)
        except Refused as refused:
            return {"refused": refused.error}

    def ask(self, cell: Any, kind: Cell, what: str, values: list[Any], nothing: Any) -> Json:
        """Do one call on a cell. ``nothing`` is the default of a read."""
        if what == "items":
            return ordered([self.told(key), self.told(value)] for key, value in cell.items())
        if what != "get":
            getattr(cell, what)(*values)
            return None
        if kind in (Cell.VALUE, Cell.MAP):
            found = cell.get(*values, nothing)
            return NOTHING if found is nothing or (not self.types and found == nothing) else self.told(found)
        if kind is Cell.COMBINING:
            return self.told(cell.get())
        gave = map(self.told, cell.get())
        return ordered(gave) if kind is Cell.SET else folded(gave)

    def meant(self, argument: Json) -> Any:
        """The value that an argument stands for."""
        if isinstance(argument, dict) and argument.keys() == {"long"}:
            return "x" * argument["long"]
        return [self.meant(each) for each in argument] if isinstance(argument, list) else argument

    def told(self, found: Any) -> Json:
        """What was read, with long texts as their length and a digest."""
        if isinstance(found, str) and len(found) > LONG:
            return {"characters": len(found), "digest": sha256(found.encode("utf-8", "surrogatepass")).hexdigest()[:12]}
        return [self.told(each) for each in found] if isinstance(found, list | tuple) else found


class CallsInWindows(CombinedCalls):
    """The same, in windows of 5 s."""

    windowing = FixedWindows(5_000)
    times = ("at", "fired", "window")


class TypedCalls(CombinedCalls):
    """The same on cells with types. The arguments are names of samples."""

    cells: ClassVar = {
        "long": Cell.VALUE,
        "double": Cell.VALUE,
        "string": Cell.VALUE,
        "timestamp": Cell.VALUE,
        "pair": Cell.VALUE,
        "longs": Cell.BAG,
        "doubles": Cell.BAG,
        "pairs": Cell.BAG,
        "days": Cell.MAP,
        "numbers": Cell.MAP,
        "blobs": Cell.MAP,
        "moments": Cell.MAP,
        "names": Cell.MAP,
        SCRIPTS: Cell.MAP,
    }
    types: ClassVar = {
        "long": Long(),
        "double": Double(),
        "string": String(),
        "timestamp": Timestamp(),
        "pair": Struct((("n", Int()), ("t", String()))),
        "longs": Long(),
        "doubles": Double(),
        "pairs": Struct((("n", Int()), ("t", String()))),
        "days": Map(Date(), Decimal(10, 3)),
        "numbers": Map(Double(), String()),
        "blobs": Map(Binary(), Array(Long())),
        "moments": Map(Long(), Timestamp()),
        "names": Map(Struct((("a", String()), ("b", String()))), Long()),
    }
    timers = ("x",)
    says = ""

    def meant(self, argument: Json) -> Any:
        return [self.meant(each) for each in argument] if isinstance(argument, list) else VALUES[argument]

    def told(self, found: Any) -> Json:
        return shown(found)


VALUES: dict[str, Any] = {
    **{name: value for name, (_, value) in SAMPLES.items()},
    "a zero": b"\0",
    "two zeros": b"\0\0",
    "bytes and a zero": b"\x00\x01\x7f\0",
    "ab and c": ("ab", "c"),
    "a and bc": ("a", "bc"),
    "abc and nothing": ("abc", ""),
    "1": 1,
    "2**32 + 1": 2**32 + 1,
    "longs": [7, -1],
    "no longs": [],
    "extreme longs": [2**53 + 1, 2**63 - 1, -(2**63)],
}
"""Name -> a value of its type, which is never a null: a type says nothing of these, and of Beam's coders only some take
them."""


def samples(of: str, *more: str) -> tuple[str, ...]:
    return (*(name for name, (cell, _) in SAMPLES.items() if cell == of), *more)


def pool(values: tuple[str, ...], keys: tuple[str, ...] = ()) -> Pool:
    return Pool(tuple((name,) for name in values), keys)


# No map has the key NaN: where an engine has no state of maps, a dictionary of Python stands for it, and finds none.
POOLS = {
    "long": pool(samples("long")),
    "double": pool(samples("double")),
    "string": pool(samples("string")),
    "timestamp": pool(samples("timestamp")),
    "pair": pool(samples("pair")),
    "longs": pool(samples("long")),
    "doubles": pool(samples("double")),
    "pairs": pool(samples("pair")),
    "days": pool(samples("decimal"), samples("date")),
    "numbers": pool(samples("string"), tuple(name for name in samples("double") if name != "NaN")),
    "moments": pool(samples("timestamp"), samples("long", "1", "2**32 + 1")),
    "names": pool(samples("long"), ("ab and c", "a and bc", "abc and nothing")),
    "blobs": pool(
        ("longs", "no longs", "extreme longs"),
        ("no bytes", "a zero", "two zeros", "bytes", "bytes and a zero", "bytes of no text"),
    ),
}

PROGRAMS: dict[str, CombinedCalls] = {
    "calls": CombinedCalls(),
    "in windows": CallsInWindows(),
    "typed": TypedCalls(),
}

# The laws

Found = Callable[[Observation], Iterator[Read | Firing]]
Law = Callable[[Found, Observation], Iterator[Finding]]
"""(what a program's reads and firings are, a run) -> what is found of those that put the law to the test."""


def calls(law: Callable[[Read], bool], right: Callable[[Read], Finding] = Read.right) -> Law:
    """Asks about the answers to calls for which this holds."""

    def asked(found: Found, run: Observation) -> Iterator[Finding]:
        return (right(seen) for seen in run.once(found) if isinstance(seen, Read) and law(seen))

    return asked


def reads(law: Callable[[Read], bool], right: Callable[[Read], Finding] = Read.right) -> Law:
    return calls(lambda read: read.reads and law(read), right)


def firings(law: Callable[[Firing], bool], right: Callable[[Firing], Finding]) -> Law:
    def asked(found: Found, run: Observation) -> Iterator[Finding]:
        return (right(seen) for seen in run.once(found) if isinstance(seen, Firing) and law(seen))

    return asked


def holds(kind: Cell, what: str = "get") -> Law:
    return reads(lambda read: read.kind is kind and read.call[1] == what and not read.empty and not read.script)


def gives(value: Callable[[Json], bool]) -> Law:
    """Reads that should give such a value, or a collection with one in it."""

    def law(read: Read) -> bool:
        of_values = read.kind in (Cell.VALUE, Cell.BAG, Cell.MAP) and read.call[1] == "get" and not read.script
        return of_values and any(map(value, read.wanted if read.kind is Cell.BAG else [read.wanted]))

    return reads(law)


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def nothing_is_set(seen: Firing) -> Finding:
    told = f"key {seen.key}: timer {seen.slot!r} fired for {seen.time} and was not set, or was cleared, or had fired"
    return seen.set_for is not None or told


def not_early(seen: Firing) -> Finding:
    return not seen.early or f"key {seen.key}: timer {seen.slot!r} fired for {seen.time} before the watermark was there"


def every_element_is_answered(run: Observation) -> Iterator[Finding]:
    """Asked of all keys, by the elements that reach the program."""
    answered: dict[Json, list[str]] = {}
    for emission, value in run.tagged("id"):
        answered.setdefault(value, []).append(emission.key)
    for event in (arrival.event for arrival in run.on_time):
        keys = answered.get(event.id, [])
        yield keys == [event.key] or f"element {event.id} of key {event.key} is answered under the keys {keys}"


def every_number_comes_out(run: Observation) -> Iterator[Finding]:
    """Asked of each callback that says numbers, equal ones among them."""
    told = run.told
    said = Counter((e.key, e.value["by"], e.value["at"], n) for e, n in run.tagged("said") if e.key in told)
    asked = Counter[tuple[str, Json, Json, Json]]()
    for key, emissions in told.items():
        for emission in (e for e in emissions if "did" in e.value):
            which = ("id", "at") if "id" in emission.value else ("timer", "fired")
            by, time = (emission.value[name] for name in which)
            asked.update((key, by, time, call[2]) for call in parsed(emission.value["did"]) if call[1] == "say")
    for one in asked | said:
        key, by, _, number = one
        how = f"{by} of key {key} said {number} {asked[one]} times, and it came out {said[one]} times"
        yield said[one] == asked[one] or how


RESET = Source(
    "Beam Java API, Timer.set", "If the timer was already set, resets it to the new requested time", BEAM_TIMER
)
PUT = Source(
    "Beam Java API, MapState.put", "Associates the specified value with the specified key in this state", BEAM_MAP
)


class Asked(NamedTuple):
    """A sentence about a program, and the law that decides it."""

    claim: str
    law: Law
    source: Source = OURS
    needs: frozenset[Feature] = frozenset()


OF_CELLS: tuple[Asked, ...] = (
    Asked("a value cell gives what was last written to it", holds(Cell.VALUE)),
    Asked("a bag gives each element that was added since it was emptied, and no other", holds(Cell.BAG)),
    Asked("a map gives for a key what was last put for it", holds(Cell.MAP), PUT),
    Asked("an iteration of a map gives each entry once", holds(Cell.MAP, "items")),
    Asked(
        "a map gives nothing for a key that was removed",
        reads(lambda read: read.kind is Cell.MAP and "remove" in read.written.calls),
        REMOVE,
    ),
    Asked("a cell that nothing was written to reads as empty", reads(lambda read: read.written.callback < 0)),
    Asked(
        "a cell that was emptied reads as never written",
        reads(lambda read: read.written.callback >= 0 and read.empty and not read.expired),
    ),
    Asked("a read sees what its own callback wrote before", reads(lambda read: read.written.callback == read.callback)),
    Asked(
        "several calls of one callback on one cell act in their order",
        reads(lambda read: read.written.callback == read.callback and len(read.written.calls) > 1),
    ),
    Asked(
        "what a callback wrote, the key's next callbacks read",
        reads(lambda read: -1 < read.written.callback < read.callback),
    ),
    Asked("a write to a cell changes no other cell of its kind", reads(lambda read: read.written.others_since)),
    Asked("a write under a key changes no cell of another key", reads(lambda read: read.shared)),
)

OF_JSON: tuple[Asked, ...] = (
    Asked("a set gives each of its elements once", holds(Cell.SET)),
    Asked("a sum is that of the numbers that were added since it was cleared", holds(Cell.COMBINING)),
    Asked("a null comes back as a null from a value, a bag and a map", gives(lambda value: value is None)),
    Asked("a number comes back as it was written, whole or a fraction", gives(is_number)),
    Asked(
        "a text beyond ASCII comes back character by character",
        gives(lambda value: isinstance(value, str) and not value.isascii()),
    ),
    Asked(
        "a text of up to 64 KiB comes back whole",
        gives(lambda value: isinstance(value, dict) and "characters" in value),
    ),
)

OF_TIMERS: tuple[Asked, ...] = (
    Asked(
        "a timer fires once, for the time that it was last set to",
        firings(lambda seen: seen.set_for is not None and not seen.nested, lambda seen: seen.once),
        RESET,
    ),
    Asked(
        "a timer that a timer's callback sets fires once, for its time",
        firings(lambda seen: seen.set_for is not None and seen.nested, lambda seen: seen.once),
    ),
    Asked(
        "timers of other names and tags do not keep a timer from firing",
        firings(lambda seen: seen.set_for is not None and not seen.nested and seen.rivals, lambda seen: seen.once),
    ),
    Asked(
        "a timer that was cleared, or moved, or has fired does not fire",
        firings(lambda seen: seen.fired, nothing_is_set),
    ),
    Asked("no timer fires before the watermark reaches its time", firings(lambda seen: seen.fired, not_early)),
    Asked(
        "a timer's callback reads what was written before it",
        reads(lambda read: read.of.by_timer and read.written.callback < read.callback),
    ),
    Asked(
        "what a timer's callback wrote, the key's next callbacks read",
        reads(lambda read: -1 < read.written.callback < read.callback and read.written.by_timer),
    ),
)

OF_WINDOWS: tuple[Asked, ...] = (
    Asked(
        "windows of a key whose timers fire in one advance keep their cells apart",
        reads(lambda read: read.of.by_timer and read.beside),
    ),
    Asked(
        "timers of other windows of a key do not keep a timer from firing",
        firings(lambda seen: seen.set_for is not None and not seen.nested and seen.beside, lambda seen: seen.once),
    ),
)

LAWS = {
    "calls": (*OF_CELLS, *OF_JSON, *OF_TIMERS),
    "in windows": (*OF_CELLS, *OF_TIMERS, *OF_WINDOWS),
    "typed": (*OF_CELLS, Asked("no call with a value that fits is refused", calls(lambda read: not read.reads))),
}


def laws_of(name: str, program: CombinedCalls, laws: Iterable[Asked], which: str = "") -> Iterator[Guarantee]:
    """The laws of a program by its name, as guarantees. ``which`` tells their claims from those of another program."""

    def shown(argument: Json) -> Json:
        meant = program.meant(argument)
        return [*map(program.told, meant)] if isinstance(argument, list) else program.told(meant)

    found = partial(followed, declared=Declared(program.cells, program.ttl, shown))
    for asked in laws:
        yield Guarantee(asked.claim + which, name, partial(asked.law, found), source=asked.source, needs=asked.needs)


def guarantees(name: str, program: CombinedCalls, laws: Iterable[Asked], which: str = "") -> Iterator[Guarantee]:
    """The guarantees of a program of calls in any combination."""
    yield from laws_of(name, program, laws, which)
    yield Guarantee("each element is answered once, under its key" + which, name, every_element_is_answered)
    if program.says:
        yield Guarantee("what a callback puts out comes out as often" + which, name, every_number_comes_out)


def domain(program: CombinedCalls, cases: int, events: int = 8, small: bool = False) -> Domain:
    cells = {cell: kind for cell, kind in program.cells.items() if cell != SCRIPTS}
    language = Language(cells, program.timers, (*program.ttl,), program.says, POOLS if program.types else {}, small)
    return Domain(
        offsets=(1, 500, 5_000, 20_000),
        keys=2,
        names=NAMES,
        values=language.basic,
        events=events,
        language=language,
        cases=cases,
    )


NAMES = (tuple("ab"), ("a", "A"), ("a", "ab"), ("a", "a "), ("1", "01"), ("\u00e9", "e\u0301"), ("Aa", "BB"))
"""Families of keys that are alike; Java gives the last two one hash code."""

STABLE = promise((INTERLEAVE, *BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)

SCENARIO = Scenario(
    plain=plain,
    name="combined calls",
    summary="Do calls on state and timers, in any combination, for every element and every timer; emit what each read "
    "gave.",
    programs=PROGRAMS,
    domain={
        "calls": domain(PROGRAMS["calls"], 8, small=True),
        "in windows": domain(PROGRAMS["in windows"], 5),  # few have timers of two windows that fire in one advance
        "typed": domain(PROGRAMS["typed"], 2),
    },
    stable_under=dict.fromkeys(PROGRAMS, STABLE),
    complete=False,  # the laws say of each read and each firing what it must be
    guarantees=tuple(
        found
        for name, program in PROGRAMS.items()
        for found in guarantees(name, program, LAWS[name], "" if name == "calls" else f" ({name})")
    ),
)

"""Combined calls: any calls on state and timers, in any combination, answer as the laws of state and of timers say.

The value of an event is a list of calls (``call_language``). The program does them in order and emits what each read gave. A timer has a
list of its own, kept in a map cell until it fires. The predicates do the calls of a key once more, on a model that is a page of Python, in
the order of the key's emissions. So they say nothing about an order that no document promises. Each names a law, and asks about the
reads that put the law to the test. After a read that fails, the model goes on from what was read, so that one fault speaks once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, RENAMINGS, WATERMARKINGS
from conformance.model.program import Cell, Emit, FixedWindows, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, Source, promise
from conformance.model.schedule import Event
from conformance.model.trace import Emission
from conformance.model.values import Json, canonical
from scenarios.call_language import Call, Language, parsed, spelled
from scenarios.documents import BEAM_MAP, BEAM_TIMER, REMOVE

NOTHING = "(nothing)"
"""The default that every read of a value, and of an entry of a map, passes."""

SCRIPTS = "scripts"
"""The cell that keeps the window and the calls of each timer's callback."""

LONG = 100
"""A text of more characters is emitted as their number and a digest."""

SIZE = 5_000
"""The length (ms) of the windows of the program in windows."""


class CombinedCalls(Program):
    """An event's value is a text of calls, see ``call_language``."""

    cells = {
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
    timers = ("x", "X")
    times = ("at", "fired", "window")
    timer_chain = 2

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        time = event.event_time
        window = self.windowing.start(time) if isinstance(self.windowing, FixedWindows) else 0
        gave = [do(call, time, window, state, timers) for call in parsed(event.value)]
        emit({"id": event.id, "at": time, "window": window, "did": event.value, "gave": gave})

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        name = slot(timer.name, timer.tag)
        window, calls = state.scripts.get(name, [0, ""])
        gave = [do(call, timer.time, window, state, timers) for call in parsed(calls)]
        emit({"timer": name, "fired": timer.time, "window": window, "did": calls, "gave": gave})


class CallsInWindows(CombinedCalls):
    """The same, in windows of 5 s."""

    windowing = FixedWindows(SIZE)


def slot(name: str, tag: str) -> str:
    return f"{name} {tag}"


def do(call: Call, time: int, window: int, state: State, timers: Timers) -> Json:
    """Do one call for an element or a timer of this time and window (ms). Returns what a read gave, and None of what is no read."""
    name, what, *arguments = call
    if what == "in":
        ms, tag, calls = arguments
        state.scripts.put(slot(name, tag), [window, spelled(calls)])
        timers.set(name, time + ms, tag)
    elif what == "off":
        timers.clear(name, *arguments)
    elif what in ("get", "items"):
        reading = getattr(getattr(state, name), what)
        return told(reading(*arguments, NOTHING) if name.startswith(("value", "map")) and what == "get" else reading())
    else:
        getattr(getattr(state, name), what)(*map(meant, arguments))
    return None


def meant(argument: Json) -> Json:
    """The value that an argument stands for."""
    if isinstance(argument, dict) and argument.keys() == {"long"}:
        return "x" * argument["long"]
    return [meant(each) for each in argument] if isinstance(argument, list) else argument


def told(found: Json) -> Json:
    """What was read, with long texts as their length and a digest."""
    if isinstance(found, str) and len(found) > LONG:
        return {"characters": len(found), "digest": sha256(found.encode("utf-8", "surrogatepass")).hexdigest()[:12]}
    if isinstance(found, list | tuple):
        return [told(each) for each in found]
    return found


# The model


@dataclass
class Written:
    """What became of a cell: its content and the calls that made it so."""

    content: Any
    callback: int = -1  # the number of the callback with the last write, -1 if there is none
    calls: list[str] = field(default_factory=list)  # what was called in that callback, in order
    by_timer: bool = False
    others_since: bool = False  # whether another cell of the kind was written since


@dataclass(frozen=True)
class Read:
    """A read of a cell, with what the laws ask about it."""

    key: str
    cell: str
    call: Call
    gave: Json
    wanted: Json
    content: Any
    callback: int
    written: Written
    in_timer: bool
    shared: bool  # whether another key of the case writes the cell, too

    @property
    def kind(self) -> str:
        return self.cell.partition("_")[0]

    @property
    def right(self) -> Finding:
        said = " ".join(canonical(part) if n > 1 else str(part) for n, part in enumerate(self.call))
        before = f" after {', '.join(self.written.calls)}" if self.written.calls else ", never written"
        return self.gave == self.wanted and canonical(self.gave) == canonical(self.wanted) or (
            f"key {self.key}: {said} gives {canonical(self.gave):.80}, not {canonical(self.wanted):.80}{before}"
        )


@dataclass(frozen=True)
class Firing:
    """A timer that fired, or that did not fire although it was due."""

    key: str
    slot: str
    time: int
    set_for: int | None  # the time that it was last set to and not cleared since
    dropped: tuple[int, ...]  # times that it was set to before, and not any more
    early: bool
    fired: bool
    nested: bool  # whether it was set in a timer's callback
    rivals: bool  # whether another timer of the key is or was set


EMPTY: dict[str, Callable[[], Any]] = {"value": lambda: NOTHING, "bag": list, "map": dict, "scripts": dict, "set": dict, "sum": int}


class Model:
    """The state of one key, or of one key and window."""

    def __init__(self, cells: Iterable[str]) -> None:
        self.cells = {name: Written(EMPTY[name.partition("_")[0]]()) for name in cells}
        self.timers: dict[str, tuple[int, bool]] = {}
        self.dropped: dict[str, set[int]] = {}

    def write(self, name: str, what: str, arguments: list[Json], callback: int, by_timer: bool) -> None:
        cell, kind = self.cells[name], name.partition("_")[0]
        arguments = [told(meant(argument)) for argument in arguments]
        if what == "clear":
            cell.content = EMPTY[kind]()
        elif what == "set":
            cell.content = list(arguments[0]) if kind == "bag" else arguments[0]
        elif what == "add" and kind == "bag":
            cell.content = [*cell.content, arguments[0]]
        elif what == "add":
            cell.content = cell.content + arguments[0] if kind == "sum" else {**cell.content, arguments[0]: True}
        elif what == "put":
            cell.content = {**cell.content, arguments[0]: arguments[1]}
        elif what == "remove":
            cell.content = {key: value for key, value in cell.content.items() if key != arguments[0]}
        cell.calls = [*(cell.calls if cell.callback == callback else ()), what]
        cell.callback, cell.by_timer, cell.others_since = callback, by_timer, False
        for other, state in self.cells.items():
            state.others_since |= other != name and other.partition("_")[0] == kind

    def read(self, name: str, what: str, arguments: list[Json]) -> Json:
        content, kind = self.cells[name].content, name.partition("_")[0]
        if kind == "map":
            return _sorted([list(item) for item in content.items()]) if what == "items" else content.get(arguments[0], NOTHING)
        if kind == "bag":
            return _sorted(content)
        return _sorted(content) if kind == "set" else content

    def learn(self, name: str, what: str, arguments: list[Json], gave: Json) -> None:
        """Go on from what was read."""
        cell, kind = self.cells[name], name.partition("_")[0]
        try:
            if what == "items":
                cell.content = dict(gave)
            elif kind == "map":
                rest = {key: value for key, value in cell.content.items() if key != arguments[0]}
                cell.content = rest if gave == NOTHING else {**rest, arguments[0]: gave}
            else:
                cell.content = dict.fromkeys(gave, True) if kind == "set" else list(gave) if kind == "bag" else gave
        except (TypeError, ValueError):
            pass  # what came out is no content of such a cell


def _sorted(found: Iterable[Json]) -> Json:
    return sorted(found, key=canonical)


def followed(run: Observation) -> Iterator[Read | Firing]:
    """The reads and the firings of the keys whose elements are all answered, in order."""
    written = {key: {call[0] for arrival in arrivals for call in parsed(arrival.event.value)} for key, arrivals in run.arrivals_by_key.items()}
    for key, emissions in run.told.items():
        shared = set().union(*(cells for other, cells in written.items() if other != key))
        windows: dict[int, list[Emission]] = {}
        for emission in emissions:
            windows.setdefault(emission.value["window"], []).append(emission)
        for mine in windows.values():
            yield from _of_one(run, key, mine, shared)


def _of_one(run: Observation, key: str, emissions: list[Emission], shared: set[str]) -> Iterator[Read | Firing]:
    model, schedule = Model(CombinedCalls.cells), run.case.schedule
    for number, emission in enumerate(emissions):
        value, by_timer = emission.value, "timer" in emission.value
        time = value["fired"] if by_timer else value["at"]
        if by_timer:
            name = value["timer"]
            pending = model.timers.get(name)
            due = schedule.due(time)
            early = due is None or due > emission.step
            dropped = tuple(model.dropped.get(name, set()) - ({pending[0]} if pending else set()))
            rivals = len(model.dropped.keys() | model.timers.keys()) > 1
            yield Firing(key, name, time, pending[0] if pending else None, dropped, early, True, bool(pending and pending[1]), rivals)
            model.timers.pop(name, None)
            wanted = model.cells[SCRIPTS].content.get(name, "")
            state = replace(model.cells[SCRIPTS])
            yield Read(key, SCRIPTS, [SCRIPTS, "get", name], told(value["did"]), told(wanted), None, number, state, True, False)
        for call, gave in zip(parsed(value["did"]), value["gave"], strict=False):
            name, what, *arguments = call
            if what == "in":
                ms, tag, calls = arguments
                timer = slot(name, tag)
                if timer in model.timers:
                    model.dropped.setdefault(timer, set()).add(model.timers[timer][0])
                model.timers[timer] = time + ms, by_timer
                model.write(SCRIPTS, "put", [timer, spelled(calls)], number, by_timer)
            elif what == "off":
                if (pending := model.timers.pop(slot(name, arguments[0]), None)) is not None:
                    model.dropped.setdefault(slot(name, arguments[0]), set()).add(pending[0])
            elif what in ("get", "items"):
                found = _sorted(gave) if isinstance(gave, list) and not name.startswith(("value", "map")) or what == "items" else gave
                cell, wanted = model.cells[name], model.read(name, what, arguments)
                yield Read(key, name, call, found, wanted, cell.content, number, replace(cell), by_timer, name in shared)
                if canonical(found) != canonical(wanted):
                    model.learn(name, what, arguments, gave)
            else:
                model.write(name, what, arguments, number, by_timer)
    end = schedule.advances[-1].watermark
    for name, (time, nested) in model.timers.items():
        if time <= end and schedule.due(time) is not None:
            rivals = len(model.dropped.keys() | model.timers.keys()) > 1
            yield Firing(key, name, time, time, (), False, False, nested, rivals)


# The laws


def reads_where(law: Callable[[Read], bool]) -> Callable[[Observation], Iterator[Finding]]:
    def predicate(run: Observation) -> Iterator[Finding]:
        return (seen.right for seen in run.once(followed) if isinstance(seen, Read) and law(seen))

    return predicate


def _emptied(read: Read) -> bool:
    if read.kind == "value":
        return bool(read.content == NOTHING)
    return not read.content and read.kind != SCRIPTS and (read.kind != "sum" or read.written.calls[-1:] in ([], ["clear"]))


def _holds(kind: str, what: str = "get") -> Callable[[Observation], Iterator[Finding]]:
    return reads_where(lambda read: read.kind == kind and read.call[1] == what and not _emptied(read))


def _wanted(test: Callable[[Json], bool]) -> Callable[[Observation], Iterator[Finding]]:
    """Reads that should give a value like this, or hold one."""

    def law(read: Read) -> bool:
        within = read.wanted if isinstance(read.wanted, list) else [read.wanted]
        flat = [part for each in within for part in (each if isinstance(each, list) else [each])]
        return read.kind in ("value", "bag", "map") and any(map(test, flat))

    return reads_where(law)


def _is_long(value: Json) -> bool:
    return isinstance(value, dict) and "characters" in value


def _is_beyond(value: Json) -> bool:
    return isinstance(value, str) and not value.isascii()


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def a_timer_fires_once(run: Observation) -> Iterator[Finding]:
    for seen in run.once(followed):
        if isinstance(seen, Firing) and seen.set_for is not None and not seen.nested:
            yield _fires(seen)


def _fires(seen: Firing) -> Finding:
    return (seen.fired and seen.time == seen.set_for) or (
        f"key {seen.key}: timer {seen.slot!r} was last set to {seen.set_for} and "
        + (f"fired for {seen.time}" if seen.fired else "did not fire")
    )


def a_timer_of_a_callback_fires_once(run: Observation) -> Iterator[Finding]:
    for seen in run.once(followed):
        if isinstance(seen, Firing) and seen.set_for is not None and seen.nested:
            yield _fires(seen)


def rivals_fire_too(run: Observation) -> Iterator[Finding]:
    for seen in run.once(followed):
        if isinstance(seen, Firing) and seen.set_for is not None and seen.rivals and not seen.nested:
            yield _fires(seen)


def nothing_else_fires(run: Observation) -> Iterator[Finding]:
    for seen in run.once(followed):
        if isinstance(seen, Firing) and seen.fired:
            yield seen.set_for is not None or (
                f"key {seen.key}: timer {seen.slot!r} fired for {seen.time} and was not set, or cleared, or had fired"
            )


def no_timer_fires_early(run: Observation) -> Iterator[Finding]:
    for seen in run.once(followed):
        if isinstance(seen, Firing) and seen.fired:
            yield not seen.early or f"key {seen.key}: timer {seen.slot!r} fired for {seen.time} before the watermark was there"


def every_element_is_answered(run: Observation) -> Iterator[Finding]:
    """Asked of all keys, by the elements that reach the program."""
    answered = Counter((emission.key, value) for emission, value in run.tagged("id"))
    for arrival in run.on_time:
        found = answered[arrival.event.key, arrival.event.id]
        yield found == 1 or f"element {arrival.event.id} of key {arrival.event.key} is answered {found} times"


SEVERAL_CALLS = reads_where(
    lambda read: read.written.callback == read.callback and len(read.written.calls) > 1 and read.kind != SCRIPTS
)
IN_ONE_CALLBACK = reads_where(lambda read: read.written.callback == read.callback and read.kind != SCRIPTS)
NEXT_CALLBACK = reads_where(lambda read: -1 < read.written.callback < read.callback and not read.written.by_timer)
OF_A_TIMER = reads_where(lambda read: -1 < read.written.callback < read.callback and read.written.by_timer)
IN_A_TIMER = reads_where(lambda read: read.in_timer and read.kind != SCRIPTS)
OTHER_CELLS = reads_where(lambda read: read.written.others_since)
OTHER_KEYS = reads_where(lambda read: read.shared)
NEVER_WRITTEN = reads_where(lambda read: read.written.callback < 0)
CLEARED = reads_where(lambda read: read.written.callback >= 0 and _emptied(read))

RESET = Source("Beam Java API, Timer.set", "If the timer was already set, resets it to the new requested time", BEAM_TIMER)
PUT = Source("Beam Java API, MapState.put", "Associates the specified value with the specified key in this state", BEAM_MAP)

LAWS: tuple[tuple[str, Callable[[Observation], Iterator[Finding]], Source | None], ...] = (
    ("a value cell gives what was last written to it", _holds("value"), None),
    ("a bag gives each element that was added since it was emptied, and no other", _holds("bag"), None),
    ("a map gives for a key what was last put for it", _holds("map"), PUT),
    ("an iteration of a map gives each entry once", _holds("map", "items"), None),
    ("a map gives nothing for a key that was removed", reads_where(
        lambda read: read.kind == "map" and "remove" in read.written.calls), REMOVE),
    ("a set gives each of its elements once", _holds("set"), None),
    ("a sum is that of the numbers that were added since it was cleared", _holds("sum"), None),
    ("a cell that nothing was written to reads as empty", NEVER_WRITTEN, None),
    ("a cell that was emptied reads as never written", CLEARED, None),
    ("a read sees what its own callback wrote before", IN_ONE_CALLBACK, None),
    ("several calls of one callback on one cell act in their order", SEVERAL_CALLS, None),
    ("what an element's callback wrote, the key's next callbacks read", NEXT_CALLBACK, None),
    ("what a timer's callback wrote, the key's next callbacks read", OF_A_TIMER, None),
    ("a timer's callback reads what was written before it", IN_A_TIMER, None),
    ("a write to a cell changes no other cell of its kind", OTHER_CELLS, None),
    ("a write under a key changes no cell of another key", OTHER_KEYS, None),
    ("a null comes back as a null from a value, a bag and a map", _wanted(lambda value: value is None), None),
    ("a number comes back as it was written, whole or a fraction", _wanted(_is_number), None),
    ("a text comes back character by character, also beyond ASCII", _wanted(_is_beyond), None),
    ("a text of up to 64 KiB comes back whole", _wanted(_is_long), None),
    ("a timer fires once, for the time that it was last set to", a_timer_fires_once, RESET),
    ("a timer that a timer's callback sets fires once, for its time", a_timer_of_a_callback_fires_once, None),
    ("timers of other names and tags do not keep a timer from firing", rivals_fire_too, None),
    ("a timer that was cleared, or moved, or has fired does not fire", nothing_else_fires, None),
    ("no timer fires before the watermark reaches its time", no_timer_fires_early, None),
    ("each element is answered once, under its key", every_element_is_answered, None),
)

CALLS = Language(
    cells=tuple((name, kind) for name, kind in CombinedCalls.cells.items() if name != SCRIPTS), timers=CombinedCalls.timers
)
SOME_CALLS = replace(CALLS, paired=False)

NAMES = (tuple("ab"), ("a", "A"), ("a", "ab"), ("a", "a "), ("1", "01"), ("\u00e9", "e\u0301"))
"""Families of keys that are alike."""

STABLE = promise((INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)


def guarantees(program: str, which: str = "") -> Iterator[Guarantee]:
    for claim, law, source in LAWS:
        yield Guarantee(claim + which, program, law, **({"source": source} if source else {}))


SCENARIO = Scenario(
    name="combined calls",
    summary="Do a list of calls on state and timers for every element, and another for every timer; emit what each read gave.",
    programs={"calls": CombinedCalls(), "in windows": CallsInWindows()},
    domain={
        name: Domain(
            offsets=(1, 500, 5_000, 20_000), keys=2, names=NAMES, values=("",), events=8, language=language, cases=cases
        )
        for name, language, cases in (("calls", CALLS, 4), ("in windows", SOME_CALLS, 2))
    },
    stable_under={"calls": STABLE, "in windows": STABLE},
    complete=False,  # the laws say of each read and each firing what it must be
    guarantees=(*guarantees("calls"), *guarantees("in windows", " (in windows)")),
)

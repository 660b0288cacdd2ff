"""Programs that carry out the calls in their events. With them, an engine can be compared with the reference on any
sequence of state calls."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar

from conformance.execution.packing import packs_of
from conformance.model.case import Case
from conformance.model.engine import Engine
from conformance.model.keys import TypedKey
from conformance.model.lateness import LatenessProfile
from conformance.model.program import Cell, Emit, FixedWindows, JobKind, Program, State, Timer, Timers
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Trace
from conformance.model.types import Array, Long, Map, Refused, String, shown
from conformance.model.values import Json
from conformance.plugins.registry import load_engine

T = 1_000_000
"""The first watermark (ms), where a window of WINDOW begins."""

WINDOW = 10_000
"""The length (ms) of the windows of the programs here."""

LIFE = 100
"""The TTL of state, and the delay of timers in processing time (ms of processing time)."""

RAISES = "raises"
"""The tag of a timer whose callback raises."""

Calls = list[list[Json]]
"""A call in an event: [cell or "timers", method, *arguments], or ["emit", value, event time], ["event", "seen"] (emit
the event as the program got it), ["raise", message]."""


class Interpreter(Program):
    """An event's value is a list of calls; each call's result is emitted."""

    cells = {
        "value": Cell.VALUE,
        "bag": Cell.BAG,
        "map": Cell.MAP,
        "set": Cell.SET,
        "sum": Cell.COMBINING,
    }
    timers: ClassVar[tuple[str, ...]] = ("one", "two")

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        for target, method, *arguments in event.value:
            if target == "raise":
                raise ValueError(method)
            if target == "emit":
                emit([event.id, target, method], *arguments)
            elif target == "event":
                emit([event.id, target, event.key, event.event_time])
            else:
                subject: Any = timers if target == "timers" else getattr(state, target)
                result = getattr(subject, method)(*arguments)
                if result is not None or method == "get":
                    emit([event.id, target, method, _plain(target, result)])

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        if timer.tag == RAISES:
            raise ValueError("no luck")
        total = state.sum.get() if "sum" in self.cells else None
        emit(["fired", timer.name, timer.tag, timer.time, timer.key, total])


def _plain(target: str, result: Any) -> Any:
    """Sets and maps have no order of their own."""
    return sorted(result) if target in ("set", "map") and isinstance(result, list) else result


class OnValue(Interpreter):
    cells = {"value": Cell.VALUE}
    timers = ()


class OnTypedValue(OnValue):
    """A value in the engine's own state of whole numbers."""

    types = {"value": Long()}


class OnContainers(OnValue):
    """A value in the engine's own state of maps and arrays."""

    types = {"value": Map(String(), Array(Long()))}


class OnTypedKeys(Interpreter):
    """A bag by keys of two types. Every event also emits the key that it was handed."""

    cells = {"bag": Cell.BAG}
    timers = ()
    keys = {
        "1": TypedKey(Long(), 1),
        "2**40": TypedKey(Long(), 2**40),
        "a": TypedKey(String(), "a"),
        "A": TypedKey(String(), "A"),
    }

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        super().on_event(event, state, timers, emit)
        emit([event.id, "key", shown(event.key)])


class OnNullKeys(OnTypedKeys):
    """A null is a key beside the empty text."""

    keys = {"null": TypedKey(String(), None), "empty": TypedKey(String(), "")}


class OnMisfits(OnTypedValue):
    """A value that does not fit may be refused."""

    misfits = True

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        with suppress(Refused):
            super().on_event(event, state, timers, emit)


class OnBag(Interpreter):
    cells = {"bag": Cell.BAG}
    timers = ()


class OnMap(Interpreter):
    cells = {"map": Cell.MAP}
    timers = ()


class OnSet(Interpreter):
    cells = {"set": Cell.SET}
    timers = ()


class OnSum(Interpreter):
    cells = {"sum": Cell.COMBINING}
    timers = ()


class Plain(Interpreter):
    """Neither state nor timers."""

    cells = {}
    timers = ()


class Timed(Interpreter):
    """Timers alone."""

    cells = {}


class Stamped(Timed):
    """Its output has the event time that the engine gives it."""

    timed = True


class TimedSum(Interpreter):
    """Timers, and state for their callbacks to read."""

    cells = {"sum": Cell.COMBINING}


class Clocked(Timed):
    """Timers in processing time."""

    processing_time = True


class Expiring(Interpreter):
    """State that lives for LIFE."""

    cells = {"value": Cell.VALUE, "bag": Cell.BAG, "map": Cell.MAP}
    ttl = {"value": LIFE, "bag": LIFE, "map": LIFE}
    timers = ()


class Begun(OnValue):
    """Starts with a value."""

    job = JobKind.INITIAL_STATE

    def on_initial(self, event: Event, state: State) -> None:
        state.value.set(event.value)


class Inspected(Interpreter):
    """State that is read from outside."""

    cells = {"value": Cell.VALUE, "bag": Cell.BAG, "map": Cell.MAP}
    timers = ()
    job = JobKind.INSPECTION


class Counted(Interpreter):
    """State whose rows are counted."""

    cells = Inspected.cells
    timers = ()
    job = JobKind.ROW_COUNT


class Chain(Timed):
    """The callback of the timer ``one`` sets the timer ``two``."""

    timer_chain = 1

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        super().on_timer(timer, state, timers, emit)
        if timer.name == "one":
            timers.set("two", timer.time + 1_000)


class InWindows(Plain):
    windowing = FixedWindows(WINDOW)


class InLongWindows(Plain):
    windowing = FixedWindows(WINDOW, allowed_lateness=5_001)


class ValueInWindows(OnValue):
    windowing = FixedWindows(WINDOW)


class BagInWindows(OnBag):
    windowing = FixedWindows(WINDOW)


class MapInWindows(OnMap):
    windowing = FixedWindows(WINDOW)


class SetInWindows(OnSet):
    windowing = FixedWindows(WINDOW)


class SumInWindows(OnSum):
    windowing = FixedWindows(WINDOW)


class TimedInWindows(Timed):
    """No window expires during a case."""

    windowing = FixedWindows(WINDOW, allowed_lateness=10_000_000)


CALLS: Mapping[str, Program] = {"test/calls": Interpreter()}
"""The program of ``calls_case``."""

STATE: list[Calls] = [
    [["value", "get"], ["value", "set", {"b": [1, None, "é"]}], ["value", "get"]],
    [["value", "get"], ["value", "set", None], ["value", "get", "default"]],
    [["value", "clear"], ["value", "get"], ["value", "get", 7]],
    [["bag", "get"], ["bag", "add", 2], ["bag", "add", [1]], ["bag", "add", 2], ["bag", "get"]],
    [["bag", "get"], ["bag", "clear"], ["bag", "get"]],
    [
        ["map", "get", "x"],
        ["map", "put", "x", 1],
        ["map", "put", "", {"y": None}],
        ["map", "get", "x"],
        ["map", "items"],
    ],
    [
        ["map", "remove", "x"],
        ["map", "get", "x"],
        ["map", "get", "x", 5],
        ["map", "items"],
        ["map", "clear"],
        ["map", "items"],
    ],
    [["set", "add", "q"], ["set", "add", "q"], ["set", "add", "é"], ["set", "add", ""], ["set", "get"]],
    [["set", "get"], ["set", "clear"], ["set", "get"]],
    [["sum", "get"], ["sum", "add", 4], ["sum", "add", -1], ["sum", "get"]],
    [["sum", "add", 1], ["sum", "get"], ["sum", "clear"], ["sum", "get"]],
    [["value", "set", 0], ["value", "get", 7], ["value", "set", 2**53 + 1], ["value", "get"], ["value", "set", 0.5]],
    [["bag", "add", 1], ["bag", "set", [2, 3]], ["bag", "get"], ["bag", "set", []], ["bag", "get"]],
    [["bag", "add", None], ["bag", "add", {"é": ""}], ["bag", "get"]],
    [
        ["map", "put", "é", None],
        ["map", "get", "é", 5],
        ["map", "put", "x", 2],
        ["map", "put", "x", 3],
        ["map", "items"],
    ],
]
"""Every kind of cell: nothing in it, null, nested JSON, defaults, what is falsy, duplicates, clearing and removing."""

TIMERS: list[Calls] = [
    [["timers", "set", "one", T + 5_000], ["timers", "set", "two", T + 5_000], ["sum", "add", 1]],
    [["timers", "set", "one", T + 7_000], ["timers", "set", "one", T + 6_000, "t"]],
    [
        ["timers", "set", "one", T + 8_000, "u"],
        ["timers", "clear", "one", "u"],
        ["timers", "clear", "two", "never set"],
    ],
]
"""Two timers of one instant; a timer that is moved; a timer that is cleared; a timer that is cleared but was never
set."""

FAILS: list[Calls] = [[["sum", "add", 1], ["sum", "get"]], [["sum", "get"], ["raise", "no luck"]], [["sum", "get"]]]
"""The program raises at the second event."""


def calls_case(bundles: Iterable[Iterable[tuple[str, Calls]]]) -> Case:
    """A case that carries out calls: bundles of (key, calls), and then an advance of the watermark."""
    steps: list[Advance | Deliver] = [Advance(0, T)]
    number = 0
    for bundle in bundles:
        events = []
        for key, calls in bundle:
            number += 1
            events.append(Event(f"e{number}", key, calls, T + 1 + number))
        steps.append(Deliver(len(steps), tuple(events)))
    steps.append(Advance(len(steps), T + 200_000))
    return Case("test", "calls", Schedule(tuple(steps)))


def traces_of(engine: Engine, cases: Iterable[Case], programs: Mapping[str, Program]) -> dict[str, Trace]:
    """Case id -> trace. The cases run in packs."""
    found: dict[str, Trace] = {}
    for pack in packs_of(cases, engine.capabilities.largest_pack):
        found |= engine.run(pack, programs).traces
    return found


def specified(engine: Engine, cases: Iterable[Case], programs: Mapping[str, Program]) -> dict[str, Trace]:
    """``traces_of`` the reference with the engine's reading of lateness."""
    return traces_of(reference(engine.capabilities.lateness), cases, programs)


def reference(lateness: LatenessProfile) -> Engine:
    """The reference with a reading of lateness."""
    plain: Any = load_engine("reference")
    engine: Engine = plain.reading(lateness)
    return engine

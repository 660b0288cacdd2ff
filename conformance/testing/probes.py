"""What the adapter kit runs: small cases, each with a name for messages, in groups of one clock."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from conformance.model import (
    Advance,
    Case,
    Deliver,
    Event,
    FailOnce,
    Json,
    Partitions,
    Restart,
    Schedule,
    Step,
    Wait,
    program_ref,
    renumbered,
)
from conformance.program import Program
from conformance.testing import calls
from conformance.testing.calls import LIFE, RAISES, STATE, TIMERS, WINDOW, Calls, T

KIT = "adapter-kit"

_PROGRAMS: dict[str, Program] = {
    "value": calls.OnValue(),
    "bag": calls.OnBag(),
    "map": calls.OnMap(),
    "set": calls.OnSet(),
    "sum": calls.OnSum(),
    "all": calls.Interpreter(),
    "plain": calls.Plain(),
    "timed": calls.Timed(),
    "timed-sum": calls.TimedSum(),
    "chain": calls.Chain(),
    "clocked": calls.Clocked(),
    "expiring": calls.Expiring(),
    "begun": calls.Begun(),
    "inspected": calls.Inspected(),
    "windows": calls.InWindows(),
    "long-windows": calls.InLongWindows(),
    "value-windows": calls.ValueInWindows(),
    "bag-windows": calls.BagInWindows(),
    "map-windows": calls.MapInWindows(),
    "set-windows": calls.SetInWindows(),
    "sum-windows": calls.SumInWindows(),
    "timed-windows": calls.TimedInWindows(),
}
PROGRAMS: Mapping[str, Program] = {program_ref(KIT, name): program for name, program in _PROGRAMS.items()}

CELLS = ("value", "bag", "map", "set", "sum")
"""The programs with one cell each, of that name."""

END = T + 200_000
LATELY = 1_700_000_000_000
"""A time of our days (ms), of more digits than T."""

Row = tuple[str, Calls] | Event
"""(key, calls) of an event that is on time, or an event."""


@dataclass(frozen=True)
class Probe:
    """Cases of one clock. ``mend`` is what to look at where they come out wrong. Of an event whose id ``places`` knows, it
    says in words how the event lies to the watermark. ``reached`` and ``idle`` are the cases whose keys write state in the
    bundle that fails once, and those that have nothing in it."""

    about: str
    cases: Mapping[str, Case]
    mend: str
    places: Mapping[str, str] | None = None
    reached: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()


def write(cell: str, value: int) -> Calls:
    """Read a cell, write to it, and read it again: done twice, it shows."""
    if cell == "value":
        return [["value", "get"], ["value", "set", value], ["value", "get"]]
    if cell == "map":
        return [["map", "items"], ["map", "put", str(value), value], ["map", "items"]]
    if cell == "set":
        return [["set", "get"], ["set", "add", str(value)], ["set", "get"]]
    return [[cell, "get"], [cell, "add", value], [cell, "get"]]


def _case(program: str, clock: Schedule, *bundles: Iterable[Row]) -> Case:
    """A case of a program on a clock; every event that is given without its time is after the watermark."""
    slots = {bundle.id: iter(bundle_rows) for bundle, bundle_rows in zip(clock.bundles, bundles, strict=False)}
    numbers, watermark, filled = itertools.count(1), 0, {}
    for step in clock.steps:
        if isinstance(step, Advance):
            watermark = step.watermark
        elif step.id in slots:
            filled[step.id] = [
                row if isinstance(row, Event) else Event(f"e{n}", row[0], row[1], watermark + n)
                for row, n in zip(slots[step.id], numbers, strict=False)
            ]
    return Case(KIT, program, clock.with_bundles(filled))


def _clock(*steps: Step) -> Schedule:
    return renumbered([Advance(0, T), *steps, Advance(0, END)])


def _all_of(cell: str) -> Calls:
    """All calls of STATE that are for a cell, for one event."""
    return [call for calls in STATE for call in calls if call[0] == cell]


BUNDLE = Deliver(0)
ONE = _clock(BUNDLE)
SEVERAL = _clock(BUNDLE, BUNDLE, BUNDLE)

_STATE_MEND = "make the cell do what conformance.program says of it"
_TIMER_MEND = "a timer is known by its name and tag, and comes out in the step of the advance that makes it due"


def _state() -> Probe:
    found = {}
    for cell in CELLS:
        found[f"{cell} state"] = _case(cell, ONE, [("a", _all_of(cell)), ("b", write(cell, 5))])
        found[f"{cell} state of another case with an equal key"] = _case(cell, ONE, [("a", write(cell, 7))])
        found[f"{cell} state over elements"] = _case(cell, ONE, [("a", write(cell, 1)) for _ in range(3)])
    found["all cells of a program"] = _case("all", ONE, [("a", [call for calls in STATE for call in calls])])
    return Probe("state in a bundle", found, _STATE_MEND)


def _events() -> Probe:
    """Keys and values of every kind, and times of many digits."""
    keys = ["", "a", "é 漢", "null", "1", "a/b", '"', "A"]
    values: list[Json] = [None, True, 0, -1.5, 2**53 + 1, "", "é\n", [], {}, {"é": [None, {"": False}]}]
    clock = renumbered([Advance(0, LATELY), BUNDLE, Advance(0, LATELY + 200_000)])
    seen: list[Row] = [(key, [["event", "seen"], ["emit", key, LATELY + 5], ["emit", key]]) for key in keys]
    timer = [["timers", "set", "one", LATELY + 100_001]]
    return Probe(
        "elements",
        {
            "keys and event times": _case("plain", clock, seen),
            "values": _case("plain", clock, [("a", [["emit", value] for value in values])]),
            "timers of our days": _case("timed", clock, [("a", timer)]),
            "equal elements": _case("plain", clock, [Event(id, "a", [["emit", 1]], LATELY + 1) for id in ("e1", "e2")]),
            "no element": _case("plain", clock),
        },
        "hand the program the event as it is, and give back what it emits with its event time",
    )


def _timers() -> Probe:
    without_sum = [[call for call in calls if call[0] != "sum"] for calls in TIMERS]
    moved = [["timers", "set", "one", T + 9_000, "m"], ["timers", "set", "one", T + 5_500, "m"]]
    calls = [call for calls in without_sum for call in calls]
    return Probe(
        "timers",
        {
            "timers": _case("timed", ONE, [("a", calls), ("b", without_sum[0])]),
            "a timer of another case with an equal key": _case("timed", ONE, [("a", without_sum[0][:1])]),
            "a moved timer": _case("timed", ONE, [("a", moved)]),
            "state in a timer's callback": _case("timed-sum", ONE, [("a", TIMERS[0]), ("b", TIMERS[1])]),
        },
        _TIMER_MEND,
    )


def _exceptions() -> Probe:
    raises: Calls = [["emit", "before"], ["raise", "no luck\nat all"], ["emit", "after"]]
    late = [["timers", "set", "one", T + 5_000, RAISES]]
    return Probe(
        "a program's exception",
        {
            "a program that raises": _case("plain", ONE, [("a", raises)]),
            "a neighbour of a program that raises": _case("plain", ONE, [("a", [["emit", "unharmed"]])]),
            "a program that raises in a timer": _case("timed", ONE, [("a", late)]),
        },
        "run callbacks by conformance.program.call, put its outputs out, and make traces by Trace.collect",
    )


def _exceptions_over_bundles() -> Probe:
    rows = [[["emit", "first"]], [["raise", "no luck"]], [["emit", "third"]]]
    return Probe(
        "a program's exception over bundles",
        {
            "a program that raises in a second bundle": _case("plain", SEVERAL, *[[("a", row)] for row in rows]),
            "a neighbour over bundles": _case("plain", SEVERAL, [("a", rows[0])], [("a", rows[0])], [("a", rows[2])]),
        },
        "run callbacks by conformance.program.call, put its outputs out, and make traces by Trace.collect",
    )


def _bundles() -> Probe:
    found = {
        f"{cell} state over bundles": _case(
            cell,
            SEVERAL,
            [("a", write(cell, 1)), ("b", write(cell, 5))],
            [("a", write(cell, 2))],
            [("a", _all_of(cell))],
        )
        for cell in CELLS
    }
    found["timers over bundles"] = _case(
        "timed",
        SEVERAL,
        [("a", [["timers", "set", "one", T + 8_000], ["timers", "set", "two", T + 9_000]])],
        [("a", [["timers", "set", "one", T + 5_000]])],
        [("a", [["timers", "clear", "two"], ["timers", "set", "two", T + 9_500, "t"]])],
    )
    found["an element in the last bundle alone"] = _case("plain", SEVERAL, [], [], [("a", [["event", "seen"]])])
    return Probe("several bundles", found, "deliver each bundle in its step, and keep state between them")


def _watermark() -> Probe:
    clock = _clock(BUNDLE, Advance(0, T + 6_000), BUNDLE, Advance(0, T + 7_000), Advance(0, T + 20_000))
    first = [
        ["timers", "set", "one", T + 5_000],
        ["timers", "set", "two", T + 9_000],
        ["timers", "set", "one", T + 9_500, "m"],
    ]
    then = [["timers", "set", "one", T + 12_000, "later"], ["timers", "set", "one", T + 40_000, "m"]]
    found = {
        "timers between advances": _case("timed", clock, [("a", first), ("b", first[:1])], [("a", then)]),
        "a timer beyond the last advance": _case("timed", clock, [("a", [["timers", "set", "one", END + 700_000]])]),
        "elements between advances": _case("plain", clock, [("a", [["event", "seen"]])], [("a", [["event", "seen"]])]),
    }
    for cell in CELLS:
        found[f"{cell} state between advances"] = _case(cell, clock, [("a", write(cell, 1))], [("a", write(cell, 2))])
    return Probe(
        "a driven watermark",
        found,
        "let an advance settle: what it makes due comes out in its step, and what comes out beyond the last step has the step DRAIN",
    )


def _windows() -> Probe:
    def at(number: int, offset: int, calls: Calls) -> Event:
        return Event(f"e{number}", "a", calls, T + offset)

    found = {
        f"{cell} state in windows": _case(
            f"{cell}-windows",
            ONE,
            [at(n, offset, write(cell, 1)) for n, offset in enumerate((1, 2, WINDOW, WINDOW - 1, 2 * WINDOW))],
        )
        for cell in CELLS
    }
    timer: Calls = [["timers", "set", "one", T + 900]]
    other: Calls = [["timers", "set", "one", T + WINDOW + 900]]
    found["elements in windows"] = _case(
        "windows", ONE, [at(1, 1, [["event", "seen"]]), at(2, WINDOW, [["event", "seen"]])]
    )
    found["timers in windows"] = _case("timed-windows", ONE, [at(1, 1, timer), at(2, WINDOW + 1, other)])
    return Probe(
        "fixed windows",
        found,
        "keep state and timers by key and window, and windows [start, start + size) aligned to the epoch",
    )


def _lateness() -> Probe:
    """Rows on every side of every reading, each under a key of its own: at T and, windows closed on the way, later."""
    later = T + 2 * WINDOW + 5_000
    clock = _clock(BUNDLE, Advance(0, T + 2 * WINDOW), Advance(0, later), BUNDLE)
    plain = {
        T - WINDOW: "far behind the watermark",
        T - 1: "1 ms behind the watermark",
        T: "at the watermark",
        T + 1: "1 ms ahead of the watermark",
        later - 1: "1 ms behind a later watermark",
        later: "at a later watermark",
        later + 1: "1 ms ahead of a later watermark",
    }
    windows = {
        T + 1: "of a window that ended long ago",
        T + 2 * WINDOW - 1: "of the window before",
        later - 1: "1 ms behind the watermark, of an open window",
        later: "at the watermark, of an open window",
        later + 1: "1 ms ahead of the watermark",
    }
    long = windows | {T + 2 * WINDOW - 1: "of a window that ended, within its allowed lateness"}

    def case(program: str, *bundles: Iterable[int]) -> Case:
        rows = [[Event(f"{program}@{t}", f"k{t}", [["event", "seen"]], t) for t in bundle] for bundle in bundles]
        return _case(program, clock, *rows)

    return Probe(
        "lateness",
        {
            "the global window": case("plain", [t for t in plain if t <= T + 1], [t for t in plain if t > T + 1]),
            "fixed windows": case("windows", [], windows),
            "fixed windows with allowed lateness": case("long-windows", [], long),
        },
        "declare in capabilities.lateness what the engine does, or hand it the watermark",
        {
            f"{p}@{t}": text
            for p, texts in (("plain", plain), ("windows", windows), ("long-windows", long))
            for t, text in texts.items()
        },
    )


def _over(clock: Schedule, about: str, mend: str, failing: bool = False) -> Probe:
    """State and timers over whatever the clock does between its bundles."""
    found = {
        f"{cell} state over {about}": _case(
            cell,
            clock,
            [("a", write(cell, 1)), ("b", write(cell, 5))],
            [("a", write(cell, 2))],
            [("a", write(cell, 3))],
        )
        for cell in CELLS
    }
    reached = tuple(found)
    first: Calls = [["timers", "set", "one", T + 8_000], ["timers", "set", "two", T + 9_000]]
    then: Calls = [["timers", "set", "one", T + 5_000], ["timers", "set", "two", T + 7_000, "t"]]
    found[f"timers over {about}"] = _case(
        "timed",
        clock,
        [("a", [*first, ["timers", "set", "one", T + 8_500, "c"]])],
        [("a", [*then, ["timers", "clear", "one", "c"]])],
    )
    seen: Calls = [["event", "seen"]]
    found[f"elements over {about}"] = _case("plain", clock, [("a", seen)], [("b", seen)])
    if not failing:
        return Probe(about, found, mend)
    idle = {
        f"{cell} state of a case without the bundle of {about}": _case(cell, clock, [("a", write(cell, 1))])
        for cell in CELLS
    }
    return Probe(about, found | idle, mend, reached=reached, idle=tuple(idle))


def _recoveries() -> Iterator[Probe]:
    yield _over(
        _clock(BUNDLE, Restart(0), BUNDLE, Restart(0), BUNDLE),
        "a restart",
        "take up state and timers from the checkpoint, and nothing else",
    )
    clock = _clock(BUNDLE, Advance(0, T + 6_000), Restart(0), Advance(0, T + 20_000))
    timers: Calls = [["timers", "set", "one", T + 5_000], ["timers", "set", "two", T + 9_000]]
    yield Probe(
        "a restart behind an advance",
        {"timers that have fired, and that have not": _case("timed", clock, [("a", timers)])},
        "take up state and timers from the checkpoint, and nothing else",
    )
    for resume, about in ((False, "a retry"), (True, "a resume")):
        yield _over(
            _clock(BUNDLE, FailOnce(0, resume), BUNDLE, BUNDLE),
            about,
            "leave nothing of the attempt that failed: state, timers, output",
            failing=True,
        )


def _partitions(count: int, words: str) -> Probe:
    clock = renumbered([Partitions(0, count), *_clock(BUNDLE, BUNDLE).steps])
    keys = [f"k{n}" for n in range(12)]
    found = {
        f"{cell} state in {words}": _case(cell, clock, *[[(k, write(cell, n)) for k in keys] for n in (1, 2)])
        for cell in CELLS
    }
    timer: Calls = [["timers", "set", "one", T + 5_000]]
    found[f"timers in {words}"] = _case("timed", clock, [(key, timer) for key in keys])
    found[f"elements in {words}"] = _case("plain", clock, [(key, [["event", "seen"]]) for key in keys])
    return Probe(words, found, "keep each key's state in one of as many partitions as the first step says")


ROWS_AND_TIMER = "state in a timer at a coalesced advance"
"""A key has an element in the bundle in whose step its timer fires. Where timers are emulated on one timeout per key, it may wait:
Spark 4.3.0 times out no key that has rows in the micro-batch."""


def _coalesced() -> Probe:
    clock = _clock(BUNDLE, Advance(0, T + 6_000, coalesced=True), BUNDLE, BUNDLE)
    offsets = ([1], [0, 3_000, 6_001], [3_001, 6_000, 6_002])
    rows = [[Event(f"at {o}", f"k{o}", [["event", "seen"]], T + o) for o in bundle] for bundle in offsets]
    timer: Calls = [["timers", "set", "one", T + 5_000], ["timers", "set", "two", T + 9_000]]
    return Probe(
        "a coalesced advance",
        {
            "lateness around a coalesced advance": _case("plain", clock, *rows),
            "timers at a coalesced advance": _case("timed", clock, [("a", timer)]),
            ROWS_AND_TIMER: _case(
                "timed-sum", clock, [("a", [*timer, ["sum", "add", 1]])], [("a", [["sum", "add", 2]])]
            ),
        },
        "filter the bundle by the watermark before, then fire in the bundle's step what has come due",
    )


def _processing_time() -> Probe:
    clock = _clock(BUNDLE, Wait(0, 5 * LIFE), BUNDLE)
    timer: Calls = [["timers", "set_after", "one", LIFE]]
    write: Calls = [["value", "set", 1], ["value", "get"], ["bag", "add", 1], ["map", "put", "x", 1]]
    read: Calls = [["value", "get"], ["bag", "get"], ["map", "items"]]
    return Probe(
        "processing time",
        {
            "a timer in processing time": _case("clocked", clock, [("a", timer)], [("a", [["event", "seen"]])]),
            "a timer in processing time that is cleared": _case(
                "clocked", clock, [("a", [*timer, ["timers", "clear", "one"]])]
            ),
            "state with a TTL": _case("expiring", clock, [("a", write)], [("a", read), ("b", write)]),
        },
        "let at least so much processing time pass as the wait says, and what has come due come out in its step",
    )


def _initial_state() -> Probe:
    clock = renumbered([Deliver(0, initial=True), Advance(0, T), BUNDLE, BUNDLE, Advance(0, END)])
    read: Calls = [["value", "get"]]
    rows = [Event("i1", "a", 7, 1), Event("i2", "b", 8, 1)]
    return Probe(
        "initial state",
        {"initial state": _case("begun", clock, rows, [("a", read), ("c", read)], [("b", read)])},
        "hand each element of the initial state to on_initial before the first element of its key, and put nothing out for it",
    )


def _inspection() -> Probe:
    writes: Calls = [
        ["value", "set", 7],
        ["bag", "add", 2],
        ["bag", "add", 1],
        ["map", "put", "x", 3],
        ["map", "put", "y", 4],
    ]
    clears: Calls = [["value", "clear"], ["bag", "clear"], ["map", "remove", "x"]]
    return Probe(
        "inspection",
        {
            "stored state that is read from outside": _case(
                "inspected", ONE, [("a", writes), ("b", [*writes, *clears])]
            ),
        },
        'read from outside what is stored when the last step is done, and put it out as {"cell": name, "stored": value}, by key and cell',
    )


PROBES: tuple[Probe, ...] = (
    _state(),
    _events(),
    _timers(),
    _exceptions(),
    _exceptions_over_bundles(),
    _bundles(),
    _watermark(),
    _windows(),
    _lateness(),
    *_recoveries(),
    _partitions(1, "one partition"),
    _partitions(5, "five partitions"),
    _coalesced(),
    _processing_time(),
    _initial_state(),
    _inspection(),
)

CHAIN = _case("chain", ONE, [("a", [["timers", "set", "one", T + 5_000]])])
"""A timer sets another, both due in one advance."""

REFUSED = _case("timed", ONE, [("a", [["timers", "set", "one", "soon"]])])
"""No engine takes a word for a time."""

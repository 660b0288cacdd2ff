"""Trials of event time and processing time: the watermark, windows, lateness, waits."""

from collections.abc import Iterable

from conformance.model.case import Case
from conformance.model.steps import Advance, Event, Wait
from conformance.testing.calls import LIFE, WINDOW, Calls, T
from conformance.testing.trials.trial import (
    BUNDLE,
    CELLS,
    END,
    ONE,
    Trial,
    case_of,
    timeline_of,
    write,
)

ROWS_AND_TIMER = "state in a timer at a coalesced advance"
"""A key whose timer fires in the step of a bundle with an element of the key. If timers are emulated by one timeout per
key, the timer may wait: Spark 4.3.0 times out no key with rows in the micro-batch."""


def watermark() -> Trial:
    timeline = timeline_of(BUNDLE, Advance(0, T + 6_000), BUNDLE, Advance(0, T + 7_000), Advance(0, T + 20_000))
    first = [
        ["timers", "set", "one", T + 5_000],
        ["timers", "set", "two", T + 9_000],
        ["timers", "set", "one", T + 9_500, "m"],
    ]
    then = [["timers", "set", "one", T + 12_000, "later"], ["timers", "set", "one", T + 40_000, "m"]]
    found = {
        "timers between advances": case_of("timed", timeline, [("a", first), ("b", first[:1])], [("a", then)]),
        "a timer beyond the last advance": case_of(
            "timed", timeline, [("a", [["timers", "set", "one", END + 700_000]])]
        ),
        "elements between advances": case_of(
            "plain", timeline, [("a", [["event", "seen"]])], [("a", [["event", "seen"]])]
        ),
    }
    for cell in CELLS:
        found[f"{cell} state between advances"] = case_of(
            cell, timeline, [("a", write(cell, 1))], [("a", write(cell, 2))]
        )
    return Trial(
        "a driven watermark",
        found,
        "let an advance settle: what it makes due comes out in its step, and what comes out beyond the last step "
        "has the step DRAIN",
    )


def coalesced() -> Trial:
    timeline = timeline_of(BUNDLE, Advance(0, T + 6_000, coalesced=True), BUNDLE, BUNDLE)
    offsets = ([1], [0, 3_000, 6_001], [3_001, 6_000, 6_002])
    rows = [[Event(f"at {o}", f"k{o}", [["event", "seen"]], T + o) for o in bundle] for bundle in offsets]
    timer: Calls = [["timers", "set", "one", T + 5_000], ["timers", "set", "two", T + 9_000]]
    return Trial(
        "a coalesced advance",
        {
            "lateness around a coalesced advance": case_of("plain", timeline, *rows),
            "timers at a coalesced advance": case_of("timed", timeline, [("a", timer)]),
            ROWS_AND_TIMER: case_of(
                "timed-sum", timeline, [("a", [*timer, ["sum", "add", 1]])], [("a", [["sum", "add", 2]])]
            ),
        },
        "filter the bundle by the watermark before, then fire in the bundle's step what has come due",
    )


def windows() -> Trial:
    def at(number: int, offset: int, calls: Calls) -> Event:
        return Event(f"e{number}", "a", calls, T + offset)

    found = {
        f"{cell} state in windows": case_of(
            f"{cell}-windows",
            ONE,
            [at(n, offset, write(cell, 1)) for n, offset in enumerate((1, 2, WINDOW, WINDOW - 1, 2 * WINDOW))],
        )
        for cell in CELLS
    }
    timer: Calls = [["timers", "set", "one", T + 900]]
    other: Calls = [["timers", "set", "one", T + WINDOW + 900]]
    found["elements in windows"] = case_of(
        "windows", ONE, [at(1, 1, [["event", "seen"]]), at(2, WINDOW, [["event", "seen"]])]
    )
    found["timers in windows"] = case_of("timed-windows", ONE, [at(1, 1, timer), at(2, WINDOW + 1, other)])
    return Trial(
        "fixed windows",
        found,
        "keep state and timers by key and window, and windows [start, start + size) aligned to the epoch",
    )


def lateness() -> Trial:
    """Rows on every side of every reading of *late*, each under a key of its own. Some come at T. Some come later,
    after windows have closed."""
    later = T + 2 * WINDOW + 5_000
    timeline = timeline_of(BUNDLE, Advance(0, T + 2 * WINDOW), Advance(0, later), BUNDLE)
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
        return case_of(program, timeline, *rows)

    return Trial(
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


def processing_time() -> Trial:
    timeline = timeline_of(BUNDLE, Wait(0, 5 * LIFE), BUNDLE)
    timer: Calls = [["timers", "set_after", "one", LIFE]]
    write: Calls = [["value", "set", 1], ["value", "get"], ["bag", "add", 1], ["map", "put", "x", 1]]
    read: Calls = [["value", "get"], ["bag", "get"], ["map", "items"]]
    return Trial(
        "processing time",
        {
            "a timer in processing time": case_of("clocked", timeline, [("a", timer)], [("a", [["event", "seen"]])]),
            "a timer in processing time that is cleared": case_of(
                "clocked", timeline, [("a", [*timer, ["timers", "clear", "one"]])]
            ),
            "state with a TTL": case_of("expiring", timeline, [("a", write)], [("a", read), ("b", write)]),
        },
        "let at least so much processing time pass as the wait says, and what has come due come out in its step",
    )

"""Trials of elements, state, timers and exceptions, in one bundle and in several."""

from conformance.model.schedule import renumbered
from conformance.model.steps import Advance, Event
from conformance.model.values import Json
from conformance.testing.calls import RAISES, STATE, TIMERS, Calls, T
from conformance.testing.trials.trial import (
    BUNDLE,
    CELLS,
    LATELY,
    ONE,
    SEVERAL,
    Row,
    Trial,
    all_of,
    case_of,
    write,
)

STATE_MEND = "make the cell do what conformance.model.program says of it"
TIMER_MEND = "a timer is known by its name and tag, and comes out in the step of the advance that makes it due"


def state() -> Trial:
    found = {}
    for cell in CELLS:
        found[f"{cell} state"] = case_of(cell, ONE, [("a", all_of(cell)), ("b", write(cell, 5))])
        found[f"{cell} state of another case with an equal key"] = case_of(cell, ONE, [("a", write(cell, 7))])
        found[f"{cell} state over elements"] = case_of(cell, ONE, [("a", write(cell, 1)) for _ in range(3)])
    found["all cells of a program"] = case_of("all", ONE, [("a", [call for calls in STATE for call in calls])])
    return Trial("state in a bundle", found, STATE_MEND)


def typed() -> Trial:
    read: Calls = [["value", "get"]]
    numbers: list[Calls] = [[*read, ["value", "set", number], *read] for number in (0, 2**63 - 1, -(2**63))]
    return Trial(
        "typed state",
        {
            "numbers in typed state": case_of("typed", SEVERAL, *([("a", calls)] for calls in numbers)),
            "typed state that is cleared": case_of(
                "typed", SEVERAL, [("a", [["value", "set", 1], ["value", "clear"], *read])]
            ),
        },
        "keep a typed cell in the engine's own state of its type",
    )


def containers() -> Trial:
    read: Calls = [["value", "get"]]
    written: list[Calls] = [[*read, ["value", "set", value], *read] for value in ({"a": [1, 2**40], "b": []}, {})]
    return Trial(
        "arrays and maps",
        {"a map of arrays in typed state": case_of("containers", SEVERAL, *([("a", calls)] for calls in written))},
        "keep a typed cell in the engine's own state of its type",
    )


KEY_MEND = "group by the engine's own key of the type, and hand the program the key that the engine hands over"


def null_keys() -> Trial:
    rows: list[Row] = [(name, write("bag", 1)) for name in ("null", "empty")]
    return Trial("null keys", {"a null as a key": case_of("null-keys", SEVERAL, rows, rows)}, KEY_MEND)


def typed_keys() -> Trial:
    calls = write("bag", 1)
    rows: list[Row] = [(name, calls) for name in ("1", "2**40", "a", "A", "1")]
    return Trial(
        "typed keys",
        {
            "keys of two types": case_of("typed-keys", SEVERAL, rows, rows[1:3], rows[:1]),
            "typed keys of another case": case_of("typed-keys", SEVERAL, rows[:2]),
        },
        KEY_MEND,
    )


def misfits() -> Trial:
    """What an engine keeps of a value that does not fit is a scenario's question. The program goes on in any event."""
    calls: list[Calls] = [[["value", "set", 1]], [["value", "set", "word"]], [["value", "set", 2], ["value", "get"]]]
    return Trial(
        "misfits",
        {"a word in a number's state": case_of("misfits", SEVERAL, *([("a", made)] for made in calls))},
        "raise Refused where the engine refuses a write, and let the program go on",
    )


def events() -> Trial:
    """Keys and values of every kind, and times of many digits."""
    keys = ["", "a", "é 漢", "null", "1", "a/b", '"', "A"]
    values: list[Json] = [None, True, 0, -1.5, 2**53 + 1, "", "é\n", [], {}, {"é": [None, {"": False}]}]
    timeline = renumbered([Advance(0, LATELY), BUNDLE, Advance(0, LATELY + 200_000)])
    seen: list[Row] = [(key, [["event", "seen"], ["emit", key, LATELY + 5], ["emit", key]]) for key in keys]
    timer = [["timers", "set", "one", LATELY + 100_001]]
    return Trial(
        "elements",
        {
            "keys and event times": case_of("plain", timeline, seen),
            "values": case_of("plain", timeline, [("a", [["emit", value] for value in values])]),
            "timers of our days": case_of("timed", timeline, [("a", timer)]),
            "equal elements": case_of(
                "plain", timeline, [Event(id, "a", [["emit", 1]], LATELY + 1) for id in ("e1", "e2")]
            ),
            "no element": case_of("plain", timeline),
        },
        "hand the program the event as it is, and give back what it emits with its event time",
    )


def timers() -> Trial:
    without_sum = [[call for call in calls if call[0] != "sum"] for calls in TIMERS]
    moved = [["timers", "set", "one", T + 9_000, "m"], ["timers", "set", "one", T + 5_500, "m"]]
    calls = [call for calls in without_sum for call in calls]
    return Trial(
        "timers",
        {
            "timers": case_of("timed", ONE, [("a", calls), ("b", without_sum[0])]),
            "a timer of another case with an equal key": case_of("timed", ONE, [("a", without_sum[0][:1])]),
            "a moved timer": case_of("timed", ONE, [("a", moved)]),
            "state in a timer's callback": case_of("timed-sum", ONE, [("a", TIMERS[0]), ("b", TIMERS[1])]),
        },
        TIMER_MEND,
    )


def output_times() -> Trial:
    calls: Calls = [["emit", "at once"], ["timers", "set", "one", T + 5_000]]
    return Trial(
        "output times",
        {"the event times of outputs": case_of("stamped", ONE, [("a", calls), ("b", calls)])},
        "give each emission of a program that says timed the event time that the engine gave the output: that of "
        "the element, or of the timer",
    )


def exceptions() -> Trial:
    raises: Calls = [["emit", "before"], ["raise", "no luck\nat all"], ["emit", "after"]]
    late = [["timers", "set", "one", T + 5_000, RAISES]]
    return Trial(
        "a program's exception",
        {
            "a program that raises": case_of("plain", ONE, [("a", raises)]),
            "a neighbour of a program that raises": case_of("plain", ONE, [("a", [["emit", "unharmed"]])]),
            "a program that raises in a timer": case_of("timed", ONE, [("a", late)]),
        },
        "run callbacks by conformance.model.program.call, put its outputs out, and make traces by Trace.collect",
        apart=True,  # where a program stops, no row of the pack is counted
    )


def exceptions_over_bundles() -> Trial:
    rows = [[["emit", "first"]], [["raise", "no luck"]], [["emit", "third"]]]
    return Trial(
        "a program's exception over bundles",
        {
            "a program that raises in a second bundle": case_of("plain", SEVERAL, *[[("a", row)] for row in rows]),
            "a neighbour over bundles": case_of("plain", SEVERAL, [("a", rows[0])], [("a", rows[0])], [("a", rows[2])]),
        },
        "run callbacks by conformance.model.program.call, put its outputs out, and make traces by Trace.collect",
        apart=True,  # where a program stops, no row of the pack is counted
    )


def bundles() -> Trial:
    found = {
        f"{cell} state over bundles": case_of(
            cell,
            SEVERAL,
            [("a", write(cell, 1)), ("b", write(cell, 5))],
            [("a", write(cell, 2))],
            [("a", all_of(cell))],
        )
        for cell in CELLS
    }
    found["timers over bundles"] = case_of(
        "timed",
        SEVERAL,
        [("a", [["timers", "set", "one", T + 8_000], ["timers", "set", "two", T + 9_000]])],
        [("a", [["timers", "set", "one", T + 5_000]])],
        [("a", [["timers", "clear", "two"], ["timers", "set", "two", T + 9_500, "t"]])],
    )
    found["an element in the last bundle alone"] = case_of("plain", SEVERAL, [], [], [("a", [["event", "seen"]])])
    return Trial("several bundles", found, "deliver each bundle in its step, and keep state between them")

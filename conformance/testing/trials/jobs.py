"""Trials of a job's fate: restarts, failures, partitions, initial state, state read from outside."""

from collections.abc import Iterator

from conformance.model.schedule import Schedule, renumbered
from conformance.model.steps import (
    CRASH_POINTS,
    Advance,
    Crash,
    Deliver,
    Event,
    FailOnce,
    NoData,
    Partitions,
    Plan,
    Restart,
    SinkFails,
)
from conformance.testing.calls import Calls, T
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


def _over(timeline: Schedule, about: str, mend: str, failing: bool = False) -> Trial:
    """State and timers over the steps that a timeline has between its bundles."""
    found = {
        f"{cell} state over {about}": case_of(
            cell,
            timeline,
            [("a", write(cell, 1)), ("b", write(cell, 5))],
            [("a", write(cell, 2))],
            [("a", write(cell, 3))],
        )
        for cell in CELLS
    }
    reached = tuple(found)
    first: Calls = [["timers", "set", "one", T + 8_000], ["timers", "set", "two", T + 9_000]]
    then: Calls = [["timers", "set", "one", T + 5_000], ["timers", "set", "two", T + 7_000, "t"]]
    found[f"timers over {about}"] = case_of(
        "timed",
        timeline,
        [("a", [*first, ["timers", "set", "one", T + 8_500, "c"]])],
        [("a", [*then, ["timers", "clear", "one", "c"]])],
    )
    seen: Calls = [["event", "seen"]]
    found[f"elements over {about}"] = case_of("plain", timeline, [("a", seen)], [("b", seen)])
    if not failing:
        return Trial(about, found, mend)
    idle = {
        f"{cell} state of a case without the bundle of {about}": case_of(cell, timeline, [("a", write(cell, 1))])
        for cell in CELLS
    }
    return Trial(about, found | idle, mend, reached=reached, idle=tuple(idle))


RESUMED = "take up state and timers from the checkpoint, and nothing else"
UNDONE = "leave nothing of the attempt that failed: state, timers, output"


def recoveries() -> Iterator[Trial]:
    yield _over(timeline_of(BUNDLE, Restart(0), BUNDLE, Restart(0), BUNDLE), "a restart", RESUMED)
    yield _over(timeline_of(Restart(0), BUNDLE, BUNDLE, BUNDLE), "a restart before the first bundle", RESUMED)
    timeline = timeline_of(BUNDLE, Advance(0, T + 6_000), Restart(0), Advance(0, T + 20_000))
    timers: Calls = [["timers", "set", "one", T + 5_000], ["timers", "set", "two", T + 9_000]]
    yield Trial(
        "a restart behind an advance",
        {"timers that have fired, and that have not": case_of("timed", timeline, [("a", timers)])},
        RESUMED,
    )
    for resume, about in ((False, "a retry"), (True, "a resume")):
        fails = FailOnce(0, resume)
        yield _over(timeline_of(BUNDLE, fails, BUNDLE, BUNDLE), about, UNDONE, failing=True)
        yield _over(timeline_of(fails, BUNDLE, BUNDLE, BUNDLE), f"{about} of the first bundle", UNDONE)
    for steps, about in (((BUNDLE, SinkFails(0), BUNDLE, BUNDLE), ""), ((SinkFails(0), BUNDLE, BUNDLE), ", the first")):
        yield _over(timeline_of(*steps), f"a failure of the sink behind a bundle{about}", UNDONE)
    for at, words in CRASH_POINTS.items():
        yield _over(timeline_of(BUNDLE, Crash(0, at), BUNDLE, BUNDLE), f"a kill when {words}", RESUMED)
    twice = timeline_of(BUNDLE, Crash(0, "partition"), Crash(0, "commit"), BUNDLE, BUNDLE)
    yield _over(twice, "two kills in one bundle", RESUMED)


def partitions(count: int, words: str) -> Trial:
    timeline = renumbered([Partitions(0, count), *timeline_of(BUNDLE, BUNDLE).steps])
    keys = [f"k{n}" for n in range(12)]
    found = {
        f"{cell} state in {words}": case_of(cell, timeline, *[[(k, write(cell, n)) for k in keys] for n in (1, 2)])
        for cell in CELLS
    }
    timer: Calls = [["timers", "set", "one", T + 5_000]]
    found[f"timers in {words}"] = case_of("timed", timeline, [(key, timer) for key in keys])
    found[f"elements in {words}"] = case_of("plain", timeline, [(key, [["event", "seen"]]) for key in keys])
    return Trial(words, found, "keep each key's state in one of as many partitions as the first step says")


def plan(name: str) -> Trial:
    """Another query around the operator, which an engine lists by that name."""
    timeline = renumbered([Plan(0, name), *timeline_of(BUNDLE, BUNDLE).steps])
    found = {
        f"{cell} state in the plan {name}": case_of(cell, timeline, *[[("a", write(cell, n))] for n in (1, 2)])
        for cell in CELLS
    }
    found[f"elements in the plan {name}"] = case_of("plain", timeline, [(key, [["event", "seen"]]) for key in "abc"])
    return Trial(name, found, "build a query that hands the operator the same elements, and passes on its output")


def initial_state() -> Trial:
    timeline = renumbered([Deliver(0, initial=True), Advance(0, T), BUNDLE, BUNDLE, Advance(0, END)])
    read: Calls = [["value", "get"]]
    rows = [Event("i1", "a", 7, 1), Event("i2", "b", 8, 1)]
    return Trial(
        "initial state",
        {"initial state": case_of("begun", timeline, rows, [("a", read), ("c", read)], [("b", read)])},
        "hand each element of the initial state to on_initial before the first element of its key, and put nothing "
        "out for it",
    )


def no_data() -> Trial:
    timeline = timeline_of(BUNDLE, NoData(0), BUNDLE, Advance(0, T + 6_000), NoData(0), BUNDLE)
    return _over(
        timeline, "a bundle without data", "let what is due act in a bundle without any element, and nothing else"
    )


def inspection() -> Trial:
    writes: Calls = [
        ["value", "set", 7],
        ["bag", "add", 2],
        ["bag", "add", 1],
        ["map", "put", "x", 3],
        ["map", "put", "y", 4],
    ]
    clears: Calls = [["value", "clear"], ["bag", "clear"], ["map", "remove", "x"]]
    return Trial(
        "inspection",
        {
            "stored state that is read from outside": case_of(
                "inspected", ONE, [("a", writes), ("b", [*writes, *clears])]
            ),
            "a count of stored rows": case_of("counted", ONE, [("a", writes), ("b", [*writes, *clears])]),
        },
        'read from outside what is stored when the last step is done, and put it out as {"cell": name, "stored": '
        "value}, by key and cell; "
        'after the last bundle and in the end put out {"surplus": number} under the key "", see JobKind.ROW_COUNT',
    )

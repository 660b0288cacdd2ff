"""Dedup, then count: drop the duplicates of a message, count the rest in fixed windows, and emit the count when the
window ends.

In effect, the program is two stateful operators in a row. Two messages are duplicates if their text and their event
time are equal, as when a source delivers a message again. So duplicates share a window, and the program forgets them
with that window. In one query of Spark, ``dropDuplicates`` with the event time and an aggregation over ``window()`` do
the same. The output is as in windowed counting.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import BUNDLINGS, RECOVERIES, REDELIVER, RENAMINGS, REORDERINGS, SINGLES
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Arrival, Event
from conformance.model.values import Json
from conformance.scenarios.documents import SPARK_GUIDE
from conformance.scenarios.shared import DRIVEN, survives
from conformance.scenarios.stories.windowed_counting import (
    BEAM_AT_THE_END,
    BEAM_ONCE,
    WINDOW,
    comes_out_once,
    counts,
    in_the_first_advance_that_reaches_its_end,
    not_before_its_end,
    windows,
)

SPARK_DEDUP = SPARK_GUIDE.says(
    "You can deduplicate records in data streams using a unique identifier in the events",
    "Streaming deduplication",
    "streaming-deduplication",
)


class CountDistinct(Program):
    cells = {"seen": Cell.SET, "count": Cell.COMBINING}
    timers = ("end",)
    times = ("window",)
    windowing = WINDOW

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        message = f"{event.value} {event.event_time}"
        if message not in state.seen.get():
            state.seen.add(message)
            state.count.add(1)
            timers.set("end", WINDOW.expiry(event.event_time))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"window": timer.time - WINDOW.size, "count": state.count.get()})
        state.seen.clear()
        state.count.clear()


Message = tuple[Json, int]
"""(text, event time in ms)."""


def message(arrival: Arrival) -> Message:
    return arrival.event.value, arrival.event.event_time


def last_counts(run: Observation) -> Iterator[tuple[str, list[Arrival], int]]:
    """(a window in words, what arrived for it, its last count); the count is 0 if the window did not come out."""
    emitted = counts(run)
    for (key, start), arrivals in windows(run).items():
        count = emitted[key, start][-1].value["count"] if (key, start) in emitted else 0
        yield f"the window from {start} of key {key}", arrivals, count


of_counts = Guarantees("counts")


@of_counts("every message is counted")
def every_message_is_counted(run: Observation) -> Iterator[Finding]:
    for window, arrivals, count in last_counts(run):
        distinct = len({message(arrival) for arrival in arrivals})
        yield count >= distinct or f"{window} had {distinct} messages and counted {count}"


def _no_more_than(window: str, arrivals: list[Arrival], count: int) -> Finding:
    distinct = len({message(arrival) for arrival in arrivals})
    return (
        count <= distinct or f"{window} had {distinct} messages, {len(arrivals)} with duplicates, and counted {count}"
    )


@of_counts("a duplicate in the same bundle is not counted", source=SPARK_DEDUP, vacuous_under=(SINGLES,))
def a_duplicate_in_the_same_bundle_is_not_counted(run: Observation) -> Iterator[Finding]:
    """Exercised where each duplicate of the window is in the bundle of its first arrival."""
    for window, arrivals, count in last_counts(run):
        delivered = {(message(arrival), arrival.step) for arrival in arrivals}
        if len(delivered) < len(arrivals) and len(delivered) == len({said for said, _ in delivered}):
            yield _no_more_than(window, arrivals, count)


@of_counts(
    "a duplicate in a later bundle is not counted", source=SPARK_DEDUP, needs=frozenset({Feature.SEVERAL_BUNDLES})
)
def a_duplicate_in_a_later_bundle_is_not_counted(run: Observation) -> Iterator[Finding]:
    for window, arrivals, count in last_counts(run):
        delivered = {(message(arrival), arrival.step) for arrival in arrivals}
        if len(delivered) > len({said for said, _ in delivered}):
            yield _no_more_than(window, arrivals, count)


@of_counts("keys do not drop each other's messages")
def keys_do_not_drop_each_others_messages(run: Observation) -> Iterator[Finding]:
    """Exercised where two keys have the same message."""
    keys: dict[Message, set[str]] = {}
    for arrival in run.arrivals:
        keys.setdefault(message(arrival), set()).add(arrival.event.key)
    for window, arrivals, count in last_counts(run):
        messages = {message(arrival) for arrival in arrivals}
        if any(len(keys[said]) > 1 for said in messages):
            yield (
                count >= len(messages)
                or f"{window} had {len(messages)} messages, another key had some of them, and counted {count}"
            )


of_counts("a window comes out once", source=BEAM_ONCE)(comes_out_once)
of_counts("a window does not come out before its end", source=BEAM_AT_THE_END)(not_before_its_end)
of_counts("a window comes out in the first advance that reaches its end", needs=DRIVEN)(
    in_the_first_advance_that_reaches_its_end
)

SCENARIO = Scenario(
    name="dedup then count",
    summary=f"Drop the duplicates of a message, and count what is left in each window of {WINDOW.size} ms.",
    programs={"counts": CountDistinct()},
    domain={"counts": Domain(offsets=(0, 0, 0, 1, 2, 5_000, 10_000, -1, -5_000), keys=2, values=("x", "y"))},
    # Order is kept within a window of a key, not between windows.
    stable_under={
        "counts": promise((*REORDERINGS, *BUNDLINGS, *RECOVERIES, *RENAMINGS, REDELIVER), Equivalence.SAME_MULTISET)
    },
    guarantees=(
        *of_counts,
        Guarantee(
            "counts are the same when messages are delivered again",
            "counts",
            same_under=(REDELIVER,),
            alike=Equivalence.SAME_MULTISET,
            source=SPARK_DEDUP,
        ),
        *survives("counts are", "counts", Equivalence.SAME_MULTISET),
    ),
)

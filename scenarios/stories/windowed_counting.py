"""Windowed counting: count the elements of a key in each fixed window, and emit the count when the watermark reaches
the window's end.

In Spark's append mode, an aggregation over ``window()`` does the same. In Beam, ``FixedWindows`` with ``Count.PerKey``
does. The first program allows no lateness: a window is over at its end. The second program allows some, as Beam can.
Each late element that is allowed brings its window out again, with the new count.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, RECOVERIES, RENAMINGS, REORDERINGS
from conformance.model.program import Cell, Emit, FixedWindows, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Arrival, Event
from conformance.model.trace import Emission
from conformance.scenarios.documents import BEAM_GUIDE, DROPPED_AS_LATE, SPARK_GUIDE
from conformance.scenarios.shared import DRIVEN, in_order, not_before, once, survives, where_the_watermark_moves
from conformance.support.grouping import grouped

WINDOW = FixedWindows(size=10_000)
REVISED = FixedWindows(size=10_000, allowed_lateness=5_000)

SPARK_COUNTED = SPARK_GUIDE.says(
    "guarantees that the engine will never drop any data that is less than 2 hours delayed",
    "Semantic guarantees of aggregation with watermarking",
    "semantic-guarantees-of-aggregation-with-watermarking",
)
SPARK_FINAL = SPARK_GUIDE.says(
    "Append Mode, where only the final counts are written to sink",
    "Handling late data and watermarking",
    "handling-late-data-and-watermarking",
)
SPARK_WINDOWS = SPARK_GUIDE.says(
    "aggregate values are maintained for each window the event-time of a row falls into",
    "Window operations on event time",
    "window-operations-on-event-time",
)
BEAM_AT_THE_END = BEAM_GUIDE.says(
    "only fires when the watermark passes the end of the window", "Event time triggers", "event-time-triggers"
)
BEAM_ONCE = BEAM_GUIDE.says(
    "the default trigger emits exactly once, and late data is discarded", "Default trigger", "default-trigger"
)
BEAM_REVISED = BEAM_GUIDE.says(
    "emits the results of the window when the Beam's watermark passes the end of the window, and then fires each "
    "time late data arrives",
    "Default trigger",
    "default-trigger",
)


class CountPerWindow(Program):
    cells = {"count": Cell.COMBINING}
    timers = ("end",)
    times = ("window",)
    windowing = WINDOW

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.count.add(1)
        timers.set("end", WINDOW.expiry(event.event_time))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"window": timer.time - WINDOW.size, "count": state.count.get()})
        state.count.clear()


class RevisedCount(Program):
    """Emits the count at the window's end, and again with every element until the allowed lateness is over."""

    cells = {"count": Cell.COMBINING, "ended": Cell.VALUE}
    timers = ("end", "expire")
    times = ("window",)
    windowing = REVISED

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        start = REVISED.start(event.event_time)
        state.count.add(1)
        if state.ended.get():
            emit({"window": start, "count": state.count.get()})
        else:
            timers.set("end", start + REVISED.size)
            timers.set("expire", REVISED.expiry(event.event_time))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        if timer.name == "end":
            state.ended.set(True)
            emit({"window": timer.time - REVISED.size, "count": state.count.get()})
        else:
            state.count.clear()
            state.ended.clear()


Of = tuple[str, int]
"""A window: its key and its start (ms)."""


def windows(run: Observation) -> dict[Of, list[Arrival]]:
    """Window -> the elements that arrived for it."""
    return grouped(((a.event.key, WINDOW.start(a.event.event_time)), a) for a in run.arrivals)


def counts(run: Observation) -> dict[Of, list[Emission]]:
    """Window -> what came out of it, in order."""
    return grouped(((emission.key, start), emission) for emission, start in run.tagged("window"))


def past_its_end(arrival: Arrival) -> bool:
    return WINDOW.expiry(arrival.event.event_time) <= arrival.settled


def in_time(run: Observation) -> Iterator[tuple[Of, list[Emission]]]:
    """(window, what came out of it) of the windows for which no element came after the window's end."""
    arrived = windows(run)
    for of, emitted in counts(run).items():
        if not any(map(past_its_end, arrived.get(of, []))):
            yield of, emitted


of_windows = Guarantees("windows")
of_revised = Guarantees("revised")


@of_windows("every on-time element is counted in its window", source=SPARK_COUNTED)
def every_on_time_element_is_counted(run: Observation) -> Iterator[Finding]:
    yield from _counted(run, "last", lambda told: told[-1])


@of_revised("every on-time element is counted in its window with allowed lateness")
def every_on_time_element_was_counted(run: Observation) -> Iterator[Finding]:
    """For windows that come out again. What comes out of a window that should be over is another guarantee's
    question."""
    yield from _counted(run, "highest", max)


def _counted(run: Observation, which: str, of: Callable[[list[int]], int]) -> Iterator[Finding]:
    """Whether this one (``of``) of a window's counts has all of the window's elements on time."""
    emitted = counts(run)
    for (key, start), arrivals in windows(run).items():
        if wanted := sum(arrival.on_time for arrival in arrivals):
            told = [emission.value["count"] for emission in emitted.get((key, start), [])]
            found = of(told) if told else 0
            yield (
                found >= wanted
                or f"the window from {start} of key {key} had {wanted} on-time elements, its {which} count is {found}"
            )


@of_windows("a window counts no more elements than it got")
@of_revised("a window with allowed lateness counts no more elements than it got")
def no_more_than_it_got(run: Observation) -> Iterator[Finding]:
    arrived = windows(run)
    for (key, start), emitted in counts(run).items():
        had, highest = len(arrived.get((key, start), [])), max(e.value["count"] for e in emitted)
        yield highest <= had or f"the window from {start} of key {key} had {had} elements and counted {highest}"


@of_windows("windows of a key do not share a count", source=SPARK_WINDOWS)
def windows_do_not_share_a_count(run: Observation) -> Iterator[Finding]:
    """Exercised where a key had elements in several windows."""
    arrived, emitted = windows(run), counts(run)
    for key in run.arrivals_by_key:
        mine = [of for of in arrived if of[0] == key]
        for of in mine if len(mine) > 1 else []:
            for emission in emitted.get(of, []):
                had, count = len(arrived[of]), emission.value["count"]
                yield count <= had or f"the window from {of[1]} of key {key} counted {count}, {had} of them its own"


@of_windows("a window comes out once", source=BEAM_ONCE)
@of_revised("a window with allowed lateness comes out once if no element comes after its end")
def comes_out_once(run: Observation) -> Iterator[Finding]:
    """Not asked of a window for which an element came after the window's end."""
    for (key, start), emitted in in_time(run):
        yield once(f"the window from {start} of key {key} came out", len(emitted))


@of_windows("a window comes out at most once in a step", source=BEAM_ONCE)
def once_in_a_step(run: Observation) -> Iterator[Finding]:
    """Asked about each window that got an element."""
    emitted = counts(run)
    for key, start in windows(run):
        steps = [emission.step for emission in emitted.get((key, start), [])]
        yield len(steps) == len({*steps}) or f"the window from {start} of key {key} came out in the steps {steps}"


@of_windows("a window does not come out before its end", source=BEAM_AT_THE_END)
@of_revised("a window with allowed lateness does not come out before its end")
def not_before_its_end(run: Observation) -> Iterator[Finding]:
    for (key, start), emitted in counts(run).items():
        for emission in emitted:
            yield not_before(run, f"the window from {start} of key {key}", start + WINDOW.size, emission.step)


@of_windows(
    "the last count of a window comes out in the first advance that reaches its end", source=SPARK_FINAL, needs=DRIVEN
)
@where_the_watermark_moves
def in_the_first_advance_that_reaches_its_end(run: Observation) -> Iterator[Finding]:
    for (key, start), emitted in in_time(run):
        due, last = run.case.schedule.due(start + WINDOW.size), emitted[-1].step
        yield last == due or f"the window from {start} of key {key} is due in step {due}, its last count is of {last}"


@of_windows("an element past the end of its window does not bring it out again", source=BEAM_ONCE, needs=DRIVEN)
def late_elements_do_not_bring_it_out_again(run: Observation) -> Iterator[Finding]:
    """Exercised where an element arrives for a window whose end has passed."""
    emitted = counts(run)
    for (key, start), arrivals in windows(run).items():
        for arrival in filter(past_its_end, arrivals):
            again = [e.step for e in emitted.get((key, start), []) if e.step >= arrival.step]
            yield (
                not again
                or f"{arrival.event.id} came after the window from {start} of key {key}, which came out in step "
                f"{again[0]}"
            )


come_out_in_order = of_windows("windows of a key that end at once come out in order")(
    in_order("window", "the windows of key {} came out as {}")
)


@of_revised("each further count of a window is larger", source=BEAM_REVISED, needs=DRIVEN)
def each_further_count_is_larger(run: Observation) -> Iterator[Finding]:
    """Exercised by a window for which an element came after the window's end."""
    emitted = counts(run)
    for (key, start), arrivals in windows(run).items():
        if any(map(past_its_end, arrivals)):
            told = [emission.value["count"] for emission in emitted.get((key, start), [])]
            grow = all(before < after for before, after in itertools.pairwise(told))
            yield grow or f"the window from {start} of key {key} came out with the counts {told}"


@of_revised("an element within the allowed lateness revises its window's count", source=BEAM_REVISED, needs=DRIVEN)
def late_elements_revise_the_count(run: Observation) -> Iterator[Finding]:
    """Exercised where an element comes after its window's end, within the allowed lateness, and no element of the
    window is too late.

    The window comes out in the element's step. Its count has the element and all elements that came before it.
    """
    emitted = counts(run)
    for (key, start), arrivals in windows(run).items():
        if any(REVISED.expiry(arrival.event.event_time) <= arrival.watermark for arrival in arrivals):
            continue
        for arrival in arrivals:
            if start + REVISED.size <= arrival.settled:
                known = [a for a in arrivals if a.step <= arrival.step]
                found = [e.value["count"] for e in emitted.get((key, start), []) if e.step == arrival.step]
                yield found[-1:] == [len(known)] or (
                    f"{arrival.event.id} is late for the window from {start} of key {key}, which had {len(known)} "
                    f"elements; its step gave the counts {found}"
                )


@of_revised(
    "an element past the allowed lateness does not revise its window's count", source=DROPPED_AS_LATE, needs=DRIVEN
)
def too_late_elements_do_not_revise_the_count(run: Observation) -> Iterator[Finding]:
    emitted = counts(run)
    for (key, start), arrivals in windows(run).items():
        for arrival in arrivals:
            if REVISED.expiry(arrival.event.event_time) <= arrival.settled:
                again = [e.step for e in emitted.get((key, start), []) if e.step >= arrival.step]
                yield (
                    not again
                    or f"{arrival.event.id} came too late for the window from {start} of key {key}, which came out "
                    f"in step {again[0]}"
                )


SCENARIO = Scenario(
    name="windowed counting",
    summary=f"Count the elements of a key in each window of {WINDOW.size} ms, and emit the count at the window's end.",
    programs={"windows": CountPerWindow(), "revised": RevisedCount()},
    domain={
        "windows": Domain(
            offsets=(1, 1, 500, 5_000, 9_999, 10_000, 10_000, 20_000, 0, -1, -5_000, -10_000, -20_000),
            on_time=False,
            keys=2,
        ),
        "revised": Domain(
            offsets=(1, 1, 500, 9_999, 10_000, 0, -1, -1, -500, -4_999, -5_000, -10_000, -15_000, -20_000),
            on_time=False,
            keys=2,
        ),
    },
    # Order is kept within a window of a key, not between windows.
    stable_under={
        "windows": promise((*REORDERINGS, *BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET),
        "revised": promise((*RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET),
    },
    guarantees=(
        *of_windows,
        Guarantee("window counts ignore order", "windows", same_under=REORDERINGS, alike=Equivalence.SAME_MULTISET),
        Guarantee("window counts ignore bundling", "windows", same_under=BUNDLINGS, alike=Equivalence.SAME_MULTISET),
        *survives("window counts are", "windows", Equivalence.SAME_MULTISET),
        *of_revised,
    ),
)

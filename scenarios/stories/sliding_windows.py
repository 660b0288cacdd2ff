"""Sliding windows: count the elements of a key in overlapping windows, and emit a count when the watermark reaches the
window's end.

In Spark's append mode, an aggregation over ``window()`` with a slide does the same. In Beam, ``SlidingWindows`` with
``Count.PerKey`` does. This program keeps its windows itself: the counts in a map, and a timer for each end. No lateness
is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, RECOVERIES, RENAMINGS, REORDERINGS
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Arrival, Event
from conformance.model.trace import Emission
from conformance.scenarios.documents import BEAM_GUIDE, SPARK_GUIDE
from conformance.scenarios.shared import DRIVEN, in_its_step, not_before, once, survives, where_the_watermark_moves
from conformance.scenarios.stories.windowed_counting import BEAM_AT_THE_END, BEAM_ONCE, Of, counts
from conformance.support.grouping import grouped

SIZE = 10_000
SLIDE = 5_000

BEAM_OVERLAP = BEAM_GUIDE.says(
    "Because multiple windows overlap, most elements in a data set will belong to more than one window",
    "Sliding time windows",
    "sliding-time-windows",
)
SPARK_OVERLAP = SPARK_GUIDE.says(
    "an input can be bound to the multiple windows", "Types of time windows", "types-of-time-windows"
)


def starts(event_time: int) -> range:
    """The starts (ms) of the windows that cover an event time (ms), earliest first."""
    latest = event_time - event_time % SLIDE
    return range(latest - SIZE + SLIDE, latest + SLIDE, SLIDE)


class CountPerSlidingWindow(Program):
    """State: start of a window -> its count."""

    cells = {"counts": Cell.MAP}
    timers = ("end",)
    times = ("window",)
    parameters = {"size": SIZE, "slide": SLIDE}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        for start in starts(event.event_time):
            state.counts.put(str(start), state.counts.get(str(start), 0) + 1)
            timers.set("end", start + SIZE, tag=str(start))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        start = timer.time - SIZE
        emit({"window": start, "count": state.counts.get(str(start), 0)})
        state.counts.remove(str(start))


def windows(run: Observation) -> dict[Of, list[Arrival]]:
    """Window -> the arrivals that it covers; only windows that cover an arrival."""
    return grouped(((a.event.key, start), a) for a in run.arrivals for start in starts(a.event.event_time))


def in_time(run: Observation) -> Iterator[tuple[Of, list[Emission]]]:
    """(window, what came out of it) of the windows whose elements were all on time."""
    emitted = counts(run)
    for of, arrivals in windows(run).items():
        if all(arrival.on_time for arrival in arrivals):
            yield of, emitted.get(of, [])


of_windows = Guarantees("windows")


@of_windows("an on-time element counts in each window that covers it", source=BEAM_OVERLAP)
def counts_in_each_window(run: Observation) -> Iterator[Finding]:
    emitted = counts(run)
    for (key, start), arrivals in windows(run).items():
        if wanted := sum(arrival.on_time for arrival in arrivals):
            highest = max((e.value["count"] for e in emitted.get((key, start), [])), default=0)
            yield (
                highest >= wanted
                or f"the window from {start} of key {key} covers {wanted} on-time elements and counted {highest}"
            )


@of_windows("a window counts no more elements than it covers", source=SPARK_OVERLAP)
def counts_no_more(run: Observation) -> Iterator[Finding]:
    arrived = windows(run)
    for of, emitted in counts(run).items():
        if of in arrived:
            highest = max(e.value["count"] for e in emitted)
            yield highest <= len(arrived[of]) or (
                f"the window from {of[1]} of key {of[0]} covers {len(arrived[of])} elements and counted {highest}"
            )


@of_windows("a window comes out once", source=BEAM_ONCE)
def comes_out_once(run: Observation) -> Iterator[Finding]:
    """Not asked of a window with a late element."""
    for (key, start), emitted in in_time(run):
        yield once(f"the window from {start} of key {key} came out", len(emitted))


@of_windows("a window does not come out before its end", source=BEAM_AT_THE_END)
def not_before_its_end(run: Observation) -> Iterator[Finding]:
    for emission, start in run.tagged("window"):
        yield not_before(run, f"the window from {start} of key {emission.key}", start + SIZE, emission.step)


@of_windows("a window comes out in the first advance that reaches its end", needs=DRIVEN)
@where_the_watermark_moves
def in_the_first_advance_that_reaches_its_end(run: Observation) -> Iterator[Finding]:
    for (key, start), emitted in in_time(run):
        for emission in emitted:
            yield in_its_step(run, f"the window from {start} of key {key}", start + SIZE, emission.step)


@of_windows("a window that covers nothing does not come out")
def empty_windows_do_not_come_out(run: Observation) -> Iterator[Finding]:
    arrived = windows(run)
    for key, start in counts(run):
        yield (key, start) in arrived or f"the window from {start} of key {key} covers nothing and came out"


SCENARIO = Scenario(
    name="sliding windows",
    summary=f"Count the elements of a key in windows of {SIZE} ms that begin every {SLIDE} ms.",
    programs={"windows": CountPerSlidingWindow()},
    domain={
        "windows": Domain(
            offsets=(1, 1, 500, 4_999, 5_000, 9_999, 10_000, 20_000, 0, -1, -5_000, -10_000), on_time=False, keys=2
        )
    },
    stable_under={"windows": promise((*REORDERINGS, *BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET)},
    guarantees=(
        *of_windows,
        Guarantee("window counts ignore order", "windows", same_under=REORDERINGS, alike=Equivalence.SAME_MULTISET),
        *survives("window counts are", "windows", Equivalence.SAME_MULTISET),
    ),
)

"""Late data: which elements an operator still processes once the watermark has passed them.

"Late" has no single meaning. An engine may judge lateness by row (event time against the watermark), by window (the
window's end plus the allowed lateness), or not at all. Each guarantee names its reading. The programs emit every
element that they process.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import BUNDLINGS, RECOVERIES, RENAMINGS, REORDERINGS
from conformance.model.program import Cell, Emit, FixedWindows, Program, State, Timer, Timers
from conformance.model.runs import PackRun, ProgramCount, StepCount
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Event
from conformance.scenarios.documents import BEAM_GUIDE, DROPPED_AS_LATE, SPARK_GUIDE
from conformance.scenarios.shared import DRIVEN

WINDOW = FixedWindows(size=10_000, allowed_lateness=5_000)

BEAM_LATE = BEAM_GUIDE.says(
    "any further element that arrives with a timestamp in that window is considered late data",
    "Watermarks and late data",
    "watermarks-and-late-data",
)
SPARK_LATE = SPARK_GUIDE.says(
    "data later than the threshold will start getting dropped",
    "Handling late data and watermarking",
    "handling-late-data-and-watermarking",
)


class Pass(Program):
    """Emits each element that it processes."""

    cells = {"count": Cell.COMBINING}
    labels = ("count",)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.count.add(1)
        emit({"processed": event.id, "count": state.count.get()})


class CountPerWindow(Program):
    """Emits each element that it processes, and each window's count when the window expires."""

    cells = {"count": Cell.COMBINING}
    timers = ("expire",)
    times = ("closed",)
    windowing = WINDOW

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.count.add(1)
        timers.set("expire", WINDOW.expiry(event.event_time))
        emit({"processed": event.id})

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"closed": timer.time - WINDOW.allowed_lateness - WINDOW.size, "count": state.count.get()})
        state.count.clear()


def processed(run: Observation) -> set[str]:
    return {value["processed"] for value in run.values("processed")}


of_global = Guarantees("global")
of_windowed = Guarantees("windowed")


@of_global("an on-time element is never dropped", source=SPARK_LATE)
def on_time_is_never_dropped(run: Observation) -> Iterator[Finding]:
    for arrival in run.on_time:
        event = arrival.event
        yield (
            event.id in processed(run)
            or f"{event.id}, {event.event_time - arrival.watermark} ms after the watermark, was dropped"
        )


@of_global("an element exactly at the watermark is processed", source=SPARK_LATE, needs=DRIVEN)
def at_the_watermark_is_processed(run: Observation) -> Iterator[Finding]:
    for arrival in run.arrivals:
        if arrival.at_watermark:
            yield arrival.event.id in processed(run) or f"{arrival.event.id}, exactly at the watermark, was dropped"


@of_global(
    "an element behind the watermark is not processed (late by row, global window)", source=SPARK_LATE, needs=DRIVEN
)
def behind_the_watermark_is_not_processed(run: Observation) -> Iterator[Finding]:
    for arrival in run.arrivals:
        if arrival.behind:
            by = arrival.watermark - arrival.event.event_time
            yield (
                arrival.event.id not in processed(run)
                or f"{arrival.event.id}, {by} ms behind the watermark, was processed"
            )


@of_windowed(
    "an element behind the watermark is processed while its fixed window is open (late by window)",
    source=BEAM_LATE,
    needs=DRIVEN,
)
def behind_in_an_open_window_is_processed(run: Observation) -> Iterator[Finding]:
    for arrival in run.arrivals:
        event = arrival.event
        if arrival.behind and WINDOW.expiry(event.event_time) > arrival.watermark:
            yield (
                event.id in processed(run)
                or f"{event.id} was dropped, its window from {WINDOW.start(event.event_time)} was still open"
            )


@of_windowed(
    "an element past the allowed lateness is not processed (late by window)", source=DROPPED_AS_LATE, needs=DRIVEN
)
def past_the_allowed_lateness_is_not_processed(run: Observation) -> Iterator[Finding]:
    for arrival in run.arrivals:
        event = arrival.event
        expiry = WINDOW.expiry(event.event_time)
        if expiry <= arrival.settled:
            yield event.id not in processed(run) or f"{event.id} was processed, its window had expired at {expiry}"


@of_windowed(
    "an element past the allowed lateness does not reopen its closed window (late by window)",
    source=DROPPED_AS_LATE,
    needs=DRIVEN,
)
def a_closed_window_is_not_reopened(run: Observation) -> Iterator[Finding]:
    """Exercised where an element arrives for a window that had expired; that window must not come out again."""
    for arrival in run.arrivals:
        event = arrival.event
        expiry = WINDOW.expiry(event.event_time)
        if expiry <= arrival.settled:
            due = run.case.schedule.due(expiry)
            start = WINDOW.start(event.event_time)
            again = [
                e.step for e, closed in run.tagged("closed") if e.key == event.key and closed == start and e.step != due
            ]
            yield (
                not again
                or f"the window from {start} of key {event.key}, expired in step {due}, came out in step {again[0]}"
            )


def drops_are_counted(run: PackRun) -> Iterator[Finding]:
    """In each bundle, and for each program: what one program loses and another one gets twice must not cancel out."""
    for count in run.counts:
        parts: tuple[StepCount | ProgramCount, ...] = (count, *count.programs)
        if any(part.delivered != part.received or part.reported_late for part in parts):
            yield next(filter(None, (_miscounted(count.step, part) for part in parts)), True)


def _miscounted(step: int, count: StepCount | ProgramCount) -> str:
    """How the rows of a bundle, or of a program's part of it, do not add up; "" if they do."""
    dropped, late = count.delivered - count.received, count.reported_late
    of_program = f" of {count.program}" if isinstance(count, ProgramCount) else ""
    told = f"in step {step} {count.delivered} rows{of_program} went in, {count.received} were processed"
    if isinstance(count, ProgramCount) and late is None:  # reported for all programs together
        return told if dropped < 0 else ""
    return "" if dropped == late else f"{told}, {late} were counted as late"


SCENARIO = Scenario(
    name="late data",
    summary="Which elements an operator still processes once the watermark has passed them.",
    programs={"global": Pass(), "windowed": CountPerWindow()},
    domain={
        "global": Domain(offsets=(0, 0, 1, 1, 500, -1, -1, -500, -20_000), on_time=False),
        "windowed": Domain(
            offsets=(0, 1, 500, 10_000, -1, -2_000, -5_000, -10_000, -14_999, -15_000, -25_000), on_time=False, keys=2
        ),
    },
    stable_under={
        "global": promise(REORDERINGS, Equivalence.SAME_UP_TO_RELABELLING)
        | promise((*BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL),
        # Order is kept within a window of a key, not between windows.
        "windowed": promise((*REORDERINGS, *BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET),
    },
    guarantees=(
        *of_global,
        *of_windowed,
        Guarantee(
            "the engine counts the elements that it dropped as late",
            "global",
            accounting=drops_are_counted,
            source=SPARK_GUIDE.says(
                "numRowsDroppedByWatermark", "Monitoring streaming queries", "monitoring-streaming-queries"
            ),
            needs=DRIVEN | {Feature.LATE_COUNTER},
        ),
    ),
)

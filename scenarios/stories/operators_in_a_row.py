"""Operators in a row: the output of one stateful operator is the input of another, and two streams meet in them.

In the first program, the elements of each side are counted in fixed windows, and the two counts of a window come out
together when the window ends. In the second, left rows are paired with the right rows of their key that are at most
BOUND later, and the pairs are counted in the fixed windows of their left rows. Spark runs both as one query: two
aggregations over ``window()`` and a join of them, or a join with a time range condition and an aggregation behind it.
Beam runs the first as ``Count.PerKey`` on both sides and a ``CoGroupByKey``. What comes out of the first operator must
not be late for the second, and the second must not wait for ever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import REORDERINGS
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Finding, Guarantee, Guarantees, Observation, Scenario
from conformance.model.schedule import Event
from conformance.scenarios.documents import SPARK_GUIDE
from conformance.scenarios.shared import DRIVEN, in_its_step, once, survives
from conformance.scenarios.stories.stream_join import BOUND, LEFT, RIGHT, ROWS, SAME, InnerJoin, matching
from conformance.scenarios.stories.windowed_counting import WINDOW, Of, counts, not_before_its_end

SPARK_WINDOWS_JOINED = SPARK_GUIDE.says(
    "time window aggregation in both streams followed by stream-stream join with event time window",
    "Support matrix for joins in streaming queries",
    "support-matrix-for-joins-in-streaming-queries",
)
SPARK_PAIRS_COUNTED = SPARK_GUIDE.says(
    "stream-stream join with time range join condition followed by time window aggregation",
    "Support matrix for joins in streaming queries",
    "support-matrix-for-joins-in-streaming-queries",
)


class CountsOfBoth(Program):
    cells = {"lefts": Cell.COMBINING, "rights": Cell.COMBINING}
    timers = ("end",)
    times = ("window",)
    windowing = WINDOW

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        (state.lefts if event.value == LEFT else state.rights).add(1)
        timers.set("end", WINDOW.expiry(event.event_time))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        lefts, rights = state.lefts.get(), state.rights.get()
        if lefts and rights:
            emit({"window": timer.time - WINDOW.size, "lefts": lefts, "rights": rights})
        state.lefts.clear()
        state.rights.clear()


class CountsOfPairs(InnerJoin):
    """Counts each pair in the window of its left row. The last right row that can belong to a window is BOUND behind
    the window's end."""

    cells = {**InnerJoin.cells, "pairs": Cell.MAP}
    timers = (*InnerJoin.timers, "whole")
    times = ("window",)
    parameters = {**InnerJoin.parameters, "size": WINDOW.size}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        found: list[str] = []
        super().on_event(event, state, timers, lambda pair: found.append(pair["left"]))
        for left in found:
            start = WINDOW.start(state.lefts.get(left)[0])
            state.pairs.put(str(start), state.pairs.get(str(start), 0) + 1)
            timers.set("whole", start + WINDOW.size + BOUND, tag=str(start))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        if timer.name in InnerJoin.timers:
            super().on_timer(timer, state, timers, emit)
            return
        emit({"window": int(timer.tag), "count": state.pairs.get(timer.tag)})
        state.pairs.remove(timer.tag)


def sides(run: Observation) -> dict[Of, Counter[str]]:
    """Window -> how many elements of each side arrived for it."""
    found: dict[Of, Counter[str]] = {}
    for arrival in run.arrivals:
        side = {LEFT: "lefts", RIGHT: "rights"}[arrival.event.value]
        found.setdefault((arrival.event.key, WINDOW.start(arrival.event.event_time)), Counter())[side] += 1
    return found


def of_pairs(run: Observation) -> Counter[Of]:
    """Window -> how many pairs have their left row in it."""
    return Counter((left.event.key, WINDOW.start(left.event.event_time)) for left, _ in matching(run).values())


def _named(of: Of) -> str:
    return f"the window from {of[1]} of key {of[0]}"


of_joined_windows = Guarantees("joined windows")
of_counted_pairs = Guarantees("counted pairs")


@of_joined_windows("both counts of a window come out, once", source=SPARK_WINDOWS_JOINED)
def both_counts_come_out(run: Observation) -> Iterator[Finding]:
    """Exercised by a window with elements of both sides, if all elements are on time."""
    if len(run.on_time) < len(run.arrivals):
        return
    out = counts(run)
    for of, had in sides(run).items():
        if len(had) == 2:
            found = [{side: emission.value[side] for side in had} for emission in out.get(of, [])]
            yield found == [dict(had)] or f"{_named(of)} had {dict(had)}, and {found or 'nothing'} came out"


@of_joined_windows("no window counts more than it got")
def no_count_is_too_high(run: Observation) -> Iterator[Finding]:
    had = sides(run)
    for of, emitted in counts(run).items():
        for emission in emitted:
            for side in ("lefts", "rights"):
                most, told = had.get(of, Counter())[side], emission.value[side]
                yield told <= most or f"{_named(of)} had {most} {side} and counted {told}"


@of_joined_windows("a window with elements of one side does not come out")
def one_side_alone_does_not_come_out(run: Observation) -> Iterator[Finding]:
    out = counts(run)
    for of, had in sides(run).items():
        if len(had) == 1:
            yield of not in out or f"{_named(of)} had {dict(had)} alone and came out as {out[of][0].value}"


@of_counted_pairs("a window of pairs comes out once")
def comes_out_once(run: Observation) -> Iterator[Finding]:
    for of, emitted in counts(run).items():
        yield once(f"{_named(of)} came out", len(emitted))


@of_counted_pairs("every pair is counted", source=SPARK_PAIRS_COUNTED)
def every_pair_is_counted(run: Observation) -> Iterator[Finding]:
    """Exercised by a window with pairs, if all elements are on time."""
    if len(run.on_time) < len(run.arrivals):
        return
    out = counts(run)
    for of, wanted in of_pairs(run).items():
        told = sum(emission.value["count"] for emission in out.get(of, []))
        yield told >= wanted or f"{_named(of)} had {wanted} pairs and counted {told}"


@of_counted_pairs("nothing but pairs is counted")
def nothing_else_is_counted(run: Observation) -> Iterator[Finding]:
    wanted = of_pairs(run)
    for of, emitted in counts(run).items():
        told = sum(emission.value["count"] for emission in emitted)
        yield told <= wanted[of] or f"{_named(of)} had {wanted[of]} pairs and counted {told}"


@of_joined_windows("joined windows come out in the first advance that reaches their end", needs=DRIVEN)
def in_the_first_advance_that_reaches_its_end(run: Observation) -> Iterator[Finding]:
    """Exercised where the watermark moves more than once, if all elements are on time."""
    if len(run.case.schedule.advances) < 3 or len(run.on_time) < len(run.arrivals):
        return
    for of, emitted in counts(run).items():
        yield in_its_step(run, _named(of), of[1] + WINDOW.size, emitted[-1].step)


of_joined_windows("joined windows do not come out before their end")(not_before_its_end)
of_counted_pairs("a window of pairs does not come out before its end")(not_before_its_end)

SCENARIO = Scenario(
    name="operators in a row",
    summary="Two stateful operators in a row, where two streams meet: windows that are joined, and pairs that are "
    "counted in windows.",
    programs={"joined windows": CountsOfBoth(), "counted pairs": CountsOfPairs()},
    domain={"joined windows": ROWS, "counted pairs": ROWS},
    stable_under={"joined windows": SAME, "counted pairs": SAME},
    guarantees=(
        *of_joined_windows,
        *of_counted_pairs,
        *(
            guarantee
            for program in ("joined windows", "counted pairs")
            for guarantee in (
                *survives(f"{program} are", program, Equivalence.SAME_MULTISET),
                Guarantee(f"{program} ignore order", program, same_under=REORDERINGS, alike=Equivalence.SAME_MULTISET),
            )
        ),
    ),
)

"""Stream join: pair each left row with the right rows of its key that are at most BOUND later, in event time.

Both sides share one stream, and an event's value names its side. A program drops a row once the watermark shows that no
partner for it can come any more. The inner join emits pairs. An outer join also emits each row that it drops without a
partner: of the left, of the right or of both sides. The left semi join emits each left row that has a partner, once. In
Spark, a stream-stream join with a time range condition does the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import BUNDLINGS, RECOVERIES, RENAMINGS, REORDERINGS
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Arrival, Event
from conformance.model.trace import Emission
from conformance.scenarios.documents import SPARK_GUIDE
from conformance.scenarios.shared import (
    DRIVEN,
    Predicate,
    in_its_step,
    once,
    reached,
    survives,
    where_the_watermark_moves,
)
from conformance.support.grouping import grouped

LEFT, RIGHT = "left", "right"

BOUND = 10_000
"""The right row of a pair is at most this much later (ms) than the left row."""

SPARK_MATCH = SPARK_GUIDE.says(
    "we can match every future input with past input and accordingly generate joined results",
    "Stream-stream joins",
    "stream-stream-joins",
)
SPARK_DELAY = SPARK_GUIDE.says(
    "the engine has to wait for that long to ensure there were no matches and there will be no more matches in future",
    "Outer joins with watermarking",
    "outer-joins-with-watermarking",
)


class InnerJoin(Program):
    """State: the rows for which a partner may still come, id -> event time (ms) and whether one has come."""

    cells = {"lefts": Cell.MAP, "rights": Cell.MAP}
    timers: ClassVar[tuple[str, ...]] = ("passed",)
    parameters = {"bound": BOUND}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        left = event.value == LEFT
        mine, others = (state.lefts, state.rights) if left else (state.rights, state.lefts)
        matched = False
        for other, (time, had_one) in sorted(others.items()):
            if 0 <= (time - event.event_time if left else event.event_time - time) <= BOUND:
                if left:
                    self.pair(event.id, other, matched, emit)
                else:
                    self.pair(other, event.id, had_one, emit)
                others.put(other, [time, True])
                matched = True
        mine.put(event.id, [event.event_time, matched])
        time = event.event_time + BOUND * left
        timers.set("passed", time, tag=str(time))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        """The watermark has reached the timer's time, so every row that comes now is later."""
        for left, (time, matched) in sorted(state.lefts.items()):
            if time + BOUND <= timer.time:
                if not matched:
                    self.unmatched(LEFT, left, emit)
                state.lefts.remove(left)
        for right, (time, matched) in sorted(state.rights.items()):
            if time <= timer.time:
                if not matched:
                    self.unmatched(RIGHT, right, emit)
                state.rights.remove(right)

    def pair(self, left: str, right: str, matched: bool, emit: Emit) -> None:
        """Two rows match; ``matched`` says whether the left row had a partner before."""
        emit({"left": left, "right": right})

    def unmatched(self, side: str, id: str, emit: Emit) -> None:
        """The program drops a row that had no partner."""


class LeftOuterJoin(InnerJoin):
    outer: tuple[str, ...] = (LEFT,)

    def unmatched(self, side: str, id: str, emit: Emit) -> None:
        if side in self.outer:
            emit({"left": None, "right": None} | {side: id})


class RightOuterJoin(LeftOuterJoin):
    outer = (RIGHT,)


class FullOuterJoin(LeftOuterJoin):
    outer = (LEFT, RIGHT)


class LeftSemiJoin(InnerJoin):
    """Each left row that has a partner, once."""

    def pair(self, left: str, right: str, matched: bool, emit: Emit) -> None:
        if not matched:
            emit({"left": left})


Pair = tuple[str, str]
"""The ids of a left row and of a right row."""


def matching(run: Observation) -> dict[Pair, tuple[Arrival, Arrival]]:
    """The pairs that must come out."""
    return {
        (left.event.id, right.event.id): (left, right)
        for arrivals in run.arrivals_by_key.values()
        for left in arrivals
        for right in arrivals
        if (left.event.value, right.event.value) == (LEFT, RIGHT)
        and 0 <= right.event.event_time - left.event.event_time <= BOUND
    }


def pairs(run: Observation) -> Counter[Pair]:
    """How often each pair came out."""
    return Counter((v["left"], v["right"]) for v in run.values("left") if v["left"] and v.get("right"))


def unmatched(run: Observation, side: str = LEFT) -> dict[str, list[Emission]]:
    """Row of this side -> the emissions in which it came out as unmatched."""
    other = RIGHT if side == LEFT else LEFT
    return grouped((row, e) for e, row in run.tagged(side) if row is not None and e.value[other] is None)


def rows(run: Observation, matched: bool, side: str = LEFT) -> Iterator[Arrival]:
    """The rows of this side that have a partner (``matched``), or those that have none."""
    with_a_partner = {pair[side == RIGHT] for pair in matching(run)}
    for arrival in run.arrivals:
        if arrival.event.value == side and (arrival.event.id in with_a_partner) is matched:
            yield arrival


of_inner = Guarantees("inner")
of_left_outer = Guarantees("left outer")
of_right_outer = Guarantees("right outer")
of_left_semi = Guarantees("left semi")


@of_inner("each matching pair comes out", source=SPARK_MATCH)
@of_left_outer("each matching pair comes out of an outer join", source=SPARK_MATCH)
def each_matching_pair_comes_out(run: Observation) -> Iterator[Finding]:
    found = pairs(run)
    for pair, (left, right) in matching(run).items():
        apart = right.event.event_time - left.event.event_time
        yield found[pair] > 0 or f"{pair[0]} and {pair[1]}, {apart} ms after it, did not come out as a pair"


@of_inner("a pair exactly at the bound comes out")
def a_pair_at_the_bound_comes_out(run: Observation) -> Iterator[Finding]:
    """Exercised where a right row is exactly BOUND later than a left row."""
    found = pairs(run)
    for pair, (left, right) in matching(run).items():
        if right.event.event_time - left.event.event_time == BOUND:
            yield found[pair] > 0 or f"{pair[0]} and {pair[1]}, exactly {BOUND} ms after it, did not come out as a pair"


@of_inner("no pair comes out twice")
def no_pair_comes_out_twice(run: Observation) -> Iterator[Finding]:
    for (left, right), times in pairs(run).items():
        yield once(f"the pair of {left} and {right} came out", times)


@of_inner("no pair outside of the time bounds comes out")
def no_pair_outside_of_the_bounds(run: Observation) -> Iterator[Finding]:
    """Exercised where a key has a left row and a right row that are no pair."""
    events = {arrival.event.id: arrival.event for arrival in run.arrivals}
    wanted = matching(run)
    for key, arrivals in run.arrivals_by_key.items():
        sides = Counter(arrival.event.value for arrival in arrivals)
        if sides[LEFT] * sides[RIGHT] > sum(events[left].key == key for left, _ in wanted):
            beyond = [
                f"{left} and {right}, {events[right].event_time - events[left].event_time} ms after it, came out as "
                "a pair"
                for left, right in pairs(run)
                if (left, right) not in wanted and events[left].key == events[right].key == key
            ]
            yield not beyond or beyond[0]


@of_inner("rows of different keys are not joined")
def keys_are_not_joined(run: Observation) -> Iterator[Finding]:
    """Exercised where there are several keys."""
    if len(run.arrivals_by_key) > 1:
        keys = {arrival.event.id: arrival.event.key for arrival in run.arrivals}
        for left, right in pairs(run):
            yield (
                keys[left] == keys[right]
                or f"{left} of key {keys[left]} and {right} of key {keys[right]} came out as a pair"
            )


@of_inner("a row that matches nothing does not come out of an inner join")
def what_matches_nothing_does_not_come_out(run: Observation) -> Iterator[Finding]:
    known = {id for pair in matching(run) for id in pair}
    found = {id for value in run.values("left") for id in (value["left"], value["right"])}
    for arrival in run.arrivals:
        if arrival.event.id not in known:
            yield arrival.event.id not in found or f"{arrival.event.id} matches nothing and came out"


def unmatched_once(*sides: str) -> Predicate:
    def predicate(run: Observation) -> Iterator[Finding]:
        for side in sides:
            found = unmatched(run, side)
            for arrival in rows(run, matched=False, side=side):
                times = len(found.get(arrival.event.id, []))
                yield once(f"{arrival.event.id} matches nothing and was put out as unmatched", times)

    return predicate


of_left_outer("an unmatched left row comes out once")(unmatched_once(LEFT))


def matched_is_never_unmatched(*sides: str) -> Predicate:
    def predicate(run: Observation) -> Iterator[Finding]:
        for side in sides:
            found = unmatched(run, side)
            for arrival in rows(run, matched=True, side=side):
                yield (
                    arrival.event.id not in found or f"{arrival.event.id} has a partner and was put out as unmatched"
                )

    return predicate


of_left_outer("a matched left row is never put out as unmatched")(matched_is_never_unmatched(LEFT))


def last_partner(arrival: Arrival) -> int:
    """The event time (ms) of the last row that could match this one, if rows of the other side came in order."""
    return arrival.event.event_time + (BOUND if arrival.event.value == LEFT else 0)


def unmatched_stays_in(side: str) -> Predicate:
    """For joins that put out the unmatched rows of the other side alone."""

    def predicate(run: Observation) -> Iterator[Finding]:
        found = unmatched(run, side)
        for arrival in rows(run, matched=False, side=side):
            yield arrival.event.id not in found or f"{arrival.event.id} matches nothing and came out"

    return predicate


of_left_outer("an unmatched right row does not come out of a left outer join")(unmatched_stays_in(RIGHT))
of_right_outer("an unmatched left row does not come out of a right outer join")(unmatched_stays_in(LEFT))


def not_unmatched_before_the_bound(*sides: str) -> Predicate:
    def predicate(run: Observation) -> Iterator[Finding]:
        found = {id: emissions for side in sides for id, emissions in unmatched(run, side).items()}
        for arrival in (a for a in run.arrivals if a.event.id in found):
            bound = last_partner(arrival)
            for emission in found[arrival.event.id]:
                watermark = reached(run, emission.step)
                yield (
                    watermark >= bound
                    or f"a partner of {arrival.event.id} may come until {bound}; at {watermark} it was unmatched"
                )

    return predicate


of_left_outer("a left row is not put out as unmatched before the bound has passed", source=SPARK_DELAY)(
    not_unmatched_before_the_bound(LEFT)
)


def unmatched_in_the_first_advance_that_reaches_the_bound(*sides: str) -> Predicate:
    @where_the_watermark_moves
    def predicate(run: Observation) -> Iterator[Finding]:
        for side in sides:
            found = unmatched(run, side)
            for arrival in rows(run, matched=False, side=side):
                for emission in found.get(arrival.event.id, []):
                    name, time = arrival.event.id, last_partner(arrival)
                    yield in_its_step(run, name, time, emission.step, "was put out as unmatched")

    return predicate


of_left_outer("an unmatched left row comes out in the first advance that reaches the bound", needs=DRIVEN)(
    unmatched_in_the_first_advance_that_reaches_the_bound(LEFT)
)


def semi(run: Observation) -> Counter[str]:
    """How often each left row came out of a semi join."""
    return Counter(left for _, left in run.tagged("left"))


@of_left_semi("a left row with a partner comes out of a semi join once")
def a_left_row_with_a_partner_comes_out_once(run: Observation) -> Iterator[Finding]:
    found = semi(run)
    for arrival in rows(run, matched=True):
        yield once(f"{arrival.event.id} has a partner and came out", found[arrival.event.id])


@of_left_semi("a left row without a partner does not come out of a semi join")
def a_left_row_without_a_partner_stays_in(run: Observation) -> Iterator[Finding]:
    found = semi(run)
    for arrival in rows(run, matched=False):
        yield not found[arrival.event.id] or f"{arrival.event.id} has no partner and came out"


ROWS = Domain(
    offsets=(0, 1, 500, 5_000, BOUND - 1, BOUND, BOUND + 1, -1, -5_000, -BOUND),
    keys=2,
    values=(LEFT, RIGHT),
)
SAME = promise((*REORDERINGS, *BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET)

PROGRAMS: dict[str, Program] = {
    "inner": InnerJoin(),
    "left outer": LeftOuterJoin(),
    "right outer": RightOuterJoin(),
    "full outer": FullOuterJoin(),
    "left semi": LeftSemiJoin(),
}


def outer(program: str, words: str, *sides: str) -> tuple[Guarantee, ...]:
    """What an outer join guarantees of the rows of these sides; ``words`` names such a row."""
    name = program.replace(" ", "-")
    return (
        Guarantee(
            f"each matching pair comes out of a {program} join",
            program,
            each_matching_pair_comes_out,
            id=f"{name}-pairs",
        ),
        Guarantee(
            f"an unmatched {words} comes out of a {program} join once",
            program,
            unmatched_once(*sides),
            id=f"{name}-unmatched-once",
        ),
        Guarantee(
            f"a matched {words} is never put out as unmatched by a {program} join",
            program,
            matched_is_never_unmatched(*sides),
            id=f"{name}-matched-never",
        ),
        Guarantee(
            f"a {words} is not put out as unmatched by a {program} join before the bound has passed",
            program,
            not_unmatched_before_the_bound(*sides),
            source=SPARK_DELAY,
            id=f"{name}-not-before-the-bound",
        ),
        Guarantee(
            f"an unmatched {words} comes out of a {program} join in the first advance that reaches the bound",
            program,
            unmatched_in_the_first_advance_that_reaches_the_bound(*sides),
            needs=frozenset({Feature.WATERMARK}),
            id=f"{name}-in-the-first-advance",
        ),
    )


SCENARIO = Scenario(
    name="stream join",
    summary=f"Pair each left row of a key with the right rows that are at most {BOUND} ms later.",
    programs=PROGRAMS,
    domain=dict.fromkeys(PROGRAMS, ROWS),
    # A pair comes out with whichever of its rows arrives later.
    stable_under=dict.fromkeys(PROGRAMS, SAME),
    guarantees=(
        *of_inner,
        Guarantee("an inner join ignores order", "inner", same_under=REORDERINGS, alike=Equivalence.SAME_MULTISET),
        *survives("an inner join is", "inner", Equivalence.SAME_MULTISET),
        *of_left_outer,
        Guarantee("an outer join ignores order", "left outer", same_under=REORDERINGS, alike=Equivalence.SAME_MULTISET),
        *survives("an outer join is", "left outer", Equivalence.SAME_MULTISET),
        *outer("right outer", "right row", RIGHT),
        *of_right_outer,
        *outer("full outer", "row", LEFT, RIGHT),
        *of_left_semi,
    ),
)

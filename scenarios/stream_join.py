"""Stream join: pair each left row with the right rows of its key that are at most BOUND later, in event time.

Both sides share one stream, and an event's value names its side. A program drops a row once the watermark shows that no partner for it
can come any more. The inner join emits pairs. The left outer join also emits each left row that it drops without a partner. In Spark, a
stream-stream join with a time range condition does the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import BUNDLINGS, RECOVERIES, RENAMINGS, REORDERINGS, RESTART, RESUME, RETRY
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, promise
from conformance.model.schedule import Arrival, Event
from conformance.model.trace import Emission
from scenarios.documents import SPARK_GUIDE

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
    """State: the rows for which a partner may still come, id -> event time (ms); on the left with whether one has come."""

    cells = {"lefts": Cell.MAP, "rights": Cell.MAP}
    timers = ("passed",)
    parameters = {"bound": BOUND}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if event.value == LEFT:
            partners = [id for id, time in sorted(state.rights.items()) if 0 <= time - event.event_time <= BOUND]
            for right in partners:
                emit({"left": event.id, "right": right})
            state.lefts.put(event.id, [event.event_time, bool(partners)])
            time = event.event_time + BOUND
        else:
            for left, (time, _) in sorted(state.lefts.items()):
                if 0 <= event.event_time - time <= BOUND:
                    emit({"left": left, "right": event.id})
                    state.lefts.put(left, [time, True])
            state.rights.put(event.id, event.event_time)
            time = event.event_time
        timers.set("passed", time, tag=str(time))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        """The watermark has reached the timer's time, so every row that comes now is later."""
        for left, (time, matched) in sorted(state.lefts.items()):
            if time + BOUND <= timer.time:
                if not matched:
                    self.unmatched(left, emit)
                state.lefts.remove(left)
        for right, time in state.rights.items():
            if time <= timer.time:
                state.rights.remove(right)

    def unmatched(self, left: str, emit: Emit) -> None:
        """The program drops a left row that had no partner."""


class LeftOuterJoin(InnerJoin):
    def unmatched(self, left: str, emit: Emit) -> None:
        emit({"left": left, "right": None})


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
    return Counter((v["left"], v["right"]) for v in run.values("left") if v["left"] and v["right"])


def unmatched(run: Observation) -> dict[str, list[Emission]]:
    """Left row -> the emissions in which it came out as unmatched."""
    found: dict[str, list[Emission]] = {}
    for emission, left in run.tagged("left"):
        if emission.value["right"] is None:
            found.setdefault(left, []).append(emission)
    return found


def lefts(run: Observation, matched: bool) -> Iterator[Arrival]:
    """The left rows that have a partner (``matched``), or the left rows that have none."""
    with_a_partner = {left for left, _ in matching(run)}
    for arrival in run.arrivals:
        if arrival.event.value == LEFT and (arrival.event.id in with_a_partner) is matched:
            yield arrival


def each_matching_pair_comes_out(run: Observation) -> Iterator[Finding]:
    found = pairs(run)
    for pair, (left, right) in matching(run).items():
        apart = right.event.event_time - left.event.event_time
        yield found[pair] > 0 or f"{pair[0]} and {pair[1]}, {apart} ms after it, did not come out as a pair"


def a_pair_at_the_bound_comes_out(run: Observation) -> Iterator[Finding]:
    """Exercised where a right row is exactly BOUND later than a left row."""
    found = pairs(run)
    for pair, (left, right) in matching(run).items():
        if right.event.event_time - left.event.event_time == BOUND:
            yield found[pair] > 0 or f"{pair[0]} and {pair[1]}, exactly {BOUND} ms after it, did not come out as a pair"


def no_pair_comes_out_twice(run: Observation) -> Iterator[Finding]:
    for (left, right), times in pairs(run).items():
        yield times == 1 or f"the pair of {left} and {right} came out {times} times"


def no_pair_outside_of_the_bounds(run: Observation) -> Iterator[Finding]:
    """Exercised where a key has a left row and a right row that are no pair."""
    events = {arrival.event.id: arrival.event for arrival in run.arrivals}
    wanted = matching(run)
    for key, arrivals in run.arrivals_by_key.items():
        sides = Counter(arrival.event.value for arrival in arrivals)
        if sides[LEFT] * sides[RIGHT] > sum(events[left].key == key for left, _ in wanted):
            beyond = [
                f"{left} and {right}, {events[right].event_time - events[left].event_time} ms after it, came out as a pair"
                for left, right in pairs(run)
                if (left, right) not in wanted and events[left].key == events[right].key == key
            ]
            yield not beyond or beyond[0]


def keys_are_not_joined(run: Observation) -> Iterator[Finding]:
    """Exercised where there are several keys."""
    if len(run.arrivals_by_key) > 1:
        keys = {arrival.event.id: arrival.event.key for arrival in run.arrivals}
        for left, right in pairs(run):
            yield (
                keys[left] == keys[right]
                or f"{left} of key {keys[left]} and {right} of key {keys[right]} came out as a pair"
            )


def what_matches_nothing_does_not_come_out(run: Observation) -> Iterator[Finding]:
    known = {id for pair in matching(run) for id in pair}
    found = {id for value in run.values("left") for id in (value["left"], value["right"])}
    for arrival in run.arrivals:
        if arrival.event.id not in known:
            yield arrival.event.id not in found or f"{arrival.event.id} matches nothing and came out"


def unmatched_once(run: Observation) -> Iterator[Finding]:
    found = unmatched(run)
    for arrival in lefts(run, matched=False):
        times = len(found.get(arrival.event.id, []))
        yield times == 1 or f"{arrival.event.id} matches nothing and was put out as unmatched {times} times"


def matched_is_never_unmatched(run: Observation) -> Iterator[Finding]:
    found = unmatched(run)
    for arrival in lefts(run, matched=True):
        yield arrival.event.id not in found or f"{arrival.event.id} has a partner and was put out as unmatched"


def not_unmatched_before_the_bound(run: Observation) -> Iterator[Finding]:
    found = unmatched(run)
    for arrival in (a for a in run.arrivals if a.event.id in found):
        bound = arrival.event.event_time + BOUND
        for emission in found[arrival.event.id]:
            reached = max(a.watermark for a in run.case.schedule.advances if a.id <= emission.step)
            yield (
                reached >= bound
                or f"a partner of {arrival.event.id} may come until {bound}; at {reached} it was unmatched"
            )


def unmatched_in_the_first_advance_that_reaches_the_bound(run: Observation) -> Iterator[Finding]:
    """Exercised where the watermark moves more than once; with one move there is no other step to come out in."""
    if len(run.case.schedule.advances) < 3:
        return
    found = unmatched(run)
    for arrival in lefts(run, matched=False):
        due = run.case.schedule.due(arrival.event.event_time + BOUND)
        for emission in found.get(arrival.event.id, []):
            yield emission.step == due or (
                f"{arrival.event.id} is due in step {due} and was put out as unmatched in step {emission.step}"
            )


ROWS = Domain(
    offsets=(0, 1, 500, 5_000, BOUND - 1, BOUND, BOUND + 1, -1, -5_000, -BOUND),
    keys=2,
    values=(LEFT, RIGHT),
)
SAME = promise((*REORDERINGS, *BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET)

SCENARIO = Scenario(
    name="stream join",
    summary=f"Pair each left row of a key with the right rows that are at most {BOUND} ms later.",
    programs={"inner": InnerJoin(), "left outer": LeftOuterJoin()},
    domain={"inner": ROWS, "left outer": ROWS},
    # A pair comes out with whichever of its rows arrives later.
    stable_under={"inner": SAME, "left outer": SAME},
    guarantees=(
        Guarantee("each matching pair comes out", "inner", each_matching_pair_comes_out, source=SPARK_MATCH),
        Guarantee("a pair exactly at the bound comes out", "inner", a_pair_at_the_bound_comes_out),
        Guarantee("no pair comes out twice", "inner", no_pair_comes_out_twice),
        Guarantee("no pair outside of the time bounds comes out", "inner", no_pair_outside_of_the_bounds),
        Guarantee("rows of different keys are not joined", "inner", keys_are_not_joined),
        Guarantee(
            "a row that matches nothing does not come out of an inner join",
            "inner",
            what_matches_nothing_does_not_come_out,
        ),
        Guarantee("an inner join ignores order", "inner", same_under=REORDERINGS, alike=Equivalence.SAME_MULTISET),
        Guarantee(
            "an inner join is the same after a restart",
            "inner",
            same_under=(RESTART,),
            alike=Equivalence.SAME_MULTISET,
        ),
        Guarantee(
            "an inner join is the same after a failure in a bundle",
            "inner",
            same_under=(RETRY, RESUME),
            alike=Equivalence.SAME_MULTISET,
        ),
        Guarantee(
            "each matching pair comes out of an outer join",
            "left outer",
            each_matching_pair_comes_out,
            source=SPARK_MATCH,
        ),
        Guarantee("an unmatched left row comes out once", "left outer", unmatched_once),
        Guarantee("a matched left row is never put out as unmatched", "left outer", matched_is_never_unmatched),
        Guarantee(
            "a left row is not put out as unmatched before the bound has passed",
            "left outer",
            not_unmatched_before_the_bound,
            source=SPARK_DELAY,
        ),
        Guarantee(
            "an unmatched left row comes out in the first advance that reaches the bound",
            "left outer",
            unmatched_in_the_first_advance_that_reaches_the_bound,
            needs=frozenset({Feature.WATERMARK}),
        ),
        Guarantee("an outer join ignores order", "left outer", same_under=REORDERINGS, alike=Equivalence.SAME_MULTISET),
        Guarantee(
            "an outer join is the same after a restart",
            "left outer",
            same_under=(RESTART,),
            alike=Equivalence.SAME_MULTISET,
        ),
        Guarantee(
            "an outer join is the same after a failure in a bundle",
            "left outer",
            same_under=(RETRY, RESUME),
            alike=Equivalence.SAME_MULTISET,
        ),
    ),
)

"""Click trail: emit the clicks of a session in order of event time when the session has ended, which a gap of
inactivity does.

Every click sets a timer of its own for its time plus the gap. No timer is moved or cleared: a timer that fires checks
whether its click is the last of a session. The scenario session timeout moves its timers instead, and asks about the
bounds of sessions. This scenario asks about their contents.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, RECOVERIES, RENAMINGS, REORDERINGS
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Event
from conformance.scenarios.documents import SCOPED
from conformance.scenarios.shared import (
    DRIVEN,
    each_once,
    in_its_step,
    named,
    names,
    of_one_key,
    survives,
    where_the_watermark_moves,
)
from conformance.scenarios.stories.session_timeout import BEAM_SESSIONS, GAP, SPARK_SESSIONS


class ClickTrail(Program):
    """State: the clicks that have not come out yet, each [event time, id]."""

    cells = {"clicks": Cell.BAG}
    timers = ("ended",)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.clicks.add([event.event_time, event.id])
        timers.set("ended", event.event_time + GAP, tag=str(event.event_time))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        last = timer.time - GAP
        clicks = sorted(state.clicks.get())
        if any(last < time < timer.time for time, _ in clicks):
            return  # the session goes on
        first = last
        for time, _ in reversed(clicks):
            if first - GAP < time <= last:
                first = time
        if trail := [id for time, id in clicks if first <= time <= last]:
            emit({"trail": trail})
        state.clicks.clear()
        for time, id in clicks:
            if not first <= time <= last:
                state.clicks.add([time, id])


of_trails = Guarantees("trails")

in_one_trail = of_trails("every on-time click is in one trail")(each_once("trail", "is in trails {} times"))


@of_trails("a trail is in order of event time")
def in_order_of_event_time(run: Observation) -> Iterator[Finding]:
    """Exercised where a trail has several clicks."""
    for _, trail in named(run, "trail"):
        if len(trail) > 1:
            times = [arrival.event.event_time for arrival in trail]
            yield times == sorted(times) or f"the trail {names(trail)} has the times {times}"


@of_trails("a trail has no gap in it as long as the one that ends it", source=BEAM_SESSIONS)
def no_gap_within_a_trail(run: Observation) -> Iterator[Finding]:
    for _, trail in named(run, "trail"):
        in_time = sorted(trail, key=lambda arrival: arrival.event.event_time)
        for one, two in itertools.pairwise(in_time):
            gap = two.event.event_time - one.event.event_time
            yield gap < GAP or f"{one.event.id} and {two.event.id}, next to each other in a trail, are {gap} ms apart"


@of_trails("clicks closer than the gap share a trail")
def closer_than_the_gap_share_a_trail(run: Observation) -> Iterator[Finding]:
    found = {arrival.event.id: number for number, (_, trail) in enumerate(named(run, "trail")) for arrival in trail}
    for arrivals in run.arrivals_by_key.values():
        in_time = sorted(arrivals, key=lambda arrival: arrival.event.event_time)
        for one, two in itertools.pairwise(arrival.event for arrival in in_time):
            if (gap := two.event_time - one.event_time) < GAP:
                together = one.id in found and found[one.id] == found.get(two.id)
                yield together or f"{one.id} and {two.id}, {gap} ms apart, share no trail"


@of_trails(
    "a trail comes out when the watermark passes its last click plus the gap, not before",
    source=SPARK_SESSIONS,
    needs=DRIVEN,
)
@where_the_watermark_moves
def comes_out_when_the_session_has_ended(run: Observation) -> Iterator[Finding]:
    for emission, trail in named(run, "trail"):
        end = max(arrival.event.event_time for arrival in trail) + GAP
        yield in_its_step(run, f"the trail {names(trail)}", end, emission.step)


users_do_not_share_a_trail = of_trails("users do not share a trail", source=SCOPED)(of_one_key("trail", "the trail"))


SCENARIO = Scenario(
    name="click trail",
    summary=f"Put out the clicks of a session in order of event time, when there was none for {GAP} ms.",
    programs={"trails": ClickTrail()},
    domain={"trails": Domain(offsets=(1, 1, 500, 6_000, GAP - 1, GAP, GAP + 1, 2 * GAP, -500, -6_000, -GAP), keys=2)},
    stable_under={"trails": promise((*REORDERINGS, *BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)},
    guarantees=(
        *of_trails,
        Guarantee(
            "trails ignore the order of arrival", "trails", same_under=REORDERINGS, alike=Equivalence.SAME_MULTISET
        ),
        *survives("trails are", "trails"),
    ),
)

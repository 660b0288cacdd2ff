"""Session timeout: group the events of a key into sessions, closed by a gap of inactivity in event time.

Two events belong together when they are closer than the gap, or when other events connect them. A session comes out
once, when the watermark reaches its last event's time plus the gap. Events come in any order, so a key may have several
open sessions. An event between two open sessions merges them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, RECOVERIES, RENAMINGS, REORDERINGS
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Arrival, Event
from conformance.model.values import Json
from conformance.scenarios.documents import BEAM_GUIDE, SPARK_GUIDE
from conformance.scenarios.shared import (
    DRIVEN,
    each_once,
    in_its_step,
    in_order,
    named,
    once,
    survives,
    where_the_watermark_moves,
)
from conformance.support.grouping import grouped

GAP = 10_000

BEAM_SESSIONS = BEAM_GUIDE.says(
    "If data arrives after the minimum specified gap duration time, this initiates the start of a new window",
    "Session windows",
    "session-windows",
)
SPARK_SESSIONS = SPARK_GUIDE.says(
    "a session window closes when there's no input received within gap duration after receiving the latest input",
    "Types of time windows",
    "types-of-time-windows",
)


class SessionTimeout(Program):
    """State: the open sessions, each [first event time, last event time, sorted event ids].

    Each end of a session has a timer, tagged with the end. A session that grows moves its timer.
    """

    cells = {"open": Cell.VALUE}
    timers = ("close",)
    times = ("start", "end", "stray")
    parameters = {"gap": GAP}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        first, last, ids = event.event_time, event.event_time, [event.id]
        apart = []
        before = state.open.get([])
        for session in before:
            if event.event_time - session[1] < GAP and session[0] - event.event_time < GAP:
                first, last, ids = min(first, session[0]), max(last, session[1]), ids + session[2]
            else:
                apart.append(session)
        after = sorted([*apart, [first, last, sorted(ids)]])
        state.open.set(after)
        ends_before = {session[1] + GAP for session in before}
        ends_after = {session[1] + GAP for session in after}
        for end in sorted(ends_before - ends_after):
            timers.clear("close", tag=str(end))
        for end in sorted(ends_after - ends_before):
            timers.set("close", end, tag=str(end))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        still_open: list[Json] = []
        ended: list[Json] = []
        for session in state.open.get([]):
            (ended if session[1] + GAP == timer.time else still_open).append(session)
        state.open.set(still_open)
        for first, last, ids in ended:
            emit({"start": first, "end": last + GAP, "ids": ids})
        if not ended:
            emit({"stray": timer.time})


def sessions_with(run: Observation) -> dict[str, list[int]]:
    """Event id -> the numbers (in order of output) of the sessions that contain the event."""
    return grouped((event, number) for number, session in enumerate(run.values("ids")) for event in session["ids"])


def neighbours(run: Observation) -> Iterator[tuple[Arrival, Arrival]]:
    """(event, the next event of its key in event time)."""
    for arrivals in run.arrivals_by_key.values():
        in_time = sorted(arrivals, key=lambda a: a.event.event_time)
        yield from itertools.pairwise(in_time)


def _distance(pair: tuple[Arrival, Arrival]) -> int:
    return pair[1].event.event_time - pair[0].event.event_time


of_sessions = Guarantees("sessions")

every_event_is_in_one_session = of_sessions("every on-time event is in exactly one session")(
    each_once("ids", "is in {} sessions")
)


@of_sessions("events closer than the gap share a session", source=SPARK_SESSIONS)
def closer_than_the_gap_share_one(run: Observation) -> Iterator[Finding]:
    sessions = sessions_with(run)
    for pair in neighbours(run):
        if _distance(pair) < GAP:
            one, two = (set(sessions.get(a.event.id, [])) for a in pair)
            yield (
                bool(one & two)
                or f"{pair[0].event.id} and {pair[1].event.id}, {_distance(pair)} ms apart, share no session"
            )


def _apart(run: Observation, distances: range) -> Iterator[Finding]:
    sessions = sessions_with(run)
    for pair in neighbours(run):
        if _distance(pair) in distances:
            one, two = (set(sessions.get(a.event.id, [])) for a in pair)
            yield (
                not one & two
                or f"{pair[0].event.id} and {pair[1].event.id}, {_distance(pair)} ms apart, share a session"
            )


@of_sessions("neighbours further apart than the gap do not share a session", source=BEAM_SESSIONS)
def further_apart_do_not_share(run: Observation) -> Iterator[Finding]:
    yield from _apart(run, range(GAP + 1, 10**15))


@of_sessions("neighbours exactly the gap apart do not share a session")
def exactly_the_gap_apart_do_not_share(run: Observation) -> Iterator[Finding]:
    yield from _apart(run, range(GAP, GAP + 1))


@of_sessions(
    "a session closes when the watermark passes its last event plus the gap, not before",
    source=SPARK_SESSIONS,
    needs=DRIVEN,
)
@where_the_watermark_moves
def closes_when_the_watermark_passes(run: Observation) -> Iterator[Finding]:
    for emission, inside in named(run, "ids"):
        end = max(arrival.event.event_time for arrival in inside) + GAP
        yield in_its_step(run, f"the session of {', '.join(emission.value['ids'])}", end, emission.step, "closed")


@of_sessions("a session is told to last from its first event to the gap after its last")
def bounds_are_those_of_its_events(run: Observation) -> Iterator[Finding]:
    for emission, inside in named(run, "ids"):
        session, times = emission.value, [arrival.event.event_time for arrival in inside]
        found, wanted = (session["start"], session["end"]), (min(times), max(times) + GAP)
        yield found == wanted or (
            f"the session of {', '.join(session['ids'])} came out as {found[0]} to {found[1]}, not {wanted[0]} to "
            f"{wanted[1]}"
        )


@of_sessions("a session closes once")
def closes_once(run: Observation) -> Iterator[Finding]:
    for (key, start), times in Counter((emission.key, start) for emission, start in run.tagged("start")).items():
        yield once(f"the session of key {key} from {start} was emitted", times)


@of_sessions("an out-of-order event that connects two sessions merges them", source=BEAM_SESSIONS)
def a_bridge_merges(run: Observation) -> Iterator[Finding]:
    """Exercised where an event lies between two earlier arrivals of its key, which share no session without it."""
    sessions = sessions_with(run)
    for arrivals in run.arrivals_by_key.values():
        for position, bridge in enumerate(arrivals):
            time = bridge.event.event_time
            earlier = sorted(arrivals[:position], key=lambda a: a.event.event_time)
            below = [a for a in earlier if 0 < time - a.event.event_time < GAP]
            above = [a for a in earlier if 0 < a.event.event_time - time < GAP]
            if not below or not above or any(a.event.event_time == time for a in earlier):
                continue
            left, right = below[-1].event, above[0].event
            if right.event_time - left.event_time >= GAP:
                shared = set(sessions.get(left.id, [])) & set(sessions.get(right.id, []))
                yield bool(shared) or f"{bridge.event.id} connects {left.id} and {right.id}, which share no session"


close_in_order = of_sessions("sessions of a key that close at once come out in order of their ends")(
    in_order("end", "the sessions of key {} came out with the ends {}")
)


@of_sessions("a timer that was cleared does not fire")
def a_cleared_timer_does_not_fire(run: Observation) -> Iterator[Finding]:
    """Exercised where an event moves the end of a session: it is later than the key's latest event, by less than the
    gap.

    The program emits a stray when a timer fires at whose time no session ends.
    """
    strays = run.tagged("stray")
    for key, arrivals in run.arrivals_by_key.items():
        times = sorted(a.event.event_time for a in arrivals)
        ends = {
            time + GAP
            for time, after in zip(times, [*times[1:], None], strict=True)
            if not after or after - time >= GAP
        }
        for position, arrival in enumerate(arrivals[1:], 1):
            latest = max(earlier.event.event_time for earlier in arrivals[:position])
            if 0 < arrival.event.event_time - latest < GAP:
                fired = [time for emission, time in strays if emission.key == key and time not in ends]
                yield not fired or f"a timer of key {key} fired for {fired[0]}, where no session ends any more"


SCENARIO = Scenario(
    name="session timeout",
    summary=f"Group the events of a key into sessions closed by {GAP} ms of inactivity in event time.",
    programs={"sessions": SessionTimeout()},
    domain={
        "sessions": Domain(
            offsets=(1, 1, 6_000, GAP - 1, GAP, GAP, GAP + 1, 2 * GAP, 12_000, -6_000, -6_000, -GAP, -GAP - 1),
            keys=2,
        )
    },
    stable_under={
        # No document promises an order of the sessions that one advance closes.
        "sessions": promise((*REORDERINGS, *BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET),
    },
    guarantees=(
        *of_sessions,
        Guarantee("sessions ignore arrival order", "sessions", same_under=REORDERINGS, alike=Equivalence.SAME_MULTISET),
        *survives("sessions are", "sessions"),
        Guarantee("sessions ignore bundling", "sessions", same_under=BUNDLINGS, alike=Equivalence.SAME_MULTISET),
    ),
)

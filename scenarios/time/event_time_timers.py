"""Event-time timers: events and other timers set, move and clear them, and the watermark alone makes them fire.

A timer's name and tag identify it. Setting a timer again moves it. A callback may set and clear other timers, also for
times that the watermark has passed already.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import (
    BUNDLINGS,
    FINER,
    RECOVERIES,
    REDELIVER,
    RENAMINGS,
    REORDERINGS,
    WATERMARKINGS,
)
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, Source, promise
from conformance.model.schedule import Arrival, Event
from conformance.scenarios.documents import BEAM_TIMER, IN_TIMESTAMP_ORDER, ONCE_PER_TIMER, REGISTER_IN_CALLBACKS
from conformance.scenarios.shared import DRIVEN, in_its_step, not_before, once, where_the_watermark_moves
from conformance.support.grouping import grouped

PAUSE = 10_000
SOON = 1_000
LATER = 2_000

BEAM_RESET = Source(
    "Beam Java API, Timer.set", "If the timer was already set, resets it to the new requested time", BEAM_TIMER
)


class Debounce(Program):
    """An event that is later than all before it moves its key's timer, which fires when the key has been quiet."""

    cells = {"latest": Cell.VALUE}
    timers = ("quiet",)
    times = ("fired",)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if event.event_time > state.latest.get(-1):
            state.latest.set(event.event_time)
            timers.set("quiet", event.event_time + PAUSE)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"fired": timer.time})


class Chain(Program):
    """Every event sets two timers of its own, tagged with its id: "first", and "cleared", which is due SOON after it.

    The callback of "first" clears "cleared" and sets "third", which is due LATER than "first". ``timers`` names
    "cleared" first: an engine that fires a cleared timer cannot always tell which timer it fires, and then reports the
    first name.
    """

    timers = ("cleared", "first", "third")
    times = ("time",)
    timer_chain = 1

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        timers.set("first", event.event_time + PAUSE, tag=event.id)
        timers.set("cleared", event.event_time + PAUSE + SOON, tag=event.id)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"fired": timer.name, "of": timer.tag, "time": timer.time})
        if timer.name == "first":
            timers.clear("cleared", tag=timer.tag)
            timers.set("third", timer.time + LATER, tag=timer.tag)


class Relay(Program):
    """Every event sets two timers of its own, tagged with its id: "first", and "moved", which is due SOON after it.

    The callback of "first" moves "moved" to LATER after "first". ``timers`` names "moved" first, for the reason that
    Chain has.
    """

    timers = ("moved", "first")
    times = ("time",)
    timer_chain = 1

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        timers.set("first", event.event_time + PAUSE, tag=event.id)
        timers.set("moved", event.event_time + PAUSE + SOON, tag=event.id)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"fired": timer.name, "of": timer.tag, "time": timer.time})
        if timer.name == "first":
            timers.set("moved", timer.time + LATER, tag=timer.tag)


def settings(run: Observation) -> Iterator[tuple[Arrival, int, Arrival | None]]:
    """(event that sets the timer of its key, the time that it sets, the next event that sets the timer)."""
    for arrivals in run.arrivals_by_key.values():
        latest, setting = -1, []
        for arrival in arrivals:
            if arrival.event.event_time > latest:
                latest = arrival.event.event_time
                setting.append(arrival)
        for arrival, after in itertools.zip_longest(setting, setting[1:]):
            yield arrival, arrival.event.event_time + PAUSE, after


def left_alone(run: Observation) -> Iterator[tuple[str, int]]:
    """(key, time) of the timers whose time the watermark had settled before another event of the key set the timer."""
    for arrival, time, after in settings(run):
        if after is None or after.settled >= time:
            yield arrival.event.key, time


def moved_away(run: Observation) -> Iterator[tuple[str, int]]:
    """(key, time) of the timers whose time the watermark had not reached when another event moved the timer."""
    for arrival, time, after in settings(run):
        if after is not None and after.watermark < time:
            yield arrival.event.key, time


def firings(run: Observation, key: str, time: int) -> list[int]:
    """The steps in which a timer of the key fired for this time."""
    return [emission.step for emission, fired in run.tagged("fired") if (emission.key, fired) == (key, time)]


of_moved = Guarantees("moved")
of_chain = Guarantees("chain")
of_relay = Guarantees("relay")


@of_moved("a timer does not fire before its time", source=IN_TIMESTAMP_ORDER)
def not_before_its_time(run: Observation) -> Iterator[Finding]:
    for emission, time in run.tagged("fired"):
        yield not_before(run, f"the timer of key {emission.key} for {time}", time, emission.step, "fired")


@of_moved("a timer fires once", source=ONCE_PER_TIMER)
def fires_once(run: Observation) -> Iterator[Finding]:
    for key, time in left_alone(run):
        yield once(f"the timer of key {key} for {time} fired", len(firings(run, key, time)))


@of_moved("a timer fires in the first advance that reaches it", needs=DRIVEN)
@where_the_watermark_moves
def fires_in_the_first_advance(run: Observation) -> Iterator[Finding]:
    for key, time in left_alone(run):
        for step in firings(run, key, time):
            yield in_its_step(run, f"the timer of key {key} for {time}", time, step, "fired")


@of_moved("a moved timer fires only at its last time", source=BEAM_RESET)
def fires_only_at_its_last_time(run: Observation) -> Iterator[Finding]:
    for key, time in moved_away(run):
        steps = firings(run, key, time)
        yield not steps or f"the timer of key {key} was moved away from {time} and fired for it in step {steps[0]}"


@of_chain("a timer set from a timer fires in the first advance that reaches it", source=REGISTER_IN_CALLBACKS)
def set_from_a_timer_fires(run: Observation) -> Iterator[Finding]:
    """Not asked where both timers are due in a bundle (after a coalesced advance): the bundle may end before the second
    fires."""
    bundles = {bundle.id for bundle in run.case.schedule.bundles}
    fired = grouped((emission.value["of"], emission.step) for emission, name in run.tagged("fired") if name == "third")
    for arrival in run.arrivals:
        event, time = arrival.event, arrival.event.event_time + PAUSE
        due = run.case.schedule.due(time + LATER)
        if due not in bundles or due != run.case.schedule.due(time):
            steps = fired.get(event.id, [])
            yield (
                steps == [due]
                or f"the timer for {time + LATER} that a timer of {event.id} set is due in step {due} and fired in "
                f"steps {steps}"
            )


@of_chain("a timer cleared from a timer does not fire")
def cleared_from_a_timer_does_not_fire(run: Observation) -> Iterator[Finding]:
    """Exercised where the timer that clears has fired. A timer that fired earlier was not cleared yet."""
    for _, event, old in given_up(run, "cleared"):
        time = event.event_time + PAUSE + SOON
        yield not old or f"the timer for {time} that a timer of {event.id} cleared fired all the same"


def given_up(run: Observation, name: str) -> Iterator[tuple[str, Event, int]]:
    """(key, event, how often its timer of this name fired for the time that the event set, after the callback of
    "first" gave that time up) of the events whose "first" has fired.

    An engine may not know whose timer it fires. Then the time identifies the timer, once all events of that time have
    given it up.
    """
    for key, arrivals in run.arrivals_by_key.items():
        values = [emission.value for emission in run.of_key(key)]
        given = {v["of"]: number for number, v in reversed(list(enumerate(values))) if v["fired"] == "first"}
        for event in (arrival.event for arrival in arrivals):
            if event.id not in given:
                continue
            time = event.event_time + PAUSE + SOON
            same_time = [a.event.id for a in arrivals if a.event.event_time == event.event_time]
            all_given = max(given.get(other, len(values)) for other in same_time)
            after = [
                number
                for number, v in enumerate(values)
                if (v["fired"], v["time"]) == (name, time)
                and ((v["of"] == event.id and number > given[event.id]) or (not v["of"] and number > all_given))
            ]
            yield key, event, len(after)


@of_relay("a timer moved from a timer fires at its new time only", source=BEAM_RESET)
def moved_from_a_timer_fires_at_its_new_time_only(run: Observation) -> Iterator[Finding]:
    """Exercised where the timer that moves the other has fired. Where the other has fired before, it was set again, not
    moved."""
    for key, event, old in given_up(run, "moved"):
        before, after = event.event_time + PAUSE + SOON, event.event_time + PAUSE + LATER
        mine = [v["time"] for v in run.values("fired") if (v["fired"], v["of"]) == ("moved", event.id)]
        new = mine.count(after)
        yield (
            (old == 0 and new == 1)
            or f"a timer of {event.id} of key {key} moved a timer from {before} to {after}: it fired {old} times "
            f"for {before}, {new} times for {after}"
        )


SCENARIO = Scenario(
    name="event-time timers",
    summary="Timers of one key that are set, moved, cleared, and set from one another.",
    programs={"moved": Debounce(), "chain": Chain(), "relay": Relay()},
    domain={
        "moved": Domain(offsets=(1, 1, 500, 5_000, PAUSE, 12_000, -500, -5_000), keys=2),
        "chain": Domain(offsets=(1, 1, 2, 500, 3_000, 5_000, PAUSE, -500), keys=2),
        "relay": Domain(offsets=(1, 1, 2, 500, 1_500, 3_000, PAUSE, -500), keys=2),
    },
    # Timers of one instant have no order among them. Neither has a timer that is set for a time that has passed.
    stable_under={
        "moved": promise((*REORDERINGS, *BUNDLINGS, FINER, *RECOVERIES, *RENAMINGS, REDELIVER), Equivalence.IDENTICAL),
        "chain": promise(
            (*REORDERINGS, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET
        ),
        "relay": promise(
            (*REORDERINGS, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET
        ),
    },
    guarantees=(*of_moved, *of_chain, *of_relay),
)

"""Timer firing: which timers fire, when, in which order, and with which state, when nothing moves them any more.

Every event sets timers of its own, whose tags begin with the event's id, and emits its id. A callback emits the timer's
tag and the events that its key has had. No callback sets a timer. Guarantees of their own ask about timers for a time
that the watermark has passed or has reached exactly, because engines differ there.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import FINER, INTERLEAVE, RECOVERIES, RENAMINGS, SINGLES
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Arrival, Event
from conformance.scenarios.documents import BEAM_GUIDE, IN_TIMESTAMP_ORDER, ONCE_PER_TIMER, WITHOUT_RECORDS
from conformance.scenarios.shared import DRIVEN, once, reached, survives
from conformance.support.grouping import grouped

PAUSE = 4_000
LONG_AGO = 100_000
"""Longer (ms) than the distance of any event from the watermark at its delivery: such a timer is always in the past."""

HOUR = 20_000
SHARED = "hour"
"""The tag of the timer that the events of a key share. The timer is for the end of a span of HOUR ms."""

BEAM_TAGS = BEAM_GUIDE.says(
    "A timer with a specific tag can only be set to a single timestamp", "Dynamic timer tags", "dynamic-timer-tags"
)


class Firing(Program):
    """An event's value names the timers that it sets.

    "once" and "delete the last" set one timer. "delete the last" also deletes the timer of the last "once". "two at
    once" sets two timers for one time. "two, one deleted" sets two timers and deletes one right away. "long ago" and
    "just before" set a timer for a time before the event. "end of the hour" sets the timer that all events of the key
    share.
    """

    cells = {"events": Cell.BAG, "last": Cell.VALUE}
    timers = ("timer",)
    times = ("time",)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.events.add(event.id)
        for tag, time in timers_of(event).items():
            timers.set("timer", time, tag=tag)
        deleted = None
        if event.value == "once":
            state.last.set(event.id)
        elif event.value == "delete the last":
            deleted = state.last.get()
        elif event.value == "two, one deleted":
            deleted = f"{event.id}/deleted"
        if deleted:
            timers.clear("timer", tag=deleted)
        emit({"id": event.id, "deleted": deleted})

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"fired": timer.tag, "time": timer.time, "events": state.events.get()})


def timers_of(event: Event) -> dict[str, int]:
    """Tag -> time (ms) of the timers that an event sets."""
    later = event.event_time + PAUSE
    if event.value == "two at once":
        return {f"{event.id}/1": later, f"{event.id}/2": later}
    if event.value == "two, one deleted":
        return {f"{event.id}/kept": later, f"{event.id}/deleted": later + 1}
    if event.value == "long ago":
        return {event.id: event.event_time - LONG_AGO}
    if event.value == "just before":
        return {event.id: event.event_time - 1}
    if event.value == "end of the hour":
        return {SHARED: event.event_time - event.event_time % HOUR + HOUR}
    return {event.id: later}


def lasting(run: Observation) -> Iterator[tuple[Arrival, str, int]]:
    """(event, tag, time) of the timers that are set for a time after the watermark and that nothing moves or
    deletes."""
    for arrivals in run.arrivals_by_key.values():
        deletes = any(arrival.event.value == "delete the last" for arrival in arrivals)
        for arrival in arrivals:
            if not (arrival.event.value == "once" and deletes):
                for tag, time in timers_of(arrival.event).items():
                    if time > arrival.watermark and tag != SHARED and not tag.endswith("/deleted"):
                        yield arrival, tag, time


def handled(run: Observation) -> dict[str, int]:
    """Event id -> the step in which its output came out. An engine may hold an element back."""
    return {name: emission.step for emission, name in run.tagged("id")}


def firings(run: Observation, key: str, tag: str) -> list[int]:
    """The steps in which a key's timer of this tag fired."""
    return [emission.step for emission, fired in run.tagged("fired") if (emission.key, fired) == (key, tag)]


of_ahead = Guarantees("ahead")
of_passed = Guarantees("passed")


@of_ahead("a timer fires without new data of its key", source=WITHOUT_RECORDS)
def fires_without_new_data(run: Observation) -> Iterator[Finding]:
    for arrival, tag, time in lasting(run):
        key = arrival.event.key
        if run.arrivals_by_key[key][-1].step == arrival.step:
            yield (
                bool(firings(run, key, tag))
                or f"the timer of {arrival.event.id} for {time} did not fire; no data of key {key} came after it"
            )


@of_ahead("timers of a key that one advance makes due fire in order of time", source=IN_TIMESTAMP_ORDER)
def in_order_of_time(run: Observation) -> Iterator[Finding]:
    """Exercised where one settled advance makes timers of several times due."""
    came = handled(run)
    expected = {(a.event.key, tag): came[a.event.id] for a, tag, _ in lasting(run) if a.event.id in came}
    settled = {advance.id for advance in run.case.schedule.advances if not advance.coalesced}
    fired = grouped(
        ((e.key, e.step), e.value["time"])
        for e, tag in run.tagged("fired")
        if e.step in settled and expected.get((e.key, tag), e.step) < e.step
    )
    for (key, step), times in fired.items():
        if len(set(times)) > 1:
            yield times == sorted(times) or f"the timers of key {key} that fired in step {step} are for {times}"


@of_ahead("timers of one instant all fire", source=ONCE_PER_TIMER)
def of_one_instant_all_fire(run: Observation) -> Iterator[Finding]:
    for arrival in run.arrivals:
        if arrival.event.value == "two at once":
            key, tags = arrival.event.key, timers_of(arrival.event)
            times = [len(firings(run, key, tag)) for tag in tags]
            yield times == [1, 1] or f"of two timers that {arrival.event.id} set for one instant fired {times}"


@of_passed("a timer set for a time that has passed fires once")
def passed_fires_once(run: Observation) -> Iterator[Finding]:
    for arrival in run.arrivals:
        if arrival.event.value == "long ago":
            fired = firings(run, arrival.event.key, arrival.event.id)
            yield once(f"the timer of {arrival.event.id}, for {LONG_AGO} ms before it, fired", len(fired))


@of_passed("a timer set for a time that has passed fires by the next advance", needs=DRIVEN)
def passed_fires_by_the_next_advance(run: Observation) -> Iterator[Finding]:
    """Exercised where the timer fires, and the next advance is not the last."""
    *others, _ = run.case.schedule.advances
    values = {arrival.event.id: arrival.event.value for arrival in run.arrivals}
    for emission, name in run.tagged("id"):
        following = next((advance for advance in others if advance.id > emission.step), None)
        if values[name] == "long ago" and following:
            latest = run.case.schedule.due(following.watermark)
            for step in firings(run, emission.key, name):
                yield (
                    latest is None
                    or step <= latest
                    or f"the timer of {name}, for {LONG_AGO} ms before it, fired in step {step}, after step {latest}"
                )


@of_passed("a timer set for exactly the watermark fires once")
def at_the_watermark_fires(run: Observation) -> Iterator[Finding]:
    """Asks about timers that an event set while the watermark stood at their time."""
    for arrival in run.arrivals:
        if (
            arrival.event.value == "just before"
            and arrival.watermark == arrival.settled == arrival.event.event_time - 1
        ):
            fired = firings(run, arrival.event.key, arrival.event.id)
            yield once(f"the timer of {arrival.event.id}, set at the watermark for that time, fired", len(fired))


@of_ahead("a timer fires when the watermark comes exactly to its time", needs=DRIVEN)
def reached_exactly_fires(run: Observation) -> Iterator[Finding]:
    """Exercised where the timer fires, and an advance before the last one stops at its time."""
    *others, _ = run.case.schedule.advances
    stops = {advance.watermark: advance.id for advance in others if not advance.coalesced}
    came = handled(run)
    for arrival, tag, time in lasting(run):
        if time in stops and came.get(arrival.event.id, stops[time]) < stops[time]:
            for step in firings(run, arrival.event.key, tag):
                yield (
                    step == stops[time]
                    or f"the watermark came to {time} in step {stops[time]}, the timer of {arrival.event.id} for "
                    f"it fired in step {step}"
                )


def shared(run: Observation) -> Iterator[tuple[str, int, int]]:
    """(key, time, how many events set the timer) of the shared timers that every event sets for the same time."""
    for key, arrivals in run.arrivals_by_key.items():
        times = [timers_of(arrival.event)[SHARED] for arrival in arrivals if arrival.event.value == "end of the hour"]
        if len(set(times)) == 1:
            yield key, times[0], len(times)


@of_ahead("a timer set again for the same time fires once", source=BEAM_TAGS)
def set_again_fires_once(run: Observation) -> Iterator[Finding]:
    for key, time, often in shared(run):
        if often > 1:
            fired = firings(run, key, SHARED)
            yield once(f"the timer of key {key} that was set {often} times for {time} fired", len(fired))


@of_ahead("keys have timers of their own")
def keys_have_timers_of_their_own(run: Observation) -> Iterator[Finding]:
    """Exercised where several keys set a timer with the same tag."""
    found = list(shared(run))
    if len(found) > 1:
        for key, time, _ in found:
            fired = firings(run, key, SHARED)
            yield once(f"the timer of key {key} for {time}, whose tag other keys use too, fired", len(fired))


@of_ahead("a timer deleted by its tag does not fire")
def deleted_does_not_fire(run: Observation) -> Iterator[Finding]:
    """Asks about timers whose time had not come when an event deleted them."""
    arrivals = {arrival.event.id: arrival for arrival in run.arrivals}
    for key, emissions in run.told.items():
        for number, emission in enumerate(emissions):
            if tag := emission.value.get("deleted"):
                time = timers_of(arrivals[tag.partition("/")[0]].event)[tag]
                if time > reached(run, emission.step):
                    fired = [e.step for e in emissions[number:] if e.value.get("fired") == tag]
                    yield (
                        not fired
                        or f"the timer {tag} of key {key} fired in step {fired[0]}, {emission.value['id']} had "
                        "deleted it"
                    )


@of_ahead("deleting a timer leaves the others of its key")
def deleting_leaves_the_others(run: Observation) -> Iterator[Finding]:
    for arrival in run.arrivals:
        if arrival.event.value == "two, one deleted":
            fired = firings(run, arrival.event.key, f"{arrival.event.id}/kept")
            yield once(f"{arrival.event.id} deleted one of two timers, and the other fired", len(fired))


@of_ahead("a timer's callback sees the state written before")
def callbacks_see_the_state(run: Observation) -> Iterator[Finding]:
    """The state is the events of the key up to the callback."""
    for key, emissions in run.told.items():
        had: list[str] = []
        for emission in emissions:
            if "id" in emission.value:
                had.append(emission.value["id"])
            elif had:
                found = emission.value["events"]
                yield (
                    sorted(found) == sorted(had)
                    or f"the timer {emission.value['fired']} of key {key} found the events {found}, not {had}"
                )


@of_passed("no timer fires within a bundle of its key", vacuous_under=(SINGLES,))
def not_within_a_bundle(run: Observation) -> Iterator[Finding]:
    """Asks about timers for a time "long ago", which are due at once.

    Exercised where, in the same step, another element of the key follows the element that sets the timer.
    """
    for key, emissions in run.told.items():
        for bundle in run.case.schedule.bundles:
            mine = {event.id: event.value for event in bundle.events if event.key == key}
            passed = {name for name, value in mine.items() if value == "long ago"}
            came = [emission.value for emission in emissions if emission.step == bundle.id]
            elements = [value["id"] for value in came if value.get("id") in mine]
            if passed & set(elements[:-1]):
                first = next((place for place, value in enumerate(came) if value.get("fired") in passed), len(came))
                between = [value["id"] for value in came[first:] if value.get("id") in mine]
                yield (
                    not between or f"a timer of key {key} fired before {between[0]}, in the middle of step {bundle.id}"
                )


def _domain(*operations: str) -> Domain:
    return Domain(offsets=(1, 1, 2, 500, 1_000, 1_001, 5_001, 6_000, 6_001, 10_001), keys=2, values=operations)


SCENARIO = Scenario(
    name="timer firing",
    summary="Every event sets timers of its own; a timer says when it fires, and which events its key has had.",
    # Timers for a time that has passed have a program of their own: an engine that refuses one would lose the other
    # timers, too.
    programs={"ahead": Firing(), "passed": Firing()},
    domain={
        "ahead": _domain(
            "once", "two at once", "two, one deleted", "delete the last", "end of the hour", "end of the hour"
        ),
        "passed": _domain("once", "long ago", "long ago", "just before"),
    },
    # No document promises an order of the timers of one instant. A timer for a time that has passed fires when the
    # bundle is over, so the state that its callback reads depends on bundling.
    stable_under={
        program: promise((INTERLEAVE, FINER, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET)
        for program in ("ahead", "passed")
    },
    guarantees=(
        *of_ahead,
        *of_passed,
        *survives("timers are", "ahead", Equivalence.SAME_MULTISET),
    ),
)

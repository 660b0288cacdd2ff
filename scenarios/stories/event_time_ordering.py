"""Event-time ordering: hold the elements of a key until the watermark passes them, and emit them in order of event
time.

``@RequiresTimeSortedInput`` does the same in Beam's Java SDK. Elements of one instant come out in order of their ids,
so the output does not depend on the order of arrival at all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, FINER, RECOVERIES, RENAMINGS, REORDERINGS
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, Source, promise
from conformance.model.schedule import Event
from conformance.scenarios.shared import DRIVEN, in_its_step, named, not_before, survives, where_the_watermark_moves

JAVADOC = (
    "https://beam.apache.org/releases/javadoc/current/org/apache/beam/sdk/transforms/DoFn.RequiresTimeSortedInput.html"
)
BEAM_SORTED = Source("Beam Java API, DoFn.RequiresTimeSortedInput", "is sorted by time, in ascending order", JAVADOC)
BEAM_PASSED = Source(
    "Beam Java API, DoFn.RequiresTimeSortedInput",
    "All data is emitted after input watermark passes element's timestamp + allowedLateness",
    JAVADOC,
)


class SortByEventTime(Program):
    """State: the elements that the program holds, each [event time, id]. There is one timer for each instant."""

    cells = {"held": Cell.BAG}
    timers = ("passed",)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.held.add([event.event_time, event.id])
        timers.set("passed", event.event_time, tag=str(event.event_time))

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        held = sorted(state.held.get())
        state.held.clear()
        for time, id in held:
            if time <= timer.time:
                emit({"id": id})
            else:
                state.held.add([time, id])


def put_out(run: Observation, key: str) -> list[Event]:
    """The events of a key, in the order in which they came out."""
    events = {arrival.event.id: arrival.event for arrival in run.arrivals_by_key[key]}
    return [events[e.value["id"]] for e in run.of_key(key) if e.value["id"] in events]


of_sorted = Guarantees("sorted")


@of_sorted("elements come out in order of event time", source=BEAM_SORTED)
def in_order_of_event_time(run: Observation) -> Iterator[Finding]:
    for key in run.arrivals_by_key:
        for one, two in itertools.pairwise(put_out(run, key)):
            yield (
                one.event_time <= two.event_time
                or f"{two.id} of key {key}, {one.event_time - two.event_time} ms before {one.id}, came out after it"
            )


@of_sorted("elements of one instant come out in order of their ids")
def one_instant_in_order_of_ids(run: Observation) -> Iterator[Finding]:
    for key in run.arrivals_by_key:
        for one, two in itertools.pairwise(put_out(run, key)):
            if one.event_time == two.event_time:
                yield one.id <= two.id or f"{two.id} of key {key} came out after {one.id}, which is of its time"


def _times_out(run: Observation) -> Iterator[tuple[str, int]]:
    """(id of an on-time element, how often it came out)."""
    found = [value["id"] for value in run.values("id")]
    for arrival in run.on_time:
        yield arrival.event.id, found.count(arrival.event.id)


@of_sorted("no on-time element is lost")
def none_is_lost(run: Observation) -> Iterator[Finding]:
    for id, times in _times_out(run):
        yield times > 0 or f"{id} did not come out"


@of_sorted("no element comes out twice")
def none_comes_out_twice(run: Observation) -> Iterator[Finding]:
    for id, times in _times_out(run):
        yield times < 2 or f"{id} came out {times} times"


@of_sorted("no element comes out before the watermark has passed it", source=BEAM_PASSED)
def not_before_the_watermark(run: Observation) -> Iterator[Finding]:
    for emission, (arrival,) in named(run, "id"):
        id, time = arrival.event.id, arrival.event.event_time
        yield not_before(run, f"{id}, of {time},", time, emission.step)


@of_sorted("an element comes out in the first advance that passes it", needs=DRIVEN)
@where_the_watermark_moves
def in_the_first_advance_that_passes_it(run: Observation) -> Iterator[Finding]:
    times = {arrival.event.id: arrival.event.event_time for arrival in run.on_time}
    for emission, id in run.tagged("id"):
        if id in times:
            yield in_its_step(run, id, times[id], emission.step)


SCENARIO = Scenario(
    name="event-time ordering",
    summary="Hold elements back until the watermark passes them, and put them out in order of event time.",
    programs={"sorted": SortByEventTime()},
    domain={"sorted": Domain(offsets=(0, 0, 1, 1, 2, 500, 5_000, 10_000, -1, -500, -5_000), keys=2)},
    stable_under={"sorted": promise((*REORDERINGS, *BUNDLINGS, FINER, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)},
    guarantees=(
        *of_sorted,
        Guarantee("the order of arrival does not matter", "sorted", same_under=REORDERINGS),
        *survives("the order is", "sorted"),
    ),
)

"""Batching per key: gather the elements of a key and a fixed window into batches, and emit each batch when it is full.

The last batch of a window comes out when the window ends, full or not. Beam's ``GroupIntoBatches`` does the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, RENAMINGS
from conformance.model.program import Cell, Emit, FixedWindows, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, Source, promise
from conformance.model.schedule import Arrival, Event
from conformance.model.trace import Emission
from conformance.scenarios.documents import DROPPED_AS_LATE
from conformance.scenarios.shared import (
    DRIVEN,
    each_once,
    named,
    names,
    of_one_key,
    survives,
    where_the_watermark_moves,
)

WINDOW = FixedWindows(size=10_000)

SIZE = 3
"""How many elements make a batch full."""

BEAM = "https://beam.apache.org/documentation/transforms/java/aggregation/groupintobatches/"
BEAM_FULL = Source(
    "Beam transform catalog, GroupIntoBatches",
    "Elements are buffered until batchSize number of elements buffered. Then, these elements are output",
    BEAM,
)
BEAM_KEYS = Source("Beam transform catalog, GroupIntoBatches", "Batches contain only elements of a single key", BEAM)
BEAM_WINDOWS = Source("Beam transform catalog, GroupIntoBatches", "Batches contain elements from the same window", BEAM)
BEAM_BUNDLES = Source(
    "Beam transform catalog, GroupIntoBatches", "Batches might contain elements from more than one bundle", BEAM
)


class BatchPerKey(Program):
    cells = {"batch": Cell.BAG}
    timers = ("end",)
    windowing = WINDOW
    parameters = {"batch": SIZE}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.batch.add(event.id)
        timers.set("end", WINDOW.expiry(event.event_time))
        batch = state.batch.get()
        if len(batch) >= SIZE:
            emit({"batch": batch})
            state.batch.clear()

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        if batch := state.batch.get():
            emit({"batch": batch})
            state.batch.clear()


def batches_in_time(run: Observation) -> Iterator[tuple[Emission, list[Arrival]]]:
    """The batches in which no element came after its window's end."""
    for emission, batch in named(run, "batch"):
        if not any(map(past_its_end, batch)):
            yield emission, batch


def past_its_end(arrival: Arrival) -> bool:
    return WINDOW.expiry(arrival.event.event_time) <= arrival.settled


of_batches = Guarantees("batches")

in_exactly_one_batch = of_batches("every on-time element is in exactly one batch")(
    each_once("batch", "is in batches {} times")
)


@of_batches("no batch is larger than the size", source=BEAM_FULL)
def not_larger_than_the_size(run: Observation) -> Iterator[Finding]:
    for _, batch in named(run, "batch"):
        yield len(batch) <= SIZE or f"{names(batch)} are one batch, the size is {SIZE}"


@of_batches("a full batch comes out with its last element", source=BEAM_FULL)
def a_full_batch_comes_out_at_once(run: Observation) -> Iterator[Finding]:
    for emission, batch in named(run, "batch"):
        if len(batch) == SIZE:
            last = max(arrival.step for arrival in batch)
            yield (
                emission.step == last
                or f"the batch of {names(batch)} was full in step {last} and came out in step {emission.step}"
            )


@of_batches("a batch that is not full comes out when its window ends, not before", needs=DRIVEN)
@where_the_watermark_moves
def the_rest_comes_out_at_the_end(run: Observation) -> Iterator[Finding]:
    for emission, batch in batches_in_time(run):
        if len(batch) < SIZE:
            due = {run.case.schedule.due(WINDOW.expiry(arrival.event.event_time)) for arrival in batch}
            yield due == {emission.step} or (
                f"the window of {names(batch)} ends in step {min(filter(None, due), default=None)}, they came out "
                f"in step {emission.step}"
            )


@of_batches("at most one batch of a window is not full", source=BEAM_BUNDLES)
def one_rest_in_a_window(run: Observation) -> Iterator[Finding]:
    """A batch may have elements of several bundles, so at most one batch of a window is not full."""
    rests: dict[tuple[str, int], int] = {}
    for emission, batch in batches_in_time(run):
        for start in {WINDOW.start(arrival.event.event_time) for arrival in batch}:
            of = (emission.key, start)
            rests[of] = rests.get(of, 0) + (len(batch) < SIZE)
    for (key, start), number in rests.items():
        yield number <= 1 or f"{number} batches of key {key} in the window from {start} are not full"


@of_batches("a batch keeps the order of arrival")
def in_order_of_arrival(run: Observation) -> Iterator[Finding]:
    order = {arrival.event.id: number for number, arrival in enumerate(run.arrivals)}
    for _, batch in named(run, "batch"):
        if len(batch) > 1:
            places = [order[arrival.event.id] for arrival in batch]
            yield places == sorted(places) or f"the batch of {names(batch)} is not in the order of their arrival"


keys_do_not_share_a_batch = of_batches("keys do not share a batch", source=BEAM_KEYS)(
    of_one_key("batch", "the batch of")
)


@of_batches("windows do not share a batch", source=BEAM_WINDOWS)
def windows_do_not_share_a_batch(run: Observation) -> Iterator[Finding]:
    """Exercised where a key has elements in several windows."""
    for key, arrivals in run.arrivals_by_key.items():
        if len({WINDOW.start(arrival.event.event_time) for arrival in arrivals}) > 1:
            for emission, batch in named(run, "batch"):
                if emission.key == key:
                    starts = sorted({WINDOW.start(arrival.event.event_time) for arrival in batch})
                    yield len(starts) == 1 or f"{names(batch)} are one batch, their windows are from {starts}"


@of_batches("an element past the end of its window is in no batch", source=DROPPED_AS_LATE, needs=DRIVEN)
def late_elements_are_in_no_batch(run: Observation) -> Iterator[Finding]:
    found = {event for _, ids in run.tagged("batch") for event in ids}
    for arrival in run.arrivals:
        if past_its_end(arrival):
            event = arrival.event
            yield (
                event.id not in found
                or f"{event.id} is in a batch, its window ended at {WINDOW.expiry(event.event_time)}"
            )


SCENARIO = Scenario(
    name="batching per key",
    summary=f"Gather the elements of a key and window into batches of {SIZE}; the rest comes out at the window's end.",
    programs={"batches": BatchPerKey()},
    domain={
        "batches": Domain(
            offsets=(1, 1, 1, 1, 2, 500, 500, 3_000, 10_000, -1, -10_000), on_time=False, keys=2, events=10
        )
    },
    # Order is kept within a window of a key, not between windows.
    stable_under={
        "batches": promise((INTERLEAVE, *BUNDLINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET),
    },
    guarantees=(
        *of_batches,
        Guarantee("batches ignore bundling", "batches", same_under=BUNDLINGS, alike=Equivalence.SAME_MULTISET),
        *survives("batches are", "batches", Equivalence.SAME_MULTISET),
    ),
)

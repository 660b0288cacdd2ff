"""Dedup within watermark: emit the first arrival of an id, drop its duplicates up to a horizon, then forget the id.

The horizon is over when the watermark has reached the first arrival's event time plus HORIZON. The key of an event is
the id. Spark's dropDuplicatesWithinWatermark and Beam's DeduplicatePerKey do the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import BUNDLINGS, RECOVERIES, REDELIVER, RENAMINGS, SINGLES
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, Source, promise
from conformance.model.schedule import Arrival, Event
from conformance.model.values import spelled
from conformance.support.grouping import grouped

HORIZON = 10_000

API = "https://spark.apache.org/docs/latest/api/python/reference/pyspark.sql/api/pyspark.sql.DataFrame.dropDuplicatesWithinWatermark.html"
SPARK_DEDUP = Source(
    "PySpark API, dropDuplicatesWithinWatermark",
    "Events are deduplicated as long as the time distance of earliest and latest events are smaller than the delay "
    "threshold of watermark",
    API,
)
SPARK_LATE = Source(
    "PySpark API, dropDuplicatesWithinWatermark", "too late data older than watermark will be dropped", API
)


class Deduplicate(Program):
    cells = {"first": Cell.VALUE}
    timers = ("forget",)
    parameters = {"horizon": HORIZON}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if state.first.get() is None:
            state.first.set(event.id)
            timers.set("forget", event.event_time + HORIZON)
            emit({"accepted": event.id})

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        first = state.first.get()
        if first is not None:
            state.first.clear()
            emit({"forgotten": first})


def accepted(run: Observation) -> set[str]:
    return {value["accepted"] for value in run.values("accepted")}


def live_before(run: Observation, arrival: Arrival, watermark: int) -> list[Arrival]:
    """The earlier arrivals of the same id that were accepted and whose horizon ends after ``watermark`` (ms)."""
    let_through = accepted(run)
    found: list[Arrival] = []
    for earlier in run.arrivals_by_key[arrival.event.key]:
        if earlier is arrival:
            return found
        if earlier.event.id in let_through and earlier.event.event_time + HORIZON > watermark:
            found.append(earlier)
    return found


def duplicates(run: Observation) -> Iterator[tuple[Arrival, Arrival]]:
    """(on-time duplicate, the accepted on-time arrival within whose horizon the duplicate lies)."""
    for arrival in run.on_time:
        for first in live_before(run, arrival, arrival.watermark):
            if first.on_time:
                yield arrival, first


def _dropped(run: Observation, duplicate: Arrival, first: Arrival) -> Finding:
    if duplicate.event.id not in accepted(run):
        return True
    return f"{duplicate.event.id} was accepted although {first.event.id} of the same id was, and is not forgotten yet"


BEYOND = frozenset({Feature.SEVERAL_BUNDLES, Feature.WATERMARK})

of_dedup = Guarantees("dedup")


@of_dedup("the first arrival is emitted", source=SPARK_DEDUP)
def the_first_arrival_is_emitted(run: Observation) -> Iterator[Finding]:
    for key, arrivals in run.arrivals_by_key.items():
        first = arrivals[0]
        if first.on_time:
            yield first.event.id in accepted(run) or f"{first.event.id}, the first arrival of {key}, did not come out"


@of_dedup("a duplicate in the same bundle is dropped", source=SPARK_DEDUP, vacuous_under=(SINGLES,))
def dropped_in_the_same_bundle(run: Observation) -> Iterator[Finding]:
    for duplicate, first in duplicates(run):
        if duplicate.step == first.step:
            yield _dropped(run, duplicate, first)


@of_dedup("a duplicate in a later bundle is dropped", source=SPARK_DEDUP, needs=frozenset({Feature.SEVERAL_BUNDLES}))
def dropped_in_a_later_bundle(run: Observation) -> Iterator[Finding]:
    for duplicate, first in duplicates(run):
        if duplicate.step != first.step and duplicate.watermark == first.watermark:
            yield _dropped(run, duplicate, first)


@of_dedup("a duplicate is dropped after the watermark moved within the horizon", source=SPARK_DEDUP, needs=BEYOND)
def dropped_within_the_horizon(run: Observation) -> Iterator[Finding]:
    for duplicate, first in duplicates(run):
        if duplicate.watermark > first.watermark:
            yield _dropped(run, duplicate, first)


@of_dedup("a duplicate with another event time is dropped", source=SPARK_DEDUP)
def dropped_with_another_event_time(run: Observation) -> Iterator[Finding]:
    for duplicate, first in duplicates(run):
        if duplicate.event.event_time != first.event.event_time:
            yield _dropped(run, duplicate, first)


@of_dedup("after the horizon an on-time id is accepted again", needs=BEYOND)
def accepted_again_after_the_horizon(run: Observation) -> Iterator[Finding]:
    for arrival in run.on_time:
        arrivals = run.arrivals_by_key[arrival.event.key]
        earlier = [a for a in arrivals[: arrivals.index(arrival)] if a.event.id in accepted(run)]
        if earlier and all(a.on_time for a in earlier) and not live_before(run, arrival, arrival.settled):
            yield (
                arrival.event.id in accepted(run)
                or f"{arrival.event.id} did not come out although its id's horizon had passed"
            )


@of_dedup("a duplicate behind the watermark is dropped", source=SPARK_LATE, needs=BEYOND)
def a_late_duplicate_is_dropped(run: Observation) -> Iterator[Finding]:
    for arrivals in run.arrivals_by_key.values():
        for position, arrival in enumerate(arrivals):
            if arrival.behind and any(earlier.event.id in accepted(run) for earlier in arrivals[:position]):
                yield arrival.event.id not in accepted(run) or (
                    f"{arrival.event.id}, {arrival.watermark - arrival.event.event_time} ms behind the watermark, "
                    "was accepted again"
                )


@of_dedup("an element comes out no more often than it arrived, in its step, under its key")
def comes_out_once_where_it_arrives(run: Observation) -> Iterator[Finding]:
    """Some cases deliver an element again: then it may come out again."""
    arrived: dict[str, Counter[tuple[str, int]]] = {}
    for arrival in run.arrivals:
        arrived.setdefault(arrival.event.id, Counter())[arrival.event.key, arrival.step] += 1
    came: dict[str, Counter[tuple[str, int]]] = {}
    for emission, event in run.tagged("accepted"):
        came.setdefault(event, Counter())[emission.key, emission.step] += 1
    for event, places in arrived.items():
        more = came.get(event, Counter()) - places
        told = "; ".join(
            f"{times} times in step {step} under the key {spelled(key)}" for (key, step), times in more.items()
        )
        yield not more or f"{event} came out more often than it arrived: {told}"


@of_dedup("state for an old id goes away when its horizon has passed")
def state_for_old_ids_goes_away(run: Observation) -> Iterator[Finding]:
    let_through = accepted(run)
    forgotten = grouped((id, emission.step) for emission, id in run.tagged("forgotten"))
    for arrival in run.on_time:
        event = arrival.event
        if event.id in let_through:
            due = run.case.schedule.due(event.event_time + HORIZON)
            steps = forgotten.get(event.id, [])
            yield steps == [due] or f"{event.id} is due to be forgotten in step {due}, and was in steps {steps}"


SCENARIO = Scenario(
    name="dedup within watermark",
    summary=f"Drop the duplicates of an id until the watermark has passed its first arrival by {HORIZON} ms.",
    programs={"dedup": Deduplicate()},
    domain={
        "dedup": Domain(
            offsets=(1, 1, 2, 2, 500, 5_000, HORIZON - 1, HORIZON, 0, -1, -5_000, -HORIZON - 1),
            on_time=False,
            keys=2,
        )
    },
    stable_under={"dedup": promise((*BUNDLINGS, *RECOVERIES, *RENAMINGS, REDELIVER), Equivalence.IDENTICAL)},
    guarantees=tuple(of_dedup),
)

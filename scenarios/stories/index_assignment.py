"""Index assignment: number the elements of each key 0, 1, 2, … in the order of their arrival.

This is the first stateful program that most people write, and the example of the Beam blog's post on stateful
processing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import BUNDLINGS, RECOVERIES, RENAMINGS, REORDERINGS, SINGLES, WATERMARKINGS
from conformance.model.program import Cell, Emit, FixedWindows, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Event
from conformance.scenarios.documents import BEAM_BLOG, SCOPED
from conformance.support.grouping import grouped

WINDOW = FixedWindows(size=10_000)

NO_GAPS = BEAM_BLOG.says("no duplicated indices, no gaps, and every element gets an index")


class AssignIndex(Program):
    cells = {"next": Cell.VALUE}
    labels = ("index",)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        index = state.next.get(0)
        emit({"id": event.id, "index": index})
        state.next.set(index + 1)


class AssignIndexPerWindow(AssignIndex):
    times = ("window",)
    windowing = WINDOW

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        index = state.next.get(0)
        emit({"id": event.id, "index": index, "window": WINDOW.start(event.event_time)})
        state.next.set(index + 1)


def indices_of(run: Observation) -> dict[str, list[int]]:
    """Event id -> the indices emitted for it."""
    return grouped((value["id"], value["index"]) for value in run.values("index"))


def indices_by_key(run: Observation) -> dict[str, list[int]]:
    return grouped((emission.key, index) for emission, index in run.tagged("index"))


def indices_by_window(run: Observation) -> dict[tuple[str, int], list[int]]:
    """(key, start of a window in ms) -> the indices emitted for it."""
    return grouped(((emission.key, window), emission.value["index"]) for emission, window in run.tagged("window"))


of_global = Guarantees("global")
of_windows = Guarantees("per window", source=SCOPED, needs=frozenset({Feature.FIXED_WINDOWS}))


@of_global("every element gets an index", source=NO_GAPS)
def every_element_gets_an_index(run: Observation) -> Iterator[Finding]:
    indices = indices_of(run)
    for arrival in run.on_time:
        yield arrival.event.id in indices or f"{arrival.event.id} got no index"


@of_global("no index is given twice", source=NO_GAPS)
def no_index_is_given_twice(run: Observation) -> Iterator[Finding]:
    for key, indices in indices_by_key(run).items():
        for index in set(indices):
            yield indices.count(index) == 1 or f"index {index} of key {key} was given {indices.count(index)} times"


@of_global("no gaps from 0", source=NO_GAPS)
def no_gaps_from_0(run: Observation) -> Iterator[Finding]:
    for key, indices in indices_by_key(run).items():
        missing = set(range(max(indices))) - set(indices)
        yield not missing or f"key {key} reached index {max(indices)} without {min(missing)}"


@of_global("an emitted index never changes")
def an_emitted_index_never_changes(run: Observation) -> Iterator[Finding]:
    for event, indices in indices_of(run).items():
        yield len(set(indices)) == 1 or f"{event} got the indices {sorted(set(indices))}"


@of_global("keys do not share a counter", source=SCOPED)
def keys_do_not_share_a_counter(run: Observation) -> Iterator[Finding]:
    by_key = indices_by_key(run)
    if len(by_key) > 1:
        for key, indices in by_key.items():
            yield indices[0] == 0 or f"the first index of key {key} is {indices[0]}"


@of_windows("windows do not share a counter")
def windows_do_not_share_a_counter(run: Observation) -> Iterator[Finding]:
    found = indices_by_window(run)
    for (key, window), indices in found.items():
        if sum(other == key for other, _ in found) > 1:
            lowest = min(indices)
            yield lowest == 0 or f"the lowest index of key {key} in the window from {window} is {lowest}"


@of_windows("the elements of a window are numbered from 0, without a gap")
def each_window_is_numbered(run: Observation) -> Iterator[Finding]:
    """Exercised by a window that gave several indices."""
    for (key, window), indices in indices_by_window(run).items():
        if len(indices) > 1:
            numbered = sorted(indices) == list(range(len(indices)))
            yield numbered or f"the window from {window} of key {key} gave the indices {sorted(indices)}"


def _in_order(run: Observation, same_bundle: bool) -> Iterator[Finding]:
    indices = {event: found[0] for event, found in indices_of(run).items()}
    for key, arrivals in run.arrivals_by_key.items():
        known = [a for a in arrivals if a.event.id in indices]
        for earlier, later in itertools.pairwise(known):
            if (earlier.step == later.step) == same_bundle:
                one, two = indices[earlier.event.id], indices[later.event.id]
                yield (
                    one < two
                    or f"{earlier.event.id} arrived before {later.event.id} of key {key}, their indices are {one} "
                    f"and {two}"
                )


@of_global("indices follow arrival order within a bundle", vacuous_under=(SINGLES,))
def indices_follow_arrival_order_within_a_bundle(run: Observation) -> Iterator[Finding]:
    yield from _in_order(run, same_bundle=True)


@of_global("indices follow arrival order across bundles", needs=frozenset({Feature.SEVERAL_BUNDLES}))
def indices_follow_arrival_order_across_bundles(run: Observation) -> Iterator[Finding]:
    yield from _in_order(run, same_bundle=False)


SCENARIO = Scenario(
    name="index assignment",
    summary="Number the elements of each key 0, 1, 2, … in the order of arrival.",
    programs={"global": AssignIndex(), "per window": AssignIndexPerWindow()},
    domain={
        "global": Domain(offsets=(1, 1, 2, 500, 9_999, 10_000, 20_000)),
        "per window": Domain(offsets=(1, 2, 5_000, 9_999, 10_000, 20_000), keys=2),
    },
    # Order is kept within a window of a key, not between windows.
    stable_under={
        "global": promise(REORDERINGS, Equivalence.SAME_UP_TO_RELABELLING)
        | promise((*BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL),
        "per window": promise(REORDERINGS, Equivalence.SAME_UP_TO_RELABELLING)
        | promise((*BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET),
    },
    guarantees=(*of_global, *of_windows),
)

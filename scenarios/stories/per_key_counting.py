"""Per-key counting: after every element, emit how many elements its key has had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, RECOVERIES, RENAMINGS, REORDERINGS, WATERMARKINGS
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Event
from conformance.scenarios.documents import ARBITRARY_ORDER
from conformance.scenarios.shared import survives


class CountPerKey(Program):
    cells = {"count": Cell.COMBINING}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.count.add(1)
        emit({"count": state.count.get()})


of_count = Guarantees("count")


@of_count("the final count is the number of on-time elements")
def final_count_is_the_number_of_on_time_elements(run: Observation) -> Iterator[Finding]:
    for key, arrivals in run.arrivals_by_key.items():
        wanted = sum(a.on_time for a in arrivals)
        emitted = run.of_key(key)
        if not emitted:
            yield f"key {key} had {wanted} on-time elements and no count came out"
        else:
            last = emitted[-1].value["count"]
            yield last == wanted or f"key {key} had {wanted} on-time elements, its final count is {last}"


@of_count("running counts rise by one per element")
def running_counts_rise_by_one_per_element(run: Observation) -> Iterator[Finding]:
    for key in run.arrivals_by_key:
        counts = [e.value["count"] for e in run.of_key(key)]
        yield counts == list(range(1, len(counts) + 1)) or f"the counts of key {key} are {counts}"


@of_count("one emission per element")
def one_emission_per_element(run: Observation) -> Iterator[Finding]:
    for key, arrivals in run.arrivals_by_key.items():
        emitted = len(run.of_key(key))
        yield emitted == len(arrivals) or f"key {key} had {len(arrivals)} elements and {emitted} emissions"


@of_count("no count of a key comes out twice in a step")
def no_count_twice_in_a_step(run: Observation) -> Iterator[Finding]:
    for key in run.arrivals_by_key:
        told = Counter((emission.step, emission.value["count"]) for emission in run.of_key(key))
        twice = [place for place, times in told.items() if times > 1]
        yield not twice or f"the count {twice[0][1]} of key {key} came out {told[twice[0]]} times in step {twice[0][0]}"


@of_count("a count comes out in a step with an element of its key")
def a_count_comes_out_with_an_element(run: Observation) -> Iterator[Finding]:
    for key, arrivals in run.arrivals_by_key.items():
        steps = {arrival.step for arrival in arrivals}
        strange = [emission.step for emission in run.of_key(key) if emission.step not in steps]
        yield not strange or f"a count of key {key} came out in step {strange[0]}, in which key {key} has no element"


SCENARIO = Scenario(
    name="per-key counting",
    summary="After every element, emit how many elements its key has had.",
    programs={"count": CountPerKey()},
    domain={"count": Domain(offsets=(1, 2, 500, 9_999, 20_000))},
    stable_under={
        "count": promise((*REORDERINGS, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)
    },
    guarantees=(
        *of_count,
        Guarantee(
            "the final count ignores order",
            "count",
            same_under=REORDERINGS,
            alike=Equivalence.SAME_FINAL_VALUE,
            source=ARBITRARY_ORDER,
        ),
        *survives("counts are", "count"),
        Guarantee(
            "the final count ignores bundling", "count", same_under=BUNDLINGS, alike=Equivalence.SAME_FINAL_VALUE
        ),
    ),
)

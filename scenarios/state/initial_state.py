"""Initial state: a job begins with state from elsewhere, one element for each key, as after a migration.

The state of a key is a number. Every later element of the key adds one to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import INTERLEAVE, MERGE, RECOVERIES, RENAME, RESTART, SPLIT
from conformance.model.program import Cell, Emit, JobKind, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Event
from conformance.model.trace import Emission
from conformance.scenarios.documents import DATABRICKS

FIRST_BATCH = DATABRICKS.says("with the first micro-batch")


class Continued(Program):
    """A key's count begins at the value of its element of initial state."""

    cells = {"count": Cell.COMBINING}
    job = JobKind.INITIAL_STATE

    def on_initial(self, event: Event, state: State) -> None:
        state.count.add(event.value)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        before = state.count.get()
        state.count.add(1)
        emit({"of": event.id, "before": before})


def counts(run: Observation) -> Iterator[tuple[int | None, Emission, bool]]:
    """(the number that a key starts with or None, an emission of the key, whether that emission is its first)."""
    begins = {event.key: event.value for event in run.case.schedule.initial}
    for key in run.arrivals_by_key:
        for number, emission in enumerate(run.of_key(key)):
            yield begins.get(key), emission, not number


def counted_on(run: Observation, emission: Emission, begin: int, told: str) -> Finding:
    """Whether the count before an element is the key's initial number plus one for each of some elements that came by
    then.

    Other guarantees ask which elements count, and how many outputs they have. The smallest initial number is larger
    than the number of elements of any key, so a count from 0 cannot pass for one that continues.
    """
    initial = {event.id for event in run.case.schedule.initial}
    by_then = [a for a in run.arrivals_by_key[emission.key] if a.step <= emission.step and a.event.id not in initial]
    found: int = emission.value["before"]
    return begin <= found < begin + len(by_then) or f"key {emission.key} starts {told} finds {found}"


STARTS = frozenset({Feature.INITIAL_STATE})

of_continued = Guarantees("continued", needs=STARTS)


@of_continued("initial state is there for a key's first element", source=FIRST_BATCH)
def there_for_the_first_element(run: Observation) -> Iterator[Finding]:
    for begin, emission, first in counts(run):
        if begin is not None and first:
            yield counted_on(run, emission, begin, f"with {begin}, and its first element")


@of_continued("initial state waits for a key's first element")
def waits_for_the_first_element(run: Observation) -> Iterator[Finding]:
    """Exercised where the key's first element comes after the watermark has moved."""
    for begin, emission, first in counts(run):
        if begin is not None and first and run.interval(emission.step) > 1:
            told = f"with {begin}, and its first element, in step {emission.step},"
            yield counted_on(run, emission, begin, told)


@of_continued("initial state is applied once")
def applied_once(run: Observation) -> Iterator[Finding]:
    for begin, emission, first in counts(run):
        if begin is not None and not first:
            yield counted_on(run, emission, begin, f"with {begin}, and {emission.value['of']}")


@of_continued("a key without initial state starts empty")
def others_start_empty(run: Observation) -> Iterator[Finding]:
    """Exercised where another key of the job starts with state."""
    for begin, emission, first in counts(run):
        if begin is None and run.case.schedule.initial and first:
            yield counted_on(run, emission, 0, "without state, and its first element")


@of_continued("initial state by itself puts nothing out")
def nothing_comes_out_by_itself(run: Observation) -> Iterator[Finding]:
    elements = {arrival.event.id for arrival in run.arrivals} - {event.id for event in run.case.schedule.initial}
    for event in run.case.schedule.initial:
        found = [emission.value["of"] for emission in run.of_key(event.key)]
        yield set(found) <= elements or f"key {event.key} puts out {found}, its elements are {sorted(elements)}"


SCENARIO = Scenario(
    name="initial state",
    summary="A job begins with a count for some keys, and counts on.",
    programs={"continued": Continued()},
    domain={"continued": Domain(offsets=(1, 500, 20_000), values=(10, 20, 30))},
    stable_under={"continued": promise((INTERLEAVE, SPLIT, MERGE, *RECOVERIES, RENAME), Equivalence.IDENTICAL)},
    guarantees=(
        *of_continued,
        Guarantee(
            "initial state is applied once over a restart",
            "continued",
            same_under=(RESTART,),
            alike=Equivalence.IDENTICAL,
            needs=STARTS,
        ),
    ),
)

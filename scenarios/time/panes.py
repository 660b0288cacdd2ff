"""Panes: what triggers, a side input, a second output and a grouping behind batches put out of the elements of a key
and a window.

The jobs are those of Beam's own transforms, one program each. A *pane* is what comes out of a window at one time. The
guarantees ask what Beam's model documents an answer to, and leave open what it leaves to a runner: how many elements an
early pane has beyond those that its trigger waits for, and which of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import RECOVERIES, RENAMINGS
from conformance.model.program import Program
from conformance.model.scenario import Domain, Finding, Guarantees, Observation, Scenario, Source, promise
from conformance.model.schedule import Arrival
from conformance.model.trace import Emission
from conformance.scenarios.documents import BEAM_GUIDE
from conformance.scenarios.shared import DRIVEN, reached, where_the_watermark_moves
from conformance.scenarios.stories.batching_per_key import BEAM_FULL
from conformance.scenarios.stories.windowed_counting import BEAM_AT_THE_END, BEAM_REVISED, REVISED, WINDOW, Of, windows
from conformance.scenarios.stories.windowed_counting import counts as panes
from conformance.scenarios.time.pane_programs import (
    COUNT,
    PAUSE,
    Accumulated,
    BesideCounts,
    Early,
    Either,
    GroupedBatches,
    Never,
    Paused,
    TwoOutputs,
)
from conformance.scenarios.time.processing_time_timers import WALL_CLOCK

AT_LEAST = BEAM_GUIDE.says(
    "fires after the current pane has collected at least N elements", "Data-driven triggers", "data-driven-triggers"
)
MODE = BEAM_GUIDE.says(
    "determines whether the system accumulates the window panes as the trigger fires, or discards them",
    "Window accumulation modes",
    "window-accumulation-modes",
)
SIDE = BEAM_GUIDE.says(
    "If the main input and side inputs have identical windows, the projection provides the exact corresponding window",
    "Side inputs and windowing",
    "side-inputs-windowing",
)
BUFFERED = Source(
    "Beam Python SDK, apache_beam.transforms.trigger, DataLossReason",
    "Beam will emit buffered data at GC time. Any other behavior should be treated as a bug with the runner used",
    "https://github.com/apache/beam/blob/v2.77.0/sdks/python/apache_beam/transforms/trigger.py",
)
NOT_KEYS_ALONE = Source(
    "a user's report, Beam #33329",
    "It does not make sense to emit to the downstream steps only keys but not values",
    "https://github.com/apache/beam/issues/33329",
)
"""The opposite stands in Beam's Java API (``Window.OnTimeBehavior``): an on-time pane is produced even without new
data, by default."""


def times(run: Observation, event: str, kind: str = "pane") -> int:
    """In how many panes an element is."""
    return sum(event in ids for _, ids in run.tagged(kind))


PROGRAMS: dict[str, Program] = {
    "early": Early(),
    "either": Either(),
    "accumulated": Accumulated(),
    "never": Never(),
    "paused": Paused(),
    "beside counts": BesideCounts(),
    "two outputs": TwoOutputs(),
    "grouped batches": GroupedBatches(),
}

of_early, of_either, of_accumulated, of_never, of_paused, of_beside_counts, of_two_outputs, of_grouped_batches = map(
    Guarantees, PROGRAMS
)


@of_early("every on-time element is in exactly one pane, early or not", source=MODE)
@of_either("every on-time element is in exactly one pane, whichever of two triggers fires", source=MODE)
@of_never("nothing is lost where the trigger never fires: it comes out when the window ends", source=BUFFERED)
@of_beside_counts("every on-time element comes out beside its side input, once")
@of_two_outputs("the second of two outputs has every element when its window ends")
@of_grouped_batches("the input ends cleanly: every element of a batch reaches the grouping behind it", source=BEAM_FULL)
def in_exactly_one_pane(run: Observation) -> Iterator[Finding]:
    for arrival in run.on_time:
        found = times(run, arrival.event.id)
        yield found == 1 or f"{arrival.event.id} is in {found} panes"


@of_early("no pane is empty", source=NOT_KEYS_ALONE)
def has_an_element(run: Observation) -> Iterator[Finding]:
    for emission, ids in run.tagged("pane"):
        yield ids != [] or f"in step {emission.step} a pane of key {emission.key} came out without any element"


def before_its_end(run: Observation) -> Iterator[tuple[Of, Emission]]:
    """(window, a pane that came out before the window's end)."""
    for of, emitted in panes(run).items():
        for emission in emitted:
            if reached(run, emission.step) < of[1] + WINDOW.size:
                yield of, emission


@of_early("an early pane has as many elements as its trigger waits for", source=AT_LEAST)
def an_early_pane_has_enough(run: Observation) -> Iterator[Finding]:
    for (key, start), emission in before_its_end(run):
        ids = emission.value["pane"]
        yield (
            len(ids) >= COUNT
            or f"an early pane of the window from {start} of key {key} has {', '.join(ids) or 'nothing'}"
        )


@of_early("an early pane comes out with the element that fills it", source=AT_LEAST, needs=DRIVEN)
@of_either("a pane of two triggers comes out with the element that fills it", source=AT_LEAST, needs=DRIVEN)
@where_the_watermark_moves
def comes_out_when_it_has_enough(run: Observation) -> Iterator[Finding]:
    """Asked of the first early pane of a window whose elements are all on time."""
    early = {of: emission.step for of, emission in reversed([*before_its_end(run)])}
    for of, arrivals in windows(run).items():
        if len(arrivals) < COUNT or not all(arrival.on_time for arrival in arrivals):
            continue
        full = arrivals[COUNT - 1].step
        yield early.get(of) == full or (
            f"the window from {of[1]} of key {of[0]} had {COUNT} elements in step {full}, its first early pane is "
            f"of {early.get(of)}"
        )


@of_early("what is left for the last pane comes out when the window ends", source=BEAM_AT_THE_END, needs=DRIVEN)
@where_the_watermark_moves
def the_rest_comes_out_at_the_end(run: Observation) -> Iterator[Finding]:
    """Asked of the last pane of a window whose elements are all on time."""
    arrived = windows(run)
    for (key, start), emitted in panes(run).items():
        if all(arrival.on_time for arrival in arrived.get((key, start), [])):
            due, last = run.case.schedule.due(start + WINDOW.size), emitted[-1].step
            yield (
                last <= (due or last) or f"the window from {start} of key {key} ends in step {due}, a pane is of {last}"
            )


@of_accumulated("a pane that accumulates has all of the pane before it", source=MODE)
def has_all_of_the_one_before(run: Observation) -> Iterator[Finding]:
    for (key, start), emitted in panes(run).items():
        for one, other in itertools.pairwise(emission.value["pane"] for emission in emitted):
            lost = ", ".join(sorted({*one} - {*other}))
            yield (
                not lost
                or f"a pane of the window from {start} of key {key} is without {lost}, which the one before it had"
            )


@of_accumulated("the last pane that accumulates has every on-time element", source=MODE)
def the_last_pane_has_all(run: Observation) -> Iterator[Finding]:
    emitted = panes(run)
    for (key, start), arrivals in windows(run).items():
        if wanted := {arrival.event.id for arrival in arrivals if arrival.on_time}:
            last = emitted[key, start][-1].value["pane"] if (key, start) in emitted else []
            lost = ", ".join(sorted(wanted - {*last}))
            yield not lost or f"the last pane of the window from {start} of key {key} is without {lost}"


@of_accumulated(
    "an element within the allowed lateness brings out a pane that has it", source=BEAM_REVISED, needs=DRIVEN
)
def allowed_late_elements_bring_out_a_pane(run: Observation) -> Iterator[Finding]:
    """Exercised by an element behind its window's end, within the allowed lateness, of a window that had elements on
    time."""
    emitted = panes(run)
    for (key, start), arrivals in windows(run).items():
        if not arrivals[0].on_time:
            continue
        for arrival in arrivals:
            if start + WINDOW.size <= arrival.settled and arrival.watermark < REVISED.expiry(arrival.event.event_time):
                mine = [e for e in emitted.get((key, start), []) if e.step == arrival.step]
                yield any(arrival.event.id in e.value["pane"] for e in mine) or (
                    f"{arrival.event.id} came in step {arrival.step} within the allowed lateness, and is in no pane "
                    "of that step"
                )


def long_gone(run: Observation) -> Iterator[Arrival]:
    """The elements that came so long before the last step that their pane has certainly come out."""
    elapsed = run.case.schedule.elapsed
    for arrival in run.arrivals:
        if max(elapsed.values()) - elapsed[arrival.step] >= PAUSE:
            yield arrival


@of_paused("what waits for processing time comes out in one pane when the time has passed", source=WALL_CLOCK)
def comes_out_after_the_pause(run: Observation) -> Iterator[Finding]:
    for arrival in long_gone(run):
        found = times(run, arrival.event.id)
        yield found == 1 or f"{arrival.event.id} is in {found} panes when twice the pause has passed"


@of_beside_counts("a side input is that of the element's window", source=SIDE)
def meets_its_count(run: Observation) -> Iterator[Finding]:
    """Asked of windows whose elements are all on time."""
    counts = {ids[0]: emission.value["count"] for emission, ids in run.tagged("pane")}
    for arrivals in windows(run).values():
        if all(arrival.on_time for arrival in arrivals):
            for arrival in arrivals:
                told = counts.get(arrival.event.id)
                yield (
                    told == len(arrivals) or f"{arrival.event.id} met the count {told}, its window has {len(arrivals)}"
                )


@of_two_outputs("the first of two outputs has every element at once")
def comes_out_at_once(run: Observation) -> Iterator[Finding]:
    steps = {event: emission.step for emission, event in run.tagged("now")}
    for arrival in run.on_time:
        found = steps.get(arrival.event.id)
        yield found == arrival.step or f"{arrival.event.id} came in step {arrival.step} and out in {found}"


ON_TIME = Domain(offsets=(1, 1, 500, 5_000, 9_999, 10_000, 10_000, 20_000), keys=2)
LATE_TOO = Domain(
    offsets=(1, 1, 500, 9_999, 10_000, 0, -1, -500, -4_999, -5_000, -10_000, -15_000), on_time=False, keys=2
)

SCENARIO = Scenario(
    name="panes",
    summary=f"Put out the elements of a key and a window of {WINDOW.size} ms in panes, "
    "as triggers and other parts of a pipeline say.",
    programs=PROGRAMS,
    domain={
        name: LATE_TOO if name == "accumulated" else Domain((0, 1, 500), keys=2) if name == "paused" else ON_TIME
        for name in PROGRAMS
    },
    stable_under={name: promise((*RECOVERIES, *RENAMINGS), Equivalence.SAME_MULTISET) for name in PROGRAMS},
    planned=False,
    guarantees=(
        *of_early,
        *of_either,
        *of_accumulated,
        *of_never,
        *of_paused,
        *of_beside_counts,
        *of_two_outputs,
        *of_grouped_batches,
    ),
)

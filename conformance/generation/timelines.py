"""Timelines: schedules without events, and the choice of them for a run."""

from __future__ import annotations

from hypothesis import strategies as st

from conformance.generation.examples import examples, seeded
from conformance.model.schedule import Schedule, renumbered
from conformance.model.steps import Advance, Deliver, Step, Wait

START = 1_000_000
"""Event times begin well above zero, because Spark 4.3.0 drops a row at time 0 as late before any watermark is set."""

SETTLED_AFTER = 200_000
"""The last advance goes this far (ms) past the one before it, so that every timer of a program comes due."""

MONTH = 30 * 86_400_000
"""By how much (ms) one advance of one timeline moves the watermark: more than a day, and more than 2**31 ms."""

SLOTS = (1, 2, 3)
"""The numbers of bundles between two advances. Each timeline orders them in its own way."""

TIMELINES = 4
"""The number of distinct timelines in each of the two families: several bundles, and one bundle."""


def timelines(several_bundles: bool) -> st.SearchStrategy[Schedule]:
    """Schedules without events. Many advances equal a length that scenarios use (a multiple of 5 s), or are 1 ms off. With
    several bundles, one of the first two advances is short and the other long."""
    short = st.sampled_from([1, 500, 4_999, 5_000, 5_001, 9_999])
    long = st.sampled_from([10_000, 10_001, 12_000, 15_000, 20_000])
    starts = st.sampled_from([START, START + 1, START + 4_999, START + 5_000, START + 9_999, START + 12_345])

    @st.composite
    def build(draw: st.DrawFn) -> Schedule:
        watermark = draw(starts)
        jumps = draw(st.permutations([draw(short), draw(long)])) if several_bundles else []
        jumps.append(draw(short) + SETTLED_AFTER)
        steps: list[Step] = [Advance(0, watermark)]
        for slots, jump in zip(draw(st.permutations(SLOTS)) if several_bundles else [1], jumps, strict=True):
            steps += [Deliver(len(steps) + i) for i in range(slots)]
            watermark += jump
            steps.append(Advance(len(steps), watermark))
        return Schedule(tuple(steps))

    return build()


def stretched(timeline: Schedule) -> Schedule:
    """The timeline, but the last of three bundles between two advances comes MONTH later, behind an advance of its own."""
    steps = timeline.steps
    place = next(n for n in range(len(steps)) if all(isinstance(step, Deliver) for step in steps[n : n + 3]))
    before, after = steps[: place + 2], steps[place + 2 :]
    watermark = max(step.watermark for step in before if isinstance(step, Advance))
    return renumbered([*before, Advance(0, watermark + MONTH), *(step.shifted(MONTH) for step in after)])


WAIT = 8_000
"""How long (ms) each wait is. A TTL between WAIT + SLACK and 2 × WAIT is alive after one wait and expired after two, however long
an engine takes for the micro-batches in between."""


def waiting_timelines() -> st.SearchStrategy[Schedule]:
    """Schedules without events in which processing time passes three times. One bundle comes before each wait, because more
    micro-batches would take time that no wait counts."""

    @st.composite
    def build(draw: st.DrawFn) -> Schedule:
        steps: list[Step] = [Advance(0, draw(st.sampled_from([START, START + 1, START + 4_999, START + 5_000])))]
        for _ in range(3):
            steps += [Deliver(len(steps)), Wait(len(steps) + 1, WAIT)]
        return Schedule((*steps, Advance(len(steps), START + SETTLED_AFTER)))

    return build()


def with_initial_state(timeline: Schedule) -> Schedule:
    """The timeline for a job that starts with state."""
    return renumbered([Deliver(0, initial=True), *timeline.steps])


INITIAL = 4
"""The number of timelines with several bundles that jobs with initial state also run."""

WAITING = 4
"""The number of distinct timelines for programs in processing time. On a wall clock, each takes as long as its waits."""


def draw_timelines(seed: int) -> list[Schedule]:
    """The timelines of a run: TIMELINES with several bundles, the first of them ``stretched``, then TIMELINES with one bundle."""
    several, one = (
        examples(timelines(several), TIMELINES, seeded(seed, "clocks", several), lambda timeline: timeline.timeline)
        for several in (True, False)
    )
    return [stretched(several[0]), *several[1:], *one]

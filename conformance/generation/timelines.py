"""Timelines: schedules without events.

A timeline costs an engine its micro-batches, whatever the number of cases on it. So timelines are few, and as short as
their purpose allows.
"""

from collections.abc import Mapping
from enum import Enum
from functools import cache

from hypothesis import strategies as st

from conformance.generation.examples import examples, seeded
from conformance.model.program import BEGUN_AGAIN, JobKind, Program
from conformance.model.schedule import Schedule, renumbered
from conformance.model.steps import Advance, Deliver, Restart, Step, Wait

START = 1_000_000
"""Event times begin well above zero, because Spark 4.3.0 drops a row at time 0 as late before any watermark is set."""

SETTLED_AFTER = 200_000
"""The last advance goes this far (ms) past the one before it, so that every timer of a program comes due."""

MONTH = 30 * 86_400_000
"""By how much (ms) one advance of one timeline moves the watermark: more than a day, and more than 2**31 ms."""

SLOTS = ((1, 2, 3), (2, 1, 2), (1, 2), (2, 2))
"""The numbers of bundles between two advances, for each timeline of several bundles."""

ONE_BUNDLE = 2
"""The number of timelines of one bundle."""

WAIT = 8_000
"""How long (ms) each wait is. A TTL between WAIT + SLACK and 2 × WAIT is alive after one wait and expired after two,
however long an engine takes for the micro-batches in between."""


RESTARTED = Schedule(
    (Advance(0, START), Deliver(1), Deliver(2), Restart(3), Deliver(4), Advance(5, START + SETTLED_AFTER))
)
"""The timeline of a job whose checkpoint is damaged."""


SUCCEEDED = Schedule(
    (Advance(0, START), Deliver(1), Restart(2), Deliver(3), Deliver(4), Advance(5, START + SETTLED_AFTER))
)
"""The timeline of a job whose program has a next version."""


class Family(Enum):
    """A family of timelines, by what programs and engines need."""

    SEVERAL = "several bundles"
    ONE = "one bundle"
    WAITING = "processing time passes"
    INITIAL = "a job that starts with state"
    DAMAGED = "a job that begins again on a damaged checkpoint"
    SUCCEEDED = "a job whose next version goes on"


def families_of(program: Program) -> tuple[Family, ...]:
    """The families of timelines that a program has cases on."""
    if program.waits:
        return (Family.WAITING,)
    if program.job is JobKind.DAMAGE:
        return (Family.DAMAGED,)
    if program.job in BEGUN_AGAIN:
        return (Family.SUCCEEDED,)
    return (Family.INITIAL,) if program.job is JobKind.INITIAL_STATE else (Family.SEVERAL, Family.ONE)


@cache
def draw_timelines(seed: int) -> Mapping[Family, tuple[Schedule, ...]]:
    """The timelines of a run. The first one of several bundles is ``stretched``."""
    several = [_drawn(slots, seeded(seed, "timeline", number)) for number, slots in enumerate(SLOTS)]
    one = examples(timelines((1,)), ONE_BUNDLE, seeded(seed, "one bundle"), lambda timeline: timeline.timeline)
    return {
        Family.SEVERAL: (stretched(several[0]), *several[1:]),
        Family.ONE: tuple(one),
        Family.WAITING: (waiting_timeline(),),
        Family.INITIAL: (with_initial_state(several[-1]),),
        Family.DAMAGED: (RESTARTED,),
        Family.SUCCEEDED: (SUCCEEDED,),
    }


def _drawn(slots: tuple[int, ...], seed: int) -> Schedule:
    return examples(timelines(slots), 1, seed, lambda timeline: timeline.timeline)[0]


def timelines(slots: tuple[int, ...]) -> st.SearchStrategy[Schedule]:
    """Schedules without events. Many advances equal a length that scenarios use (a multiple of 5 s), or are 1 ms off.
    With several intervals, one of the first two advances is short and the other long."""
    short = st.sampled_from([1, 500, 4_999, 5_000, 5_001, 9_999])
    long = st.sampled_from([10_000, 10_001, 12_000, 15_000, 20_000])
    starts = st.sampled_from([START, START + 1, START + 4_999, START + 5_000, START + 9_999, START + 12_345])

    @st.composite
    def build(draw: st.DrawFn) -> Schedule:
        watermark = draw(starts)
        jumps = draw(st.permutations([draw(short), draw(long)]))[: len(slots) - 1]
        jumps.append(draw(short) + SETTLED_AFTER)
        steps: list[Step] = [Advance(0, watermark)]
        for number, jump in zip(slots, jumps, strict=True):
            steps += [Deliver(len(steps) + i) for i in range(number)]
            watermark += jump
            steps.append(Advance(len(steps), watermark))
        return Schedule(tuple(steps))

    return build()


def stretched(timeline: Schedule) -> Schedule:
    """The timeline, but the last of three bundles between two advances comes MONTH later, behind an advance of its
    own."""
    steps = timeline.steps
    place = next(n for n in range(len(steps)) if all(isinstance(step, Deliver) for step in steps[n : n + 3]))
    before, after = steps[: place + 2], steps[place + 2 :]
    watermark = max(step.watermark for step in before if isinstance(step, Advance))
    return renumbered([*before, Advance(0, watermark + MONTH), *(step.shifted(MONTH) for step in after)])


def waiting_timeline() -> Schedule:
    """A schedule without events in which processing time passes three times. One bundle comes before each wait, because
    more micro-batches would take time that no wait counts."""
    steps: list[Step] = [Advance(0, START)]
    for _ in range(3):
        steps += [Deliver(len(steps)), Wait(len(steps) + 1, WAIT)]
    return Schedule((*steps, Advance(len(steps), START + SETTLED_AFTER)))


def with_initial_state(timeline: Schedule) -> Schedule:
    """The timeline for a job that starts with state."""
    return renumbered([Deliver(0, initial=True), *timeline.steps])

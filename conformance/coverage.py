"""Coverage: what the cases behind a cell had in them, so that "200 cases" also says how many had a late element."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

from conformance.model import Advance, Arrival, Case, FailOnce, Partitions, Restart, Schedule, Wait
from conformance.program import Program

LATE = "late"
AT_WATERMARK = "at the watermark"
NEXT_TO_WATERMARK = "1 ms off the watermark"
EQUAL_TIMES = "equal times"
OUT_OF_ORDER = "out of order"
KEYS = "several keys"
BUNDLES = "several bundles"
KEY_IN_BUNDLES = "key in several bundles"
WATERMARK_MOVES = "advance between bundles"
RESTARTED = "restart"
TIMER_PENDING = "restart, timer pending"
RETRIED = "attempt retried"
RESUMED = "job resumed"
COALESCED = "coalesced advance"
REPARTITIONED = "repartitioned"
WAITED = "processing time passes"

CIRCUMSTANCES = (
    LATE,
    AT_WATERMARK,
    NEXT_TO_WATERMARK,
    EQUAL_TIMES,
    OUT_OF_ORDER,
    KEYS,
    BUNDLES,
    KEY_IN_BUNDLES,
    WATERMARK_MOVES,
    RESTARTED,
    TIMER_PENDING,
    RETRIED,
    RESUMED,
    COALESCED,
    REPARTITIONED,
    WAITED,
)
"""All that is counted, in the order in which it is shown: cases with an element that is late, at the watermark or 1 ms off
it; with elements of a key at equal times or out of order in event time, or in several bundles; with several keys; with
several bundles between two advances; and so on. A bundle counts where the case has an element in it: the
others are the pack's. Late and at the watermark are those of ``model.Arrival``; after a coalesced advance, 1 ms off
either of the two watermarks counts."""


def coverage(program: Program, case: Case) -> frozenset[str]:
    """Which of CIRCUMSTANCES a case has."""
    return frozenset(itertools.chain(_of_elements(case.schedule), _of_steps(program, case.schedule)))


def counters(program: Program, cases: Iterable[Case]) -> dict[str, int]:
    """How many distinct cases have each circumstance, in the order of CIRCUMSTANCES, without those that none has."""
    distinct = {case.digest: case for case in cases}.values()
    found = Counter(itertools.chain.from_iterable(coverage(program, case) for case in distinct))
    return in_order(found)


def in_order(found: Counter[str]) -> dict[str, int]:
    """Counters that are not zero, in the order of CIRCUMSTANCES; then those that another version counted."""
    return {name: found[name] for name in (*CIRCUMSTANCES, *found) if found[name]}


def _of_elements(schedule: Schedule) -> Iterator[str]:
    arrivals = schedule.arrivals
    by_key: dict[str, list[Arrival]] = {}
    for arrival in arrivals:
        by_key.setdefault(arrival.event.key, []).append(arrival)
    times = [[a.event.event_time for a in mine] for mine in by_key.values()]
    used = {a.step for a in arrivals}
    intervals = {schedule.intervals[step] for step in used}
    if any(a.behind for a in arrivals):
        yield LATE
    if any(a.at_watermark for a in arrivals):
        yield AT_WATERMARK
    if any(abs(a.event.event_time - edge) == 1 for a in arrivals for edge in (a.watermark, a.settled)):
        yield NEXT_TO_WATERMARK
    if any(len(set(mine)) < len(mine) for mine in times):
        yield EQUAL_TIMES
    if any(mine != sorted(mine) for mine in times):
        yield OUT_OF_ORDER
    if len(by_key) > 1:
        yield KEYS
    if len(used) > len(intervals):
        yield BUNDLES
    if any(mine[0].step != mine[-1].step for mine in by_key.values()):
        yield KEY_IN_BUNDLES
    if len(intervals) > 1:
        yield WATERMARK_MOVES


def _of_steps(program: Program, schedule: Schedule) -> Iterator[str]:
    first_on_time = next((a.step for a in schedule.arrivals if a.on_time), None)
    for step in schedule.steps:
        if isinstance(step, Restart):
            yield RESTARTED
            if program.timers and first_on_time is not None and first_on_time < step.id:
                yield TIMER_PENDING
        elif isinstance(step, FailOnce):
            yield RESUMED if step.resume else RETRIED
        elif isinstance(step, Partitions):
            yield REPARTITIONED
        elif isinstance(step, Wait):
            yield WAITED
        elif isinstance(step, Advance) and step.coalesced:
            yield COALESCED

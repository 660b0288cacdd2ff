"""Coverage: the circumstances of the cases behind a cell. "200 cases" alone does not say how many had a late
element."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

from conformance.judgement.known import Known
from conformance.model.case import Case
from conformance.model.program import Program
from conformance.model.schedule import Schedule
from conformance.model.steps import CRASH_POINTS, Crash, NoData, Partitions, Plan, Restart, SinkFails, Wait
from conformance.support.grouping import grouped

TIMER_PENDING = "restart, timer pending"
KILLED_AGAIN = "killed: twice"
KILLED = (*(Crash(0, at).circumstance for at in CRASH_POINTS), KILLED_AGAIN)

CIRCUMSTANCES = (
    "late",
    "at the watermark",
    "1 ms off the watermark",
    "equal times",
    "out of order",
    "several keys",
    "several bundles",
    "key in several bundles",
    "advance between bundles",
    Restart.circumstance,
    TIMER_PENDING,
    "attempt retried",
    "job resumed",
    SinkFails.circumstance,
    *KILLED,
    NoData.circumstance,
    "coalesced advance",
    Partitions.circumstance,
    Plan.circumstance,
    Wait.circumstance,
)
"""All circumstances, in the order of display: cases with an element that is late, at the watermark or 1 ms off the
watermark; with elements of one key at equal times, out of order in event time or in several bundles; with several keys;
with several bundles between two advances; and so on. A bundle counts only if the case has an element in the bundle: a
pack has bundles for its other cases. ``model.Arrival`` defines late and at the watermark. After a coalesced advance, 1
ms off either of the two watermarks counts."""


KEPT = 200_000
"""Number of cases whose circumstances are kept, because several guarantees and several engines ask for the same
cases."""

_known: Known[tuple[str, bool], frozenset[str]] = Known(KEPT)


def coverage(program: Program, case: Case) -> frozenset[str]:
    """The circumstances of a case, a subset of CIRCUMSTANCES."""

    def found() -> frozenset[str]:
        return frozenset(itertools.chain(_of_elements(case.schedule), _of_steps(program, case.schedule)))

    return _known.of((case.digest, bool(program.timers)), found)


def counters(program: Program, cases: Iterable[Case]) -> dict[str, int]:
    """The number of distinct cases with each circumstance, in the order of CIRCUMSTANCES. A circumstance without a case
    is left out."""
    distinct = {case.digest: case for case in cases}.values()
    found = Counter(itertools.chain.from_iterable(coverage(program, case) for case in distinct))
    return in_order(found)


def in_order(found: Counter[str]) -> dict[str, int]:
    """The counters that are not zero: first those in CIRCUMSTANCES, in that order, then counters of other versions."""
    return {name: found[name] for name in (*CIRCUMSTANCES, *found) if found[name]}


def _of_elements(schedule: Schedule) -> Iterator[str]:
    arrivals = schedule.arrivals
    by_key = grouped((arrival.event.key, arrival) for arrival in arrivals)
    times = [[a.event.event_time for a in mine] for mine in by_key.values()]
    used = {a.step for a in arrivals}
    intervals = {schedule.intervals[step] for step in used}
    edges = (abs(a.event.event_time - edge) for a in arrivals for edge in (a.watermark, a.settled))
    there = {
        "late": any(a.behind for a in arrivals),
        "at the watermark": any(a.at_watermark for a in arrivals),
        "1 ms off the watermark": 1 in edges,
        "equal times": any(len(set(mine)) < len(mine) for mine in times),
        "out of order": any(mine != sorted(mine) for mine in times),
        "several keys": len(by_key) > 1,
        "several bundles": len(used) > len(intervals),
        "key in several bundles": any(mine[0].step != mine[-1].step for mine in by_key.values()),
        "advance between bundles": len(intervals) > 1,
    }
    return (name for name, is_so in there.items() if is_so)


def _of_steps(program: Program, schedule: Schedule) -> Iterator[str]:
    first_on_time = next((a.step for a in schedule.arrivals if a.on_time), None)
    yield from kills(schedule)
    for step in schedule.steps:
        if step.circumstance and not isinstance(step, Crash):
            yield step.circumstance
        if isinstance(step, Restart) and program.timers and first_on_time is not None and first_on_time < step.id:
            yield TIMER_PENDING


def kills(schedule: Schedule) -> frozenset[str]:
    """The circumstances of a schedule, a subset of KILLED."""
    steps = schedule.steps
    again = any(isinstance(one, Crash) and isinstance(other, Crash) for one, other in itertools.pairwise(steps))
    return frozenset(
        {step.circumstance for step in steps if isinstance(step, Crash)} | ({KILLED_AGAIN} if again else set())
    )

"""How alike two traces are. Steps are compared by the interval between advances, so that twins with other bundles
can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum

from conformance.model import Emission, Schedule, Trace, canonical


class Equivalence(Enum):
    IDENTICAL = "identical"
    SAME_SEQUENCE = "same sequence"
    SAME_MULTISET = "same multiset"
    SAME_FINAL_VALUE = "same final value"


def _content(emission: Emission) -> str:
    return canonical([emission.key, emission.value, emission.event_time, emission.error])


def _identical(trace: Trace, schedule: Schedule) -> object:
    return {
        key: [(schedule.intervals[e.step], _content(e)) for e in emissions] for key, emissions in trace.by_key.items()
    }


def _sequence(trace: Trace, schedule: Schedule) -> object:
    return {key: [_content(e) for e in emissions] for key, emissions in trace.by_key.items()}


def _multiset(trace: Trace, schedule: Schedule) -> object:
    return Counter(_content(e) for e in trace.judged)


def _final(trace: Trace, schedule: Schedule) -> object:
    return {key: _content(emissions[-1]) for key, emissions in trace.by_key.items()}


_VIEWS: dict[Equivalence, Callable[[Trace, Schedule], object]] = {
    Equivalence.IDENTICAL: _identical,
    Equivalence.SAME_SEQUENCE: _sequence,
    Equivalence.SAME_MULTISET: _multiset,
    Equivalence.SAME_FINAL_VALUE: _final,
}


def equivalent(how: Equivalence, left: tuple[Schedule, Trace], right: tuple[Schedule, Trace]) -> bool:
    """Whether two traces, each with the schedule that gave it, are alike in the sense of ``how``."""
    view = _VIEWS[how]
    return view(left[1], left[0]) == view(right[1], right[0])

"""How alike two traces are. Steps are compared by the interval between advances, so that twins with other bundles
can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from conformance.model import Emission, Schedule, Trace, canonical


class Equivalence(Enum):
    """A partial order (see ``IMPLIES``): the same multiset says nothing of the last value."""

    IDENTICAL = "identical"
    SAME_SEQUENCE = "same sequence"
    SAME_MULTISET = "same multiset"
    SAME_FINAL_VALUE = "same final value"
    SAME_UP_TO_RELABELLING = "same up to relabelling"


IMPLIES: Mapping[Equivalence, frozenset[Equivalence]] = {
    Equivalence.IDENTICAL: frozenset(Equivalence) - {Equivalence.IDENTICAL},
    Equivalence.SAME_SEQUENCE: frozenset(
        {Equivalence.SAME_MULTISET, Equivalence.SAME_FINAL_VALUE, Equivalence.SAME_UP_TO_RELABELLING}
    ),
    Equivalence.SAME_MULTISET: frozenset({Equivalence.SAME_UP_TO_RELABELLING}),
    Equivalence.SAME_FINAL_VALUE: frozenset(),
    Equivalence.SAME_UP_TO_RELABELLING: frozenset(),
}
"""The weaker equivalences that follow from each."""


def maximal(held: Iterable[Equivalence]) -> list[Equivalence]:
    """Those of ``held`` that follow from no other of them, strongest first."""
    held = set(held)
    return [e for e in Equivalence if e in held and not any(e in IMPLIES[other] for other in held)]


def _content(emission: Emission) -> str:
    return canonical([emission.key, emission.value, emission.event_time, emission.error])


def _identical(trace: Trace, schedule: Schedule, labels: frozenset[str]) -> object:
    return {
        key: [(schedule.intervals[e.step], _content(e)) for e in emissions] for key, emissions in trace.by_key.items()
    }


def _sequence(trace: Trace, schedule: Schedule, labels: frozenset[str]) -> object:
    return {key: [_content(e) for e in emissions] for key, emissions in trace.by_key.items()}


def _multiset(trace: Trace, schedule: Schedule, labels: frozenset[str]) -> object:
    return Counter(_content(e) for e in trace.judged)


def _final(trace: Trace, schedule: Schedule, labels: frozenset[str]) -> object:
    return {key: _content(emissions[-1]) for key, emissions in trace.by_key.items()}


def _relabelled(trace: Trace, schedule: Schedule, labels: frozenset[str]) -> object:
    """The emissions without their labels, and the labels that each key gave, apart from each other."""

    def split(emission: Emission) -> tuple[str, str]:
        value: Any = emission.value
        if not isinstance(value, dict):
            return canonical(value), ""
        given = {name: value[name] for name in value if name in labels}
        return canonical({name: value[name] for name in value if name not in labels}), canonical(given)

    parts = [(e.key, split(e)) for e in trace.judged]
    return Counter((key, rest) for key, (rest, _) in parts), Counter((key, label) for key, (_, label) in parts)


_VIEWS: dict[Equivalence, Callable[[Trace, Schedule, frozenset[str]], object]] = {
    Equivalence.IDENTICAL: _identical,
    Equivalence.SAME_SEQUENCE: _sequence,
    Equivalence.SAME_MULTISET: _multiset,
    Equivalence.SAME_FINAL_VALUE: _final,
    Equivalence.SAME_UP_TO_RELABELLING: _relabelled,
}


def equivalent(
    how: Equivalence, left: tuple[Schedule, Trace], right: tuple[Schedule, Trace], labels: Iterable[str] = ()
) -> bool:
    """Whether two traces, each with the schedule that gave it, are alike in the sense of ``how``.

    ``labels`` are the fields of emitted objects that a relabelling may permute within a key.
    """
    view = _VIEWS[how]
    names = frozenset(labels)
    return view(left[1], left[0], names) == view(right[1], right[0], names)

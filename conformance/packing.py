"""Packing: cases that share a clock go into one engine run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from conformance.model import Case, Pack
from conformance.perturbation import BY_ID


def packs_of(cases: Iterable[Case], largest: int) -> list[Pack]:
    """Cases with one clock go together, in the order given, at most ``largest`` to a pack. A case of a sparse
    perturbation shares its pack with cases of that perturbation and other programs alone."""
    groups: dict[object, list[Case]] = {}
    before: Counter[object] = Counter()
    for case in cases:
        group: object = case.schedule.clock
        if case.perturbation and BY_ID[case.perturbation].sparse:
            mine = (group, case.perturbation, case.scenario, case.program)
            group = (group, case.perturbation, before[mine])
            before[mine] += 1
        groups.setdefault(group, []).append(case)
    return [Pack(tuple(group[i : i + largest])) for group in groups.values() for i in range(0, len(group), largest)]

"""Twins: the choice of perturbed twins for the cases of a family of timelines."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.model.case import Case
from conformance.model.perturbation import (
    COALESCE,
    PERTURBATIONS,
    RECOVERIES,
    REPARTITION,
    RESTART,
    SHIFT_TIMES,
    Perturbation,
)
from conformance.model.schedule import Schedule
from conformance.model.values import digest

IN_TIMELINE = 2
"""The number of twins of a case from perturbations that keep its timeline and can change the case."""

TIMELINES_EACH = 2
"""The number of timelines with several bundles on which recoveries and coalesced advances are made. Each other perturbation that
changes the timeline is made on one timeline. Each of these timelines costs an engine run."""

SPARSE_EACH = 1
"""The number of cases per program and family of timelines whose twins also run without neighbours of their program."""


class Twins:
    """The choice of twins for the cases of a family of timelines."""

    def __init__(self, timelines: list[Schedule], seed: int, only: tuple[Perturbation, ...] | None = None) -> None:
        """``only`` lists the perturbations to make among those that change the timeline, each on a timeline of its own."""
        self.timelines, self._seed = timelines, seed
        several = len(timelines[0].bundles) > 1
        self._in_timeline = [p for p in PERTURBATIONS if p.keeps_timeline and not p.sparse]
        self._on_timeline: dict[Schedule, list[Perturbation]] = {timeline: [] for timeline in timelines}
        own = [p for p in PERTURBATIONS if not p.keeps_timeline and not p.sparse]
        if several:
            own += [p for p in (*RECOVERIES, COALESCE) for _ in range(TIMELINES_EACH - 1)]
        else:
            own = [SHIFT_TIMES, REPARTITION, RESTART]
        if only is not None:
            own = list(only)
        for number, perturbation in enumerate(own):
            self._on_timeline[timelines[number % len(timelines)]].append(perturbation)
        sparse = [p for p in PERTURBATIONS if p.sparse and (several or p.keeps_timeline) and only is None]
        self.sparse_timeline = timelines[-1]
        self._sparse_left = dict.fromkeys(sparse, SPARSE_EACH)

    def serving(self, wanted: Iterable[Perturbation]) -> list[Schedule]:
        """The timelines that at least one of these perturbations is made on."""
        wanted = set(wanted)
        if any(perturbation.keeps_timeline for perturbation in wanted):
            return self.timelines
        return [timeline for timeline, made in self._on_timeline.items() if wanted & set(made)] or self.timelines

    def of(self, case: Case) -> list[Case]:
        timeline = Schedule(case.schedule.timeline)
        found = [twin for p in self._in_timeline if (twin := p.twin(case, self._seed))]
        found = sorted(found, key=lambda twin: digest([case.digest, twin.perturbation]))[:IN_TIMELINE]
        found += [twin for p in self._on_timeline[timeline] if (twin := p.twin(case, self._seed))]
        for perturbation, left in self._sparse_left.items():
            wanted = left and timeline == self.sparse_timeline and case.schedule.arrivals
            if wanted and (twin := perturbation.twin(case, self._seed)):
                self._sparse_left[perturbation] = left - 1
                found.append(twin)
        return found

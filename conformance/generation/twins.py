"""Twins: the choice of perturbed twins for the cases of a family of timelines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, takewhile

from conformance.model.case import Case
from conformance.model.perturbation import (
    PERTURBATIONS,
    REPARTITION,
    RESTART,
    RESUME,
    RETRY,
    SEVERAL_CHANGES,
    SEVERAL_RECOVERIES,
    SHIFT_TIMES,
    Perturbation,
)
from conformance.model.schedule import Schedule

IN_TIMELINE = 4
"""The number of twins of a case from perturbations that keep its timeline."""

TIMELINES_EACH = {RESTART: 4, RETRY: 4, RESUME: 3, REPARTITION: 2, SEVERAL_CHANGES: 2, SEVERAL_RECOVERIES: 3}
"""The number of timelines with several bundles on which each recovery is made: some guarantees are about restarts alone, some about the
two failures, of which some engines have the retry alone. State is in more partitions than before, and in one. Several changes at once are
others on each timeline. Each other perturbation that changes the timeline is made on one timeline. Each of these timelines costs an engine
run, which takes as long as hundreds of cases."""

SPARSE_EACH = 2
"""The number of cases per program and family of timelines whose twins run without neighbours of their program, for a perturbation that
no guarantee of the program promises."""


class Twins:
    """The choice of twins for the cases of a family of timelines.

    Attributes:
        timelines: the timelines of cases as drawn.
        made: the perturbations (ids) that twins are made with -> the number of timelines on which they are.
        sparse_timeline: the timeline of the cases whose twins run without neighbours of their program.
    """

    def __init__(self, timelines: list[Schedule], seed: int, only: tuple[Perturbation, ...] | None = None) -> None:
        """``only`` lists the perturbations to make among those that change the timeline, each as often as it is listed, and shared out to
        the timelines."""
        self.timelines, self._seed = timelines, seed
        several = len(timelines[0].bundles) > 1
        self._in_timeline = [p for p in PERTURBATIONS if p.keeps_timeline and not p.sparse]
        self._on_timeline: dict[Schedule, list[Perturbation]] = {timeline: [] for timeline in timelines}
        own = [p for p in PERTURBATIONS if not p.keeps_timeline and not p.sparse]
        if several:
            own += [p for p, number in TIMELINES_EACH.items() for _ in range(number - 1)]
        else:
            own = [SHIFT_TIMES, REPARTITION, RESTART]
        if only is not None:
            own = list(only)
        for perturbation in own:
            made = min(self._on_timeline.values(), key=lambda made: (perturbation in made, len(made)))
            made.append(perturbation)
        self._sparse = [p for p in PERTURBATIONS if p.sparse and only is None]
        self.sparse_timeline = timelines[-1]
        asked_for = [] if several else self._sparse  # a pack for so few cases is a short one
        self.made = Counter(p.id for made in self._on_timeline.values() for p in made)
        self.made.update({p.id: len(timelines) for p in self._in_timeline} | {p.id: 1 for p in asked_for})

    def serving(self, wanted: Iterable[Perturbation]) -> list[Schedule]:
        """The timelines that at least one of these perturbations is made on."""
        wanted = set(wanted)
        if any(perturbation.keeps_timeline for perturbation in wanted):
            return self.timelines
        return [timeline for timeline, made in self._on_timeline.items() if wanted & set(made)] or self.timelines

    def of(self, case: Case, asked: Sequence[str], sparse: Mapping[str, int]) -> list[Case]:
        """Twins of a case under the perturbations (ids) that are asked for, those asked for first before others where there is no room
        for all. ``sparse`` counts the twins so far of sparse perturbations, of which a few are made unasked."""
        timeline = Schedule(case.schedule.timeline)
        there = {p.id: p for p in self._in_timeline}
        made = (there[name].twin(case, self._seed) for name in asked if name in there)
        found = list(islice(filter(None, made), IN_TIMELINE))
        earlier = [self._on_timeline[other] for other in takewhile(timeline.__ne__, self.timelines)]
        for p in self._on_timeline[timeline]:
            if p.id in asked and (twin := p.twin(case, self._seed, sum(p in made for made in earlier))):
                found.append(twin)
        if timeline == self.sparse_timeline and case.schedule.arrivals:
            wanted = [
                p for p in self._sparse if (p.id in asked and p.id in self.made) or sparse.get(p.id, 0) < SPARSE_EACH
            ]
            found += [twin for p in wanted if (twin := p.twin(case, self._seed))]
        return found

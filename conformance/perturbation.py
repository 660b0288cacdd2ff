"""Perturbations: pure functions from a schedule to a twin of it.

Each takes a source of randomness and returns None where it has nothing to change. None of them makes an on-time
event late: events stay between the same two advances. Keys and times are unchanged; steps of twins correspond by
interval (see ``equivalence``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from random import Random

from conformance.engine import Feature
from conformance.model import Case, Deliver, Event, Restart, Schedule, Step


@dataclass(frozen=True)
class Perturbation:
    """``apply`` makes the twin; ``needs`` are the features without which no twin can be run. Twins that do not keep
    the clock need packs of their own."""

    id: str
    title: str
    apply: Callable[[Schedule, Random], Schedule | None]
    needs: frozenset[Feature] = frozenset()
    keeps_clock: bool = True

    def twin(self, case: Case, seed: int) -> Case | None:
        """The perturbed twin of a case, the same for the same seed; None where the perturbation has no hold."""
        schedule = self.apply(case.schedule, Random(f"{seed}/{self.id}/{case.digest}"))
        if schedule is None or schedule == case.schedule:
            return None
        return Case(case.scenario, case.program, schedule, self.id, case.id)


def _reorder_within_bundles(schedule: Schedule, random: Random) -> Schedule | None:
    """Shuffle the events of each bundle; bundles of two are swapped so that a twin always differs."""
    bundles = {}
    for bundle in schedule.bundles:
        if len(bundle.events) > 1:
            events = list(bundle.events)
            while tuple(events) == bundle.events:
                random.shuffle(events)
            bundles[bundle.id] = events
    return schedule.with_bundles(bundles) if bundles else None


def _rebundle(schedule: Schedule, random: Random) -> Schedule | None:
    """Cut the events between two advances anew into the same slots, in the same order: bundles split and merge."""
    bundles: dict[int, list[Event]] = {}
    intervals = groupby(schedule.bundles, key=lambda bundle: schedule.intervals[bundle.id])
    for _, group in intervals:
        slots: list[Deliver] = list(group)
        events = [event for slot in slots for event in slot.events]
        if len(slots) < 2 or len(events) < 2:
            continue
        before = [len(slot.events) for slot in slots]
        sizes = before
        while _non_empty(sizes) == _non_empty(before):
            cuts = sorted(random.choices(range(len(events) + 1), k=len(slots) - 1))
            sizes = [end - start for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True)]
        rest = iter(events)
        bundles |= {slot.id: [next(rest) for _ in range(size)] for slot, size in zip(slots, sizes, strict=True)}
    return schedule.with_bundles(bundles) if bundles else None


def _non_empty(sizes: list[int]) -> list[int]:
    return [size for size in sizes if size]


def _restart(schedule: Schedule, random: Random) -> Schedule | None:
    """Restart after the second advance: state, timers and the watermark of a job at work must survive. Steps after it
    are renumbered. Every case of a clock is restarted at the same place, so that their twins share a pack."""
    if len(schedule.advances) < 3:
        return None
    steps: list[Step] = []
    for step in schedule.steps:
        steps.append(replace(step, id=len(steps)))
        if step is schedule.advances[1]:
            steps.append(Restart(len(steps)))
    return Schedule(tuple(steps))


REORDER = Perturbation("reorder", "reorder within a bundle", _reorder_within_bundles)
REBUNDLE = Perturbation("rebundle", "split and merge bundles", _rebundle, frozenset({Feature.SEVERAL_BUNDLES}))

RESTART = Perturbation(
    "restart", "restart from the checkpoint", _restart, frozenset({Feature.RESTART}), keeps_clock=False
)

PERTURBATIONS: tuple[Perturbation, ...] = (REORDER, REBUNDLE, RESTART)

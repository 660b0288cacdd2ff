"""Perturbations: named pure functions from a schedule to a twin of it.

Each function takes a source of randomness and returns None where it has nothing to change. No perturbation makes an on-time event
late: an event meets the same watermark as before or an earlier one. The translation of a twin's trace into the terms of its
base (steps, keys, times) follows from the two schedules: see ``equivalence.Correspondence``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from conformance.model import combinations, event_changes, timeline_changes
from conformance.model.case import Case
from conformance.model.combinations import Change
from conformance.model.feature import Feature
from conformance.model.program import Program
from conformance.model.schedule import Schedule
from conformance.model.values import digest


def _unchanged(schedule: Schedule, random: Random) -> Schedule:
    return schedule


@dataclass(frozen=True)
class Perturbation:
    """One way to make a twin.

    Attributes:
        apply: the function.
        needs: features that every twin needs.
        keeps_timeline: whether a twin can share a pack with its base. If not, all cases of a timeline are perturbed in the same
            place, so that their twins share a pack.
        sparse: whether neighbours of the same program would hide the effect. A pack then has at most one case of a program.
        turns: what takes turns with ``apply`` on the timelines of a run.
    """

    id: str
    title: str
    apply: Change = _unchanged
    needs: frozenset[Feature] = frozenset()
    keeps_timeline: bool = True
    sparse: bool = False
    turns: tuple[Change, ...] = ()

    def twin(self, case: Case, seed: int, turn: int = 0) -> Case | None:
        """The perturbed twin of a case, the same for the same seed; None where the perturbation changes nothing. ``turn`` counts the
        timelines of a run on which twins are made."""
        chosen_by = case.digest if self.keeps_timeline else digest(Schedule(case.schedule.timeline).to_json())
        schedule = self.change(seed, turn)(case.schedule, Random(f"{seed}/{self.id}/{chosen_by}"))
        if schedule is None or (schedule == case.schedule and self is not ALONE):
            return None
        return Case(case.scenario, case.program, schedule, self.id, case.id)

    def change(self, seed: int, turn: int) -> Change:
        changes = (self.apply, *self.turns)
        return changes[turn % len(changes)]


@dataclass(frozen=True)
class Several(Perturbation):
    """Several changes at once.

    Attributes:
        blocks: the changes of the timeline on each of the timelines of a run, in the order in which they are made.
        beside: each case takes one of these for itself, before the others.
    """

    blocks: Callable[[Random], Sequence[Sequence[Perturbation]]] = field(default=lambda random: [()])
    beside: tuple[Perturbation, ...] = ()

    def change(self, seed: int, turn: int) -> Change:
        blocks = self.blocks(Random(f"{seed}/{self.id}"))
        block = blocks[turn % len(blocks)]
        return combinations.together([part.apply for part in block], [part.apply for part in self.beside])


SEVERAL = frozenset({Feature.SEVERAL_BUNDLES})

REORDER_KEY = Perturbation("reorder-key", "reorder each key within its bundle", event_changes.reorder_key)
INTERLEAVE = Perturbation("interleave", "interleave the keys of a bundle anew", event_changes.interleave)
REVERSE = Perturbation("reverse", "reverse each bundle", event_changes.reverse)
REORDER_ACROSS = Perturbation("reorder-across", "reorder across bundles", event_changes.reorder_across, SEVERAL)
SPLIT = Perturbation("split", "split bundles", event_changes.split, SEVERAL)
MERGE = Perturbation("merge", "merge bundles", event_changes.merge, SEVERAL)
SINGLES = Perturbation("singles", "one element per bundle", event_changes.singles, SEVERAL)
RENAME = Perturbation("rename", "rename the keys", event_changes.rename)
REDELIVER = Perturbation("redeliver", "deliver some elements again", event_changes.redeliver)


def _with_own_timeline(
    id: str, title: str, apply: Change, *needs: Feature, turns: Sequence[Change] = ()
) -> Perturbation:
    return Perturbation(id, title, apply, frozenset(needs), keeps_timeline=False, turns=tuple(turns))


EMPTY_BUNDLE = _with_own_timeline(
    "empty-bundle", "an empty bundle is added", timeline_changes.empty_bundle, Feature.SEVERAL_BUNDLES
)
FINER = _with_own_timeline("finer", "finer watermark steps", timeline_changes.finer, Feature.WATERMARK)
COARSER = _with_own_timeline("coarser", "coarser watermark steps", timeline_changes.coarser, Feature.WATERMARK)
COALESCE = _with_own_timeline(
    "coalesce", "coalesce an advance with a bundle", timeline_changes.coalesce, Feature.COALESCED
)
SHIFT_TIMES = _with_own_timeline("shift", "shift all times by weeks or years", timeline_changes.shift)
_OTHERS = [timeline_changes.repartition(count) for count in timeline_changes.PARTITIONS]
REPARTITION = _with_own_timeline(
    "repartition", "another partition count", _OTHERS[0], Feature.PARTITIONS, turns=_OTHERS[1:]
)
RESTART = _with_own_timeline(
    "restart",
    "restart from the checkpoint",
    timeline_changes.restart,
    Feature.RESTART,
    turns=[timeline_changes.restart_before, timeline_changes.restart_behind, timeline_changes.restart],
)


def _failing(id: str, title: str, resume: bool, needs: Feature) -> Perturbation:
    whiches = (timeline_changes.ANY_LATER, timeline_changes.THE_FIRST, timeline_changes.THE_LAST)
    later, *turns = (timeline_changes.failing(resume, which) for which in whiches)
    return _with_own_timeline(id, title, later, needs, turns=turns)


RETRY = _failing("retry", "a failed attempt at a bundle is retried", False, Feature.RETRY)
RESUME = _failing("resume", "the job fails in a bundle and resumes", True, Feature.RESUME)

ALONE = Perturbation("alone", "without neighbours of its program", sparse=True)
UNRELATED_KEY = Perturbation("unrelated-key", "an unrelated key is added", event_changes.unrelated_key, sparse=True)

NO_DATA = _with_own_timeline(
    "no-data",
    "bundles without any element are added",
    timeline_changes.no_data,
    Feature.SEVERAL_BUNDLES,
    Feature.NO_DATA,
)

REORDERINGS = (REORDER_KEY, INTERLEAVE, REVERSE, REORDER_ACROSS)
BUNDLINGS = (SPLIT, MERGE, SINGLES, EMPTY_BUNDLE)
WATERMARKINGS = (FINER, COARSER, COALESCE)
RECOVERIES = (RESTART, RETRY, RESUME)
RENAMINGS = (RENAME, SHIFT_TIMES, REPARTITION, ALONE, UNRELATED_KEY)

OF_THE_TIMELINE = (
    COARSER, FINER, SHIFT_TIMES, EMPTY_BUNDLE, NO_DATA, RESTART, RETRY, RESUME, REPARTITION, COALESCE
)  # fmt: skip
"""The changes of a timeline in the order in which several of them are made: nothing comes between a failure and its bundle, nor between
a coalesced advance and its bundle."""


TOGETHER = (COARSER, FINER, SHIFT_TIMES, EMPTY_BUNDLE)
"""Changes that every engine with a driven watermark can run together."""

SEVERAL_CHANGES = Several(
    "several-changes",
    "several changes of the timeline, and one of each case",
    needs=frozenset({Feature.SEVERAL_BUNDLES, Feature.WATERMARK}),
    keeps_timeline=False,
    blocks=lambda random: [TOGETHER, combinations.some(TOGETHER, random)],
    beside=(REORDER_KEY, INTERLEAVE, REVERSE, REORDER_ACROSS, SPLIT, MERGE, SINGLES),
)

SEVERAL_RECOVERIES = Several(
    "several-recoveries",
    "a restart and other changes of the timeline",
    needs=frozenset({Feature.SEVERAL_BUNDLES, Feature.RESTART}),
    keeps_timeline=False,
    blocks=lambda random: combinations.shared_out(OF_THE_TIMELINE, RESTART, 3, {NO_DATA, COALESCE}, random),
)
"""Each other change is made on one of three timelines, together with a restart. Where a bundle without any element follows each advance, no
advance is left to coalesce."""

PARTS: Mapping[str, frozenset[str]] = {
    SEVERAL_RECOVERIES.id: frozenset(part.id for part in OF_THE_TIMELINE),
}
"""Perturbation (id) -> the changes (ids) that it is made of. A program that promises to be stable under each of them promises it under all
together."""

PERTURBATIONS: tuple[Perturbation, ...] = (
    *REORDERINGS,
    *BUNDLINGS,
    NO_DATA,
    *WATERMARKINGS,
    *RECOVERIES,
    *RENAMINGS,
    REDELIVER,
    SEVERAL_CHANGES,
    SEVERAL_RECOVERIES,
)


def possible(program: Program, perturbation: Perturbation) -> bool:
    """Whether a case of the program can have a twin of this perturbation.

    A program in processing time has one bundle before each wait, and its timelines are fixed but for an empty bundle; so are those of a job
    that starts with state. Both can be restarted, and fail. Neither has cases without neighbours. A program with typed keys has no others
    than its own.
    """
    if program.keys and perturbation in (RENAME, UNRELATED_KEY):
        return False
    if not (program.waits or program.initial):
        return True
    if perturbation in RECOVERIES or (program.waits and perturbation is EMPTY_BUNDLE):
        return True
    of_one_bundle = perturbation.keeps_timeline and not perturbation.sparse
    return of_one_bundle and not (program.waits and Feature.SEVERAL_BUNDLES in perturbation.needs)


RARE = frozenset(
    {Feature.COALESCED, Feature.NO_DATA, Feature.PARTITIONS, Feature.RESTART, Feature.RETRY, Feature.RESUME}
)
"""Features that only some of the engines with a driven watermark have."""

BY_ID: Mapping[str, Perturbation] = {perturbation.id: perturbation for perturbation in PERTURBATIONS}

"""Perturbations: the factors of a designed experiment, each a named pure function from a schedule to a twin of it.

A perturbation belongs to a case or to a job. That of a case keeps the timeline, so that its twins run beside their
bases. That of a job changes the timeline or the query: it is the same for all cases of an engine run. A perturbation of
several *levels* is done in several ways. A twin may have several perturbations: ``together`` makes it, and ``parts_of``
tells them apart.

Each function takes a source of randomness and returns None where it has nothing to change. No perturbation makes an
on-time event
late: an event meets the same watermark as before or an earlier one. The translation of a twin's trace into the terms of
its base (steps, keys, times) follows from the two schedules: see ``equivalence.Correspondence``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from random import Random

from conformance.model.case import Case
from conformance.model.changes import events as event_changes
from conformance.model.changes import timeline as timeline_changes
from conformance.model.feature import Feature
from conformance.model.program import BEGUN_AGAIN, JobKind, Program
from conformance.model.schedule import Schedule
from conformance.model.steps import FailOnce, SinkFails, Step
from conformance.model.values import digest

Change = Callable[[Schedule, Random], Schedule | None]


def _unchanged(schedule: Schedule, random: Random) -> Schedule:
    return schedule


@dataclass(frozen=True, eq=False)
class Perturbation:
    """One thing that may change around a program. There is one object of each.

    Attributes:
        apply: the function.
        needs: features that every twin needs.
        keeps_timeline: whether it belongs to a case: the twin can share an engine run with its base.
        sparse: whether neighbours of the same program would hide the effect. A run then has at most one case of a
            program.
        more: the other levels, beside ``apply``.
    """

    id: str
    title: str
    apply: Change = _unchanged
    needs: frozenset[Feature] = frozenset()
    keeps_timeline: bool = True
    sparse: bool = False
    more: tuple[Change, ...] = ()

    @property
    def levels(self) -> int:
        return 1 + len(self.more)

    def at(self, level: int) -> str:
        """What ``Case.perturbation`` calls a level of it."""
        return f"{self.id}{LEVEL}{level}" if level else self.id

    def twin(self, case: Case, seed: int, level: int = 0) -> Case | None:
        """The twin of a case under this perturbation alone, the same for the same seed; None where it changes
        nothing."""
        return together(case, ((self, level),), seed)


LEVEL, AND = ".", "+"
"""What stands before a level, and between several perturbations, in ``Case.perturbation``."""

Part = tuple[Perturbation, int]
"""A perturbation and one of its levels."""


def together(case: Case, parts: Sequence[Part], seed: int) -> Case | None:
    """The twin of a case under several perturbations, applied in their order; None where one of them changes nothing.

    What a perturbation does depends on the case (on its timeline, if it belongs to a job) and on the seed, and not on
    the other perturbations. So the twin under some of the perturbations shows what these do.
    """
    schedule = case.schedule
    for part in parts:
        if (found := changed(case, schedule, part, seed)) is None:
            return None
        schedule = found
    return Case(case.scenario, case.program, schedule, AND.join(p.at(level) for p, level in parts), case.id)


def changed(case: Case, schedule: Schedule, part: Part, seed: int) -> Schedule | None:
    """What one more perturbation makes of a schedule, which others have made of a case's; None if it changes
    nothing."""
    perturbation, level = part
    chosen_by = case.digest if perturbation.keeps_timeline else _identity(case.schedule.timeline)
    change = (perturbation.apply, *perturbation.more)[level]
    found = change(schedule, Random(f"{seed}/{perturbation.id}/{chosen_by}"))
    return None if found == schedule and perturbation is not ALONE else found


@lru_cache(maxsize=1_000)  # asked for each twin of the few timelines of a run
def _identity(timeline: tuple[Step, ...]) -> str:
    return digest(Schedule(timeline).to_json())


def parts_of(perturbation: str) -> tuple[str, ...]:
    """The parts of ``Case.perturbation``, each with its level."""
    return tuple(perturbation.split(AND)) if perturbation else ()


def factor_of(part: str) -> str:
    """The id of a part's perturbation, without the level."""
    name, _, level = part.rpartition(LEVEL)
    return name if level.isdecimal() and name else part


def factors_of(perturbation: str) -> tuple[str, ...]:
    """The ids of the perturbations in ``Case.perturbation``, without levels."""
    return tuple(map(factor_of, parts_of(perturbation)))


def level_of(part: str) -> int:
    return 0 if (name := factor_of(part)) == part else int(part[len(name) + 1 :])


SEVERAL = frozenset({Feature.SEVERAL_BUNDLES})

REORDER_KEY = Perturbation("reorder-key", "reorder each key within its bundle", event_changes.reorder_key)
INTERLEAVE = Perturbation("interleave", "interleave the keys of a bundle anew", event_changes.interleave)
REVERSE = Perturbation("reverse", "reverse each bundle", event_changes.reverse)
REORDER_ACROSS = Perturbation("reorder-across", "reorder across bundles", event_changes.reorder_across, SEVERAL)
SPLIT = Perturbation("split", "split bundles", event_changes.split, SEVERAL)
MERGE = Perturbation("merge", "merge bundles", event_changes.merge, SEVERAL)
RENAME = Perturbation("rename", "rename the keys", event_changes.rename)
REDELIVER = Perturbation("redeliver", "deliver some elements again", event_changes.redeliver)


def _with_own_timeline(
    id: str, title: str, apply: Change, *needs: Feature, more: Sequence[Change] = ()
) -> Perturbation:
    return Perturbation(id, title, apply, frozenset(needs), keeps_timeline=False, more=tuple(more))


SINGLES = _with_own_timeline("singles", "one element per bundle", timeline_changes.singles, Feature.SEVERAL_BUNDLES)
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
    "repartition", "another partition count", _OTHERS[0], Feature.PARTITIONS, more=_OTHERS[1:]
)
RESTART = _with_own_timeline(
    "restart",
    "restart from the checkpoint",
    timeline_changes.restart,
    Feature.RESTART,
    more=[timeline_changes.restart_before, timeline_changes.restart_behind],
)


def _failing(id: str, title: str, step: FailOnce | SinkFails, needs: Feature) -> Perturbation:
    whiches = (timeline_changes.ANY_LATER, timeline_changes.THE_FIRST, timeline_changes.THE_LAST)
    later, *more = (timeline_changes.failing(step, which) for which in whiches)
    return _with_own_timeline(id, title, later, needs, more=more)


RETRY = _failing("retry", "a failed attempt at a bundle is retried", FailOnce(0), Feature.RETRY)
RESUME = _failing("resume", "the job fails in a bundle and resumes", FailOnce(0, True), Feature.RESUME)
SINK_FAILS = _failing(
    "sink-fails", "the sink fails behind a bundle and the job resumes", SinkFails(0), Feature.SINK_FAILURE
)

_KILLS = [timeline_changes.crash(groups) for groups in timeline_changes.KILLED]
CRASH = _with_own_timeline(
    "crash",
    "the job is killed in bundles and goes on from what it had written",
    _KILLS[0],
    Feature.CRASH,
    more=_KILLS[1:],
)

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
FAILURES = (RETRY, RESUME, SINK_FAILS)
RECOVERIES = (RESTART, *FAILURES, CRASH)
RENAMINGS = (RENAME, SHIFT_TIMES, REPARTITION, ALONE, UNRELATED_KEY)

OF_THE_TIMELINE = (
    SINGLES, COARSER, FINER, SHIFT_TIMES, NO_DATA, RESTART, RETRY, RESUME, SINK_FAILS, CRASH, EMPTY_BUNDLE, REPARTITION,
    COALESCE
)  # fmt: skip
"""The changes of a timeline in the order in which several of them are made. An empty bundle comes behind the failures,
so that they choose among the bundles that the cases have elements in. Nothing comes between a failure or a crash and
its bundle, nor between a coalesced advance and its bundle."""

APART = (
    frozenset({NO_DATA, COALESCE}),
    *map(frozenset, combinations(FAILURES, 2)),
    frozenset({SINGLES, COARSER}),
)
"""Perturbations that cannot meet. Where a bundle without any element follows each advance, no advance is left to
coalesce. Whether a failure reached a case is told of one failure. An advance left out leaves more elements in an
interval than one each can be delivered."""

PERTURBATIONS: tuple[Perturbation, ...] = (
    *REORDERINGS,
    *BUNDLINGS,
    NO_DATA,
    *WATERMARKINGS,
    *RECOVERIES,
    *RENAMINGS,
    REDELIVER,
)


def possible(program: Program, perturbation: Perturbation) -> bool:
    """Whether a case of the program can have a twin of this perturbation.

    A program in processing time has one bundle before each wait, and its timelines are fixed but for an empty bundle;
    so are those of a job that starts with state. Both can be restarted, and fail. Neither has cases without neighbours.
    A job whose checkpoint is damaged, or whose program changes, changes in nothing else. A program with typed keys has
    no others than its own.
    """
    if program.keys and perturbation in (RENAME, UNRELATED_KEY):
        return False
    if program.job in BEGUN_AGAIN:
        return False
    if not (program.waits or program.job is JobKind.INITIAL_STATE):
        return True
    if perturbation in RECOVERIES or (program.waits and perturbation is EMPTY_BUNDLE):
        return True
    of_one_bundle = perturbation.keeps_timeline and not perturbation.sparse
    return of_one_bundle and not (program.waits and Feature.SEVERAL_BUNDLES in perturbation.needs)


RARE = frozenset(
    {
        Feature.COALESCED,
        Feature.NO_DATA,
        Feature.PARTITIONS,
        Feature.RESTART,
        Feature.RETRY,
        Feature.RESUME,
        Feature.SINK_FAILURE,
        Feature.CRASH,
    }
)
"""Features that only some of the engines with a driven watermark have."""

BY_ID: Mapping[str, Perturbation] = {perturbation.id: perturbation for perturbation in PERTURBATIONS}

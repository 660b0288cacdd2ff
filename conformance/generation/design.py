"""The design of the experiment: which engine runs an engine gets, and what changes in each of them.

An engine run costs its micro-batches and hardly its cases, and nearly everything holds. So a row, which is one engine
run, makes several changes at once, and what fails is taken apart afterwards. The rows are a covering design: each level
of each perturbation is in so many rows, and each two changes of the timeline meet in one. The design is a function of
what an engine has, of the timelines and of the seed.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random

from conformance.generation.timelines import Family
from conformance.model.case import Case
from conformance.model.engine import Capabilities
from conformance.model.feature import Feature
from conformance.model.perturbation import (
    ALONE,
    APART,
    COALESCE,
    COARSER,
    CRASH,
    EMPTY_BUNDLE,
    FAILURES,
    FINER,
    OF_THE_TIMELINE,
    PERTURBATIONS,
    RECOVERIES,
    RESTART,
    RESUME,
    RETRY,
    SINGLES,
    SINK_FAILS,
    UNRELATED_KEY,
    Part,
    Perturbation,
    changed,
    together,
)
from conformance.model.plan import PlanTwin
from conformance.model.schedule import Schedule

MOST_CHANGES, MOST_MOVING = 4, 6
"""The most changes of a timeline in one row: each makes the row longer. There may be more in a row without plans, see
MOVING."""

IN_VAIN = 6
"""How many rows in a row on each timeline may bring nothing new before the design ends."""

TRIES = 4
"""How many designs are made where each level is in several rows. The one that costs least stands: each takes what
brings most next, and a short row may be left at the end."""

START = 3
"""What it takes to start an engine run, in micro-batches."""

MOVING = frozenset({SINGLES, COARSER, FINER, COALESCE})
"""Changes that decide when something comes out. Few programs put out the same under them, so a row with one of them
says little of what else it changes, and has no plan."""

ALLOWED = {
    Family.SEVERAL: OF_THE_TIMELINE,
    Family.ONE: tuple(p for p in OF_THE_TIMELINE if Feature.SEVERAL_BUNDLES not in p.needs),
    Family.INITIAL: RECOVERIES,
    Family.DAMAGED: (),
    Family.SUCCEEDED: (),
}
"""The changes of a timeline that rows of a family make. A program in processing time has one at a time, see
``_waiting``."""


class Kind(Enum):
    """Programs that share rows. Those of the second kind are guests in the rows of the first that have no plan."""

    PLAIN = "programs whose output no query around them changes"
    UNPLANNED = "programs that say nothing of the query around them"


@dataclass(frozen=True)
class Row:
    """One engine run, but for its cases.

    Attributes:
        timeline: the timeline of the cases as drawn.
        kind: the programs whose cases it has.
        parts: what changes for the whole job, in the order in which it is done. A base row changes nothing.
    """

    timeline: Schedule
    kind: Kind
    parts: tuple[Part, ...] = ()

    @property
    def factors(self) -> tuple[str, ...]:
        return tuple(perturbation.id for perturbation, _ in self.parts)


APART_FROM_ALL: tuple[Part, ...] = ((UNRELATED_KEY, 0), (ALONE, 0))
"""What is done to the cases of a row without neighbours."""


class Factors:
    """What an engine can be asked to change: all but some changes (ids), or some alone."""

    def __init__(self, can: Capabilities, without: Collection[str] = (), only: Collection[str] = ()) -> None:
        self._can = can
        self.plans = {plan.perturbation: plan for plan in can.plans}
        self.plans_together = can.plans_together
        self._meet: dict[tuple[str, str], bool] = {}
        self.expressible = frozenset(
            p
            for p in (*PERTURBATIONS, *self.plans)
            if can.first_missing(p.needs) is None and p.id not in without and (not only or p.id in only)
        )

    def possible(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        """The parts that the engine can be asked."""
        return tuple(part for part in parts if part[0] in self.expressible)

    def of(self, family: Family, kind: Kind) -> tuple[list[Perturbation], list[Perturbation]]:
        """The changes of the timeline, and the plans, in rows of a family for programs of a kind."""
        changes = [p for p in ALLOWED[family] if p in self.expressible]
        planned = kind is Kind.PLAIN and family is not Family.INITIAL
        return changes, [p for p in self.plans if p in self.expressible and planned]

    def meet(self, one: Perturbation, other: Perturbation) -> bool:
        """Whether two of them can be in one row. A plan that some cases or programs cannot be asked under meets such
        plans alone, as does one that turns a part of the engine off."""
        pair = one.id, other.id
        if pair not in self._meet:
            self._meet[pair] = self._can_meet(one, other)
        return self._meet[pair]

    def _can_meet(self, one: Perturbation, other: Perturbation) -> bool:
        if frozenset({one, other}) in APART:
            return False
        plans = [self.plans[p] for p in (one, other) if p in self.plans]
        if len(plans) == 2 and (not plans[0].meets(plans[1]) or plans[0].off != plans[1].off):
            return False
        if SINK_FAILS in (one, other) and any(plan.own_sink for plan in plans):
            return False
        if {RETRY, RESUME} & {one, other} and any(plan.in_parts for plan in plans):
            return False
        if plans and ({one, other} & MOVING or self._for_some(one) != self._for_some(other)):
            return False
        return not any(plan.one_query and self._begins_a_query(p) for plan in plans for p in (one, other))

    def fills_a_row(self, perturbation: Perturbation) -> bool:
        """Whether a plan stands in a query with few other plans, on an engine on which each run is dear: rows of it
        serve little else, and each kind of programs has one."""
        return (
            self._can.heavy
            and perturbation in self.plans
            and sum(self.meet(perturbation, other) for other in self.plans) < len(self.plans) / 2
        )

    def _for_some(self, perturbation: Perturbation) -> bool:
        plan: PlanTwin | None = self.plans.get(perturbation)
        return bool(plan and (plan.on_time or plan.scrambles or not plan.leaves_state))

    def _begins_a_query(self, perturbation: Perturbation) -> bool:
        plan: PlanTwin | None = self.plans.get(perturbation)
        return perturbation in (RESTART, RESUME, SINK_FAILS, CRASH) or bool(plan and plan.restarts)


def rows(
    timelines: Sequence[Schedule],
    family: Family,
    kind: Kind,
    factors: Factors,
    each: int,
    seed: int,
    host: Sequence[Row] = (),
) -> list[Row]:
    """The rows of a family for programs of a kind: a base row for each timeline, a covering design, those that ask most
    first, and a row of cases without neighbours.

    Args:
        each: in how many rows each level is. With more than one, each two changes of the timeline meet in a row, too.
        host: rows of the family for PLAIN programs. A row of another kind that equals one of them costs no engine run.
    """
    base = [Row(timeline, kind) for timeline in timelines]
    if not timelines:
        return []
    if family in (Family.DAMAGED, Family.SUCCEEDED):  # the damage, or the program, is what changes
        return base
    if family is Family.WAITING:
        return [*base, *_waiting(timelines[0], kind, factors)]
    beside = [Row(row.timeline, kind, row.parts) for row in host if row.timeline in timelines]
    shortest = min(timelines, key=lambda timeline: len(timeline.steps))
    alone = factors.possible(APART_FROM_ALL)
    apart = [row for row in beside if row.parts == alone] or [Row(shortest, kind, alone)]
    if family is Family.INITIAL or not alone:
        apart = []
    design = _Design(timelines, family, kind, factors, each, seed)
    tries = (design.rows(beside, number) for number in range(TRIES if each > 1 else 1))
    made = min(tries, key=lambda found: sum(_cost(row, seed) for row in found if row not in beside))
    return [*base, *sorted(made, key=lambda row: -len(row.parts)), *apart]


def _cost(row: Row, seed: int) -> int:
    """What a row costs an engine, in micro-batches."""
    twin = together(Case("", "", row.timeline), row.parts, seed)
    return START + len(twin.schedule.steps) if twin else 0


def _waiting(timeline: Schedule, kind: Kind, factors: Factors) -> list[Row]:
    """One recovery a row: each takes processing time that no wait counts. One restart is while all lives, and one when
    some has expired."""
    empty = factors.possible([(EMPTY_BUNDLE, 0)])
    parts = factors.possible([*((p, 0) for p in RECOVERIES), (RESTART, RESTART.levels - 1)])
    found = [Row(timeline, kind, (*(empty if part[0] is RETRY else ()), part)) for part in parts]
    return found if RETRY in factors.expressible or not empty else [*found, Row(timeline, kind, empty)]


class _Design:
    def __init__(
        self, timelines: Sequence[Schedule], family: Family, kind: Kind, factors: Factors, each: int, seed: int
    ) -> None:
        self._timelines, self._kind, self._factors, self._seed = timelines, kind, factors, seed
        self._name = f"{seed}/design/{family.value}/{kind.name}"
        self._changes, self._plans = factors.of(family, kind)
        self._order = {p: number for number, p in enumerate([*self._changes, *self._plans])}
        self._wanted = {
            (p, level): 1 if factors.fills_a_row(p) else each
            for p in self._order
            for level in self._levels(p, family, each)
        }
        pairs = itertools.combinations(self._changes, 2) if each > 1 and family is Family.SEVERAL else ()
        self._wanted_pairs = {frozenset(pair) for pair in pairs if factors.meet(*pair)}
        self._made: dict[tuple[int, tuple[tuple[str, int], ...]], Schedule | None] = {}
        self._scarce = {p: sum(not factors.meet(p, q) for q in self._plans if q is not p) for p in self._plans}

    @staticmethod
    def _levels(perturbation: Perturbation, family: Family, each: int) -> Iterable[int]:
        """The levels that rows have. A job that starts with state is restarted in each way, and fails in one. A row has
        one failure at most, so an engine that is asked everything once gets one
        level of each: a failed attempt in the first bundle, which every case reaches, and one of the sink in a later
        bundle."""
        if family is Family.INITIAL and perturbation is not RESTART:
            return (0,)
        if each == 1 and perturbation in FAILURES:
            return (0 if perturbation is SINK_FAILS else 1,)
        return range(perturbation.levels)

    def rows(self, beside: Iterable[Row], number: int) -> list[Row]:
        """The rows of a try: first those of another kind that bring what is owed, then rows of its own."""
        self._random = Random(f"{self._name}/{number}")
        self._owed, self._pairs = Counter(self._wanted), {*self._wanted_pairs}
        self._used: Counter[Schedule] = Counter()
        found = [*self._as_guests(beside)]
        in_vain = 0
        while self._left() and in_vain < IN_VAIN * len(self._timelines):  # what is left then fits on no timeline
            # The timeline that fewest rows have; of those, the shortest.
            timeline = min(self._timelines, key=lambda one: (self._used[one], len(one.steps)))
            self._used[timeline] += 1
            left = self._left()
            parts = self._row(timeline)
            if self._left() < left:
                found.append(Row(timeline, self._kind, parts))
            in_vain = 0 if self._left() < left else in_vain + 1
        return found

    def _as_guests(self, beside: Iterable[Row]) -> Iterator[Row]:
        """The rows of another kind that can be some of these, those that bring most of what is owed first. They then
        count."""
        waiting = [row for row in beside if row.parts and all(p in self._order for p, _ in row.parts)]
        while waiting:
            best = max(waiting, key=lambda row: self._brought(row.parts))
            if not self._brought(best.parts):
                return
            waiting.remove(best)
            self._count(best.parts)
            yield best

    def _brought(self, parts: Sequence[Part]) -> int:
        """How much of what is owed a row with these parts brings."""
        pairs = {frozenset({one, other}) for (one, _), (other, _) in itertools.combinations(parts, 2)}
        return sum(self._owed[part] > 0 for part in self._shown(parts)) + len(pairs & self._pairs)

    def _count(self, parts: Sequence[Part]) -> None:
        for part in self._shown(parts):
            self._owed[part] -= 1
        self._pairs -= {frozenset({one, other}) for (one, _), (other, _) in itertools.combinations(parts, 2)}

    @staticmethod
    def _shown(parts: Sequence[Part]) -> list[Part]:
        """The parts that a row counts for. A case with many elements has no twin under SINGLES, so a row with SINGLES
        counts for SINGLES alone, and for pairs."""
        return [part for part in parts if part[0] is SINGLES] or [*parts]

    def _left(self) -> int:
        """How much is owed."""
        return sum((+self._owed).values()) + len(self._pairs)

    def _row(self, timeline: Schedule) -> tuple[Part, ...]:
        """What is owed most and can meet, as far as a row has room."""
        blank, chosen = Case("", "", timeline), list[Part]()
        while best := self._best(chosen, blank):
            chosen.append(self._random.choice(best))
        self._count(chosen)
        return self._ordered(chosen)

    def _best(self, chosen: list[Part], blank: Case) -> list[Part]:
        """The parts that fit beside those chosen and bring most, if they bring anything."""
        gain = {part: self._gain(part, chosen) for part in self._owing()}
        for most in sorted({*gain.values()} - {0}, reverse=True):  # whether a part fits takes longest to tell
            if fitting := [part for part in gain if gain[part] == most and self._fits(part, chosen, blank)]:
                return fitting
        return []

    def _owing(self) -> list[Part]:
        """The parts that a row may have: of each perturbation, the level that is owed most."""
        levels = {p: max(range(p.levels), key=lambda level: (self._owed[p, level], -level)) for p in self._order}
        return list(levels.items())

    def _gain(self, part: Part, chosen: Iterable[Part]) -> int:
        """What a part brings. A row begins with a change of the timeline that plans can be beside; of plans, those that
        meet fewest others come first."""
        perturbation = part[0]
        met = sum(frozenset({perturbation, other}) in self._pairs for other, _ in chosen)
        if self._owed[part] <= 0 or (chosen and SINGLES in (perturbation, *(other for other, _ in chosen))):
            return met + (not chosen and any(perturbation in pair for pair in self._pairs))
        if perturbation in self._scarce:
            return 100 + self._scarce[perturbation]
        owed = sum(max(self._owed[perturbation, level], 0) for level in range(perturbation.levels))
        return (300 if not chosen and perturbation not in MOVING else 2 * owed) + met

    def _fits(self, part: Part, chosen: list[Part], blank: Case) -> bool:
        perturbation = part[0]
        if any(perturbation is other or not self._factors.meet(perturbation, other) for other, _ in chosen):
            return False
        plans = [other for other, _ in chosen if other in self._factors.plans]
        most = MOST_MOVING if any(p in MOVING for p, _ in [*chosen, part]) else MOST_CHANGES
        if perturbation in self._factors.plans and len(plans) >= self._factors.plans_together:
            return False
        if perturbation not in self._factors.plans and len(chosen) - len(plans) >= most:
            return False
        return self._twin(blank, self._ordered([*chosen, part])) is not None

    def _twin(self, blank: Case, parts: tuple[Part, ...]) -> Schedule | None:
        """The schedule of a blank case's twin, made of that under all parts but the last: rows begin alike."""
        if not parts:
            return blank.schedule
        name = id(blank.schedule), tuple((perturbation.id, level) for perturbation, level in parts)
        if name not in self._made:
            before = self._twin(blank, parts[:-1])
            self._made[name] = changed(blank, before, parts[-1], self._seed) if before else None
        return self._made[name]

    def _ordered(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        return tuple(sorted(parts, key=lambda part: self._order[part[0]]))

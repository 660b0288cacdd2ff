"""The suite of an engine: the rows of its design, filled with cases of all programs.

Each case as drawn runs on the base row of its timeline. In each other row of the timeline it has a twin, which may have
a change of its own beside those of the row. On an engine of programs a case costs time, so cases that would show
nothing new have no twin there. A change of a case costs no engine run: what a guarantee promises under such changes,
and no row put to the test, gets a twin on the base row.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle

from conformance.generation.design import Factors, Kind, Row, rows
from conformance.generation.timelines import RESTARTED, SUCCEEDED, Family
from conformance.judgement.evidence import ENDED_ALIKE, ReferenceTraces, puts_to_test
from conformance.model.case import Case, program_ref
from conformance.model.engine import Capabilities
from conformance.model.feature import Feature
from conformance.model.perturbation import (
    MERGE,
    PERTURBATIONS,
    REDELIVER,
    RENAME,
    REORDERINGS,
    SPLIT,
    Part,
    Perturbation,
    factors_of,
    possible,
    together,
)
from conformance.model.program import BEGUN_AGAIN, JobKind, Program
from conformance.model.scenario import Guarantee, Scenario, planned, programs_of
from conformance.model.schedule import Schedule
from conformance.support.grouping import grouped

OF_A_CASE = tuple(p for p in PERTURBATIONS if p.keeps_timeline and not p.sparse)
"""Changes of a case that cost no engine run."""

TIMELINES = 4
"""The most timelines of a family that rows change something on, on an engine that is asked everything twice; half of
them on another one. Cases of a user's own may have many more."""

KINDS = (REORDERINGS, (SPLIT, MERGE), (RENAME, REDELIVER))
"""A twin on a base row has at most one change of each kind at once: two of a kind would undo each other."""

TWICE = 2
"""How many cases put a guarantee to the test under each change of a case, if so many can."""

Goal = tuple[str, str]
"""(guarantee, perturbation) of a program, by id."""


@dataclass(frozen=True)
class Asked:
    """A program ("scenario/program") with its cases as drawn."""

    ref: str
    program: Program
    guarantees: tuple[Guarantee, ...]
    planned: bool
    bases: list[Case] = field(default_factory=list)

    def possible(self, perturbation: Perturbation) -> bool:
        return possible(self.program, perturbation)


@dataclass(frozen=True)
class Scope:
    """How much of the design an engine is asked.

    Attributes:
        every: whether an engine that takes several bundles is asked the cases of one bundle, too.
        designed: whether anything changes. If not, the cases run as they are.
        most: the most rows of programs of a kind in a family, 0 for all. They are on the shortest timeline.
        known: pairs of a program ("scenario/program") and a change of a job (id) that ends its query on the engine, as
            stored witnesses show. The program has no case in rows with that change: its fault would take the other
            programs along. What ends the queries of ENDED_ALIKE programs, or of all, is in no row.
        only: the perturbations (ids) that are asked about, () for all. Beside the base rows, no row has another one.
    """

    every: bool = False
    designed: bool = True
    most: int = 0
    known: Iterable[tuple[str, str]] = ()
    only: Iterable[str] = ()


WHOLE = Scope()


class Suite:
    """What an engine is asked in a run.

    Args:
        cases: cases as drawn, which decide on the timelines. Twins among them run as they are.
        reference: the reference that reads *late* as the engine does.

    Attributes:
        rows: the design.
        cases: all cases, those as drawn first.
        left_out: how often a program has no case in a row because of what is known.
    """

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        can: Capabilities,
        cases: Iterable[Case],
        seed: int,
        reference: ReferenceTraces,
        scope: Scope = WHOLE,
    ) -> None:
        self._can, self._seed, self._reference = can, seed, reference
        self._asked = _asked(scenarios)
        every, designed = scope.every, scope.designed
        self._every, self._known = every, frozenset(scope.known)
        # A base row alone says nothing of a perturbation.
        self._most = max(scope.most, 2) if scope.most and scope.only else scope.most
        ended = Counter(change for _, change in self._known)
        of_all = min(ENDED_ALIKE, len(self._asked))
        ending = frozenset(change for change, programs in ended.items() if programs >= of_all)
        self._factors = Factors(can, ending, frozenset(scope.only))
        self._changes = [p for p in OF_A_CASE if p in self._factors.expressible]
        mine = [case for case in cases if can.takes(case, self._asked[case.ref].program)]
        bases = [case for case in mine if not case.base]
        if not every and can.first_missing([Feature.SEVERAL_BUNDLES]) is None:
            several = {case.ref for case in bases if family_of(case.schedule) is not Family.ONE}
            bases = [c for c in bases if family_of(c.schedule) is not Family.ONE or c.ref not in several]
        for case in bases:
            self._asked[case.ref].bases.append(case)
        self.left_out = 0
        self.rows = [*self._rows(bases)] if designed else []
        if designed and not every:
            there = {(row.timeline.timeline, row.kind) for row in self.rows}
            bases = [case for case in bases if (case.schedule.timeline, self._kind(case.ref)) in there]
            for asked in self._asked.values():
                asked.bases[:] = [
                    case for case in asked.bases if (case.schedule.timeline, self._kind(asked.ref)) in there
                ]
        found = dict.fromkeys(bases)
        for asked in self._asked.values() if designed else ():
            found |= dict.fromkeys(self._twins(asked))
        # A twin that was given stands for the one that the design would make under the same changes: the two have one
        # id.
        given = {case.id: case for case in mine if case.base}
        self.cases = [*(case for case in found if case.id not in given), *given.values()]

    def of(self, row: Row) -> list[Case]:
        """The cases of a row: those that have all of its changes and no other of a job."""
        of_case = {p.id for p in OF_A_CASE}
        wanted = set(row.factors)
        bases = {case.id: case for case in self.cases if not case.base}
        return [
            case
            for case in self.cases
            if bases.get(case.base, case).schedule.timeline == row.timeline.timeline
            and {name for name in factors_of(case.perturbation) if name not in of_case} <= wanted
            and (bool(case.base) or not wanted)
            and (not wanted or wanted & set(factors_of(case.perturbation)))
        ]

    def _rows(self, bases: Iterable[Case]) -> Iterator[Row]:
        programs: dict[Schedule, set[str]] = {}
        for case in bases:
            programs.setdefault(Schedule(case.schedule.timeline), set()).add(case.ref)
        keys = any(self._asked[ref].program.keys for refs in programs.values() for ref in refs)
        made: dict[tuple[Family, Kind], list[Row]] = {}
        for family, kind in itertools.product(Family, Kind):
            mine = [
                t for t, refs in programs.items() if family_of(t) is family and any(self._kind(r) is kind for r in refs)
            ]
            # A design for all programs, one for those that are dear or few.
            each = self._can.each if kind is Kind.PLAIN and family in (Family.SEVERAL, Family.ONE) else 1
            beside = made.get((family, Kind.PLAIN), [])
            there = {row.timeline for row in beside}
            most = sorted(mine, key=lambda t: (t not in there, -sum(self._kind(ref) is kind for ref in programs[t])))
            most = most[: max(len(there & {*mine}), TIMELINES if each > 1 else TIMELINES // 2)]
            if self._most:
                most, each = sorted(most, key=lambda t: len(t.steps))[:1], 1
            found = rows([t for t in mine if t in most], family, kind, self._factors, each, self._seed, beside)
            found = made[family, kind] = found[: self._most or None]
            yield from found
            # What a case must have beside it (rivals among typed keys) is shared out to all timelines.
            if self._every or (keys and not self._most):
                yield from (Row(timeline, kind) for timeline in mine if timeline not in most)

    def _kind(self, ref: str) -> Kind:
        asked = self._asked[ref]
        program = asked.program
        job = program.job is JobKind.INITIAL_STATE or program.job in BEGUN_AGAIN
        return Kind.PLAIN if asked.planned or program.waits or job else Kind.UNPLANNED

    def _twins(self, asked: Asked) -> Iterator[Case]:
        """The twins of a program's cases in all rows, and those that its guarantees lack then."""
        met: Counter[Goal] = Counter()
        changes = [p for p in self._changes if asked.possible(p)]
        turn = cycle([None, *changes] if changes else [None])
        of_timeline = grouped((case.schedule.timeline, case) for case in asked.bases)
        tested = {base.id: self._tested(asked, base, base, asked.guarantees) for base in asked.bases}
        for row in self.rows:
            parts = self._parts(asked, row) if row.kind is self._kind(asked.ref) else ()
            known = any((asked.ref, perturbation.id) in self._known for perturbation, _ in parts)
            self.left_out += known
            if not parts or known:
                continue
            sparse = any(perturbation.sparse for perturbation, _ in parts)
            left, number = list(of_timeline.get(row.timeline.timeline, [])), 0
            while left and not (number and sparse):
                # The case that shows most of what this row promises and few cases have shown.
                gain = {b.id: _owed(asked, [g for g, _ in tested[b.id]], parts, met) for b in left}
                left.sort(key=lambda base: -gain[base.id])
                if number and not gain[left[0].id] and self._can.native_operator is None:
                    break
                base = left.pop(0)
                change = None if number % 2 == 0 or sparse else next(turn)
                twin = (change and together(base, ((change, 0), *parts), self._seed)) or together(
                    base, parts, self._seed
                )
                if twin and self._can.takes(twin, asked.program):
                    number += 1
                    met.update(self._met(asked, base, twin, met))
                    yield twin
        yield from self._lacking(asked, changes, met, tested)

    def _tested(self, asked: Asked, base: Case, case: Case, guarantees: Sequence[Guarantee]) -> frozenset[Goal]:
        return puts_to_test(asked.program, guarantees, base, case, self._reference)

    def _met(self, asked: Asked, base: Case, twin: Case, met: Mapping[Goal, int]) -> frozenset[Goal]:
        """What a twin puts to the test, without the guarantees of which nothing is owed under its changes."""
        names = factors_of(twin.perturbation)
        owed = [g for g in asked.guarantees if any(met.get((g.id, name), 0) < TWICE for name in names)]
        return self._tested(asked, base, twin, owed) if owed else frozenset()

    def _parts(self, asked: Asked, row: Row) -> tuple[Part, ...]:
        """What changes for a program in a row; () if the program has no place there."""
        plans = [self._factors.plans[p] for p, _ in row.parts if p in self._factors.plans]
        others = [part for part in row.parts if part[0] not in self._factors.plans]
        if any(not asked.possible(p) and not p.sparse for p, _ in others):
            return ()
        if asked.program.read_from_outside and not all(plan.leaves_state for plan in plans):
            return ()
        return tuple(part for part in row.parts if part not in others or asked.possible(part[0]))

    def _lacking(
        self, asked: Asked, changes: list[Perturbation], met: Counter[Goal], tested: Mapping[str, frozenset[Goal]]
    ) -> Iterator[Case]:
        """Twins on the base rows for what guarantees promise under changes of a case, and few cases have put to the
        test. ``tested``: what each case as drawn puts to the test by itself."""
        goals = {(g.id, p.id) for g in asked.guarantees for p in changes if _promises(g, p)}
        relations = {g.id for g in asked.guarantees if g.same_under}
        # Changes that a relation is about go together; a predicate is about all.
        groups = dict.fromkeys(tuple(p for p in changes if _promises(g, p)) for g in asked.guarantees)
        for base in asked.bases:
            alone = {goal for goal, _ in tested[base.id]} | relations
            for group in groups:
                tried: set[tuple[Perturbation, ...]] = set()
                while True:
                    lacking = Counter(name for goal, name in goals if goal in alone and met[goal, name] < TWICE)
                    wanted = sorted((p for p in group if lacking[p.id]), key=lambda p: -lacking[p.id])
                    chosen = [next((p for p in wanted if p in kind), None) for kind in KINDS]
                    several = tuple(p for p in changes if p in chosen)
                    parts = next((ps for ps in (several, *((p,) for p in wanted)) if ps and ps not in tried), None)
                    if parts is None:
                        break
                    tried.add(parts)
                    twin = together(base, [(p, 0) for p in parts], self._seed)
                    if not twin:
                        continue
                    found = self._met(asked, base, twin, met)
                    if any(met[goal] < TWICE for goal in found & goals):
                        met.update(found)
                        yield twin


def _owed(asked: Asked, tested: Iterable[str], parts: Iterable[Part], met: Mapping[Goal, int]) -> int:
    """How much of what a program's guarantees promise in a row a case would show that few cases have shown. ``tested``:
    the predicates that the case puts to the test by itself."""
    names = [perturbation.id for perturbation, _ in parts]
    predicates = sum(met.get((goal, name), 0) < TWICE for goal in tested for name in names)
    relations = (g for g in asked.guarantees if g.same_under)
    return predicates + sum(met.get((g.id, n), 0) < TWICE for g in relations for n in names if g.is_about(n))


def _promises(guarantee: Guarantee, perturbation: Perturbation) -> bool:
    """Whether a guarantee is to be put to the test under a perturbation."""
    if guarantee.same_under:
        return guarantee.is_about(perturbation.id)
    return not guarantee.accounting and perturbation not in guarantee.vacuous_under


def _asked(scenarios: Sequence[Scenario]) -> dict[str, Asked]:
    guarantees = grouped(
        (program_ref(scenario.id, guarantee.program), guarantee)
        for scenario in scenarios
        for guarantee in scenario.guarantees
    )
    about_plans = planned(scenarios)
    return {
        ref: Asked(ref, program, tuple(guarantees.get(ref, ())), ref in about_plans)
        for ref, program in programs_of(scenarios).items()
    }


def family_of(schedule: Schedule) -> Family:
    """The family of a schedule's timeline."""
    if schedule.waits:
        return Family.WAITING
    if schedule.timeline == RESTARTED.timeline:
        return Family.DAMAGED
    if schedule.timeline == SUCCEEDED.timeline:
        return Family.SUCCEEDED
    if any(bundle.initial for bundle in schedule.bundles):
        return Family.INITIAL
    return Family.ONE if len(schedule.bundles) == 1 else Family.SEVERAL

"""The equivalence lattice: up to which equivalence a program's output stays the same under each perturbation.

A pair of twins counts at an equivalence only if the reference, reading *late* as the engine does, keeps the same pair
alike at that equivalence. The observed equivalences are the strongest ones at which every pair counted and none was
refuted. Equivalences at which only some pairs counted are recorded separately.

A stability is an observation, and has no verdict: a refutation is not run again alone. What a program promises is a
guarantee (``scenario.promises``), whose cells have verdicts and witnesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from conformance.judgement.evidence import ReferenceTraces, Runs, Traces
from conformance.model.case import Case, program_ref
from conformance.model.engine import EngineInfo, program_needs
from conformance.model.equivalence import Equivalence, alike, grades, maximal
from conformance.model.feature import Feature
from conformance.model.perturbation import PERTURBATIONS, factors_of
from conformance.model.program import Program
from conformance.model.scenario import Scenario, programs_of
from conformance.model.trace import Trace
from conformance.model.values import Json
from conformance.support.plain import Plain

Pair = tuple[Case, Case]
"""A case and its twin."""


@dataclass(frozen=True)
class StabilityGrade(Plain):
    """One equivalence: how many pairs counted, how many did not count, and how many of the counted pairs were not
    alike."""

    equivalence: Equivalence
    counted: int
    inapplicable: int
    refuted: int
    smallest: Pair | None = None

    def plus(self, other: StabilityGrade) -> StabilityGrade:
        pairs = [grade.smallest for grade in (self, other) if grade.smallest]
        return StabilityGrade(
            self.equivalence,
            self.counted + other.counted,
            self.inapplicable + other.inapplicable,
            self.refuted + other.refuted,
            min(pairs, key=lambda pair: pair[1].size, default=None),
        )


@dataclass(frozen=True)
class Stability(Plain):
    """The stability of one program under one perturbation on one engine.

    If the engine cannot be asked, ``unsupported`` says why there are no pairs. ``traces`` holds the traces of the
    smallest refuting pairs, by case id.
    """

    scenario: str
    program: str
    perturbation: str
    engine: str
    promised: Equivalence | None
    pairs: int = 0
    grades: tuple[StabilityGrade, ...] = ()
    unsupported: str = ""
    traces: dict[str, Trace] = field(default_factory=dict)

    @property
    def place(self) -> tuple[str, str, str]:
        return self.scenario, self.program, self.perturbation

    def with_grades(self, found: Iterable[StabilityGrade], traces: Traces) -> Stability:
        """A copy with these grades. Grades of the same equivalence are added up. ``traces`` keeps only the traces of
        the smallest pairs."""
        added: dict[Equivalence, StabilityGrade] = {}
        for grade in found:
            added[grade.equivalence] = added[grade.equivalence].plus(grade) if grade.equivalence in added else grade
        graded = tuple(added[how] for how in Equivalence if how in added)
        shown = {case.id: traces[case.id] for g in graded if g.smallest for case in g.smallest}
        # A pair under several perturbations counts for the equivalences that it keeps alone.
        pairs = max((grade.counted + grade.inapplicable for grade in graded), default=0)
        return replace(self, pairs=pairs, grades=graded, traces=shown)

    def __add__(self, other: Stability) -> Stability:
        """The stability over the pairs of both."""
        return self.with_grades([*self.grades, *other.grades], {**self.traces, **other.traces})

    @property
    def observed(self) -> list[Equivalence]:
        """The strongest equivalences that every pair tested and no pair refuted."""
        return maximal(g.equivalence for g in self.grades if g.counted and not g.refuted and not g.inapplicable)

    @property
    def refuting(self) -> int:
        """Number of pairs that were not alike up to what the program promises."""
        return sum(grade.refuted for grade in self.grades if grade.equivalence is self.promised)

    def to_json(self) -> Json:
        """An object as ``results.schema.json`` describes it, with ``observed`` for readers who have only the file."""
        return super().to_json() | {"observed": [e.value for e in self.observed]}


def survey(
    scenarios: Iterable[Scenario], cases: Iterable[Case], runs: Runs, engine: EngineInfo, reference: ReferenceTraces
) -> Iterator[Stability]:
    """The stability of every program under every perturbation on one engine."""
    scenarios = list(scenarios)
    by_id = {case.id: case for case in cases}
    pairs: dict[tuple[str, str, str], list[Pair]] = {}
    for case in by_id.values():
        answered = all(m in runs.traces and not runs.traces[m].error for m in (case.id, case.base))
        if case.base and answered and case.id not in runs.untouched:
            for name in factors_of(case.perturbation):
                pairs.setdefault((case.scenario, case.program, name), []).append((by_id[case.base], case))
    programs = programs_of(scenarios)
    for empty in twins_asked(scenarios, engine):
        if empty.unsupported:
            yield empty
            continue
        mine = pairs.get(empty.place, [])
        specified = reference([case for pair in mine for case in pair])
        program = programs[program_ref(empty.scenario, empty.program)]
        yield empty.with_grades(_grades(program, mine, runs.traces, specified), runs.traces)


def twins_asked(scenarios: Iterable[Scenario], engine: EngineInfo) -> Iterator[Stability]:
    """Each program and perturbation that an engine is asked about, in a fixed order, without pairs; and those that the
    engine cannot be asked about."""
    can = engine.capabilities
    for scenario in scenarios:
        for name, program in scenario.programs.items():
            if not can.runs(program_ref(scenario.id, name)):
                continue
            for perturbation in PERTURBATIONS:
                promised = scenario.stable_under.get(name, {}).get(perturbation.id)
                missing = can.first_missing(perturbation.needs | _program_needs(engine, program))
                why = engine.lacks or (can.why_not(missing) if missing else "")
                yield Stability(scenario.id, name, perturbation.id, engine.id, promised, unsupported=why)


def _program_needs(engine: EngineInfo, program: Program) -> frozenset[Feature]:
    return frozenset() if engine.capabilities.native_operator else program_needs(program)


def _grades(program: Program, pairs: list[Pair], traces: Traces, specified: Traces) -> tuple[StabilityGrade, ...]:
    def held(found: Traces) -> list[frozenset[Equivalence]]:
        return [
            alike(program, (base.schedule, found[base.id]), (twin.schedule, found[twin.id])) for base, twin in pairs
        ]

    by_engine, by_reference = held(traces), held(specified)
    single = [len(factors_of(twin.perturbation)) == 1 for _, twin in pairs]
    graded = []
    for how in grades(program):
        # A pair under several perturbations speaks for each of them where it is alike, and against none where it is
        # not.
        counting = [n for n, kept in enumerate(by_reference) if how in kept and (single[n] or how in by_engine[n])]
        refuting = [pairs[number] for number in counting if how not in by_engine[number]]
        smallest = min(refuting, key=lambda pair: pair[1].size, default=None)
        inapplicable = sum(single[n] and how not in kept for n, kept in enumerate(by_reference))
        graded.append(StabilityGrade(how, len(counting), inapplicable, len(refuting), smallest))
    return tuple(graded)

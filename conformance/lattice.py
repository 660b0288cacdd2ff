"""The equivalence lattice: under which perturbation does a program's output stay the same, and up to what?

A pair of twins counts at an equivalence only if the reference, reading *late* as the engine does, keeps that very pair
alike at it. What was observed are the strongest equivalences at which every pair counted and none was refuted; grades
where only some pairs counted are kept beside it. Unlike a violated cell, a refutation is not run again alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from conformance.checking import Reference, Runs, Traces
from conformance.engine import EngineInfo, Feature, program_needs
from conformance.equivalence import Equivalence, alike, grades, maximal
from conformance.guarantees import Scenario, programs_of
from conformance.model import Case, Json, Trace, program_ref
from conformance.perturbation import PERTURBATIONS
from conformance.program import Program

Pair = tuple[Case, Case]
"""A case and its twin."""


@dataclass(frozen=True)
class Grade:
    """One equivalence: how many pairs counted, how many did not, and how many of the former were not alike."""

    equivalence: Equivalence
    counted: int
    inapplicable: int
    refuted: int
    smallest: Pair | None = None

    def plus(self, other: Grade) -> Grade:
        pairs = [grade.smallest for grade in (self, other) if grade.smallest]
        return Grade(
            self.equivalence,
            self.counted + other.counted,
            self.inapplicable + other.inapplicable,
            self.refuted + other.refuted,
            min(pairs, key=lambda pair: pair[1].size, default=None),
        )


@dataclass(frozen=True)
class Survival:
    """What is known of one program under one perturbation on one engine.

    ``unsupported`` says why there are no pairs, where the engine cannot be asked; ``traces`` are those of the smallest
    refuting pairs, by case id.
    """

    scenario: str
    program: str
    perturbation: str
    engine: str
    promised: Equivalence | None
    pairs: int = 0
    grades: tuple[Grade, ...] = ()
    unsupported: str = ""
    traces: dict[str, Trace] = field(default_factory=dict)

    @property
    def place(self) -> tuple[str, str, str]:
        return self.scenario, self.program, self.perturbation

    def with_grades(self, found: Iterable[Grade], traces: Traces) -> Survival:
        """The same with these grades, those of one equivalence added up; ``traces`` has those of their smallest pairs."""
        added: dict[Equivalence, Grade] = {}
        for grade in found:
            added[grade.equivalence] = added[grade.equivalence].plus(grade) if grade.equivalence in added else grade
        graded = tuple(added[how] for how in Equivalence if how in added)
        shown = {case.id: traces[case.id] for g in graded if g.smallest for case in g.smallest}
        pairs = graded[0].counted + graded[0].inapplicable if graded else 0
        return replace(self, pairs=pairs, grades=graded, traces=shown)

    @property
    def observed(self) -> list[Equivalence]:
        """The strongest equivalences that every pair put to the test and none refuted."""
        return maximal(g.equivalence for g in self.grades if g.counted and not g.refuted and not g.inapplicable)

    def to_json(self) -> Json:
        def pair(grade: Grade) -> Json:
            if not grade.smallest:
                return None
            base, twin = grade.smallest
            return {
                "base": base.schedule.to_json(),
                "twin": twin.schedule.to_json(),
                "base_seen": self.traces[base.id].to_json(),
                "twin_seen": self.traces[twin.id].to_json(),
            }

        return {
            "scenario": self.scenario,
            "program": self.program,
            "perturbation": self.perturbation,
            "engine": self.engine,
            "promised": self.promised.value if self.promised else "",
            "observed": [e.value for e in self.observed],
            "pairs": self.pairs,
            "unsupported": self.unsupported,
            "grades": [
                {
                    "equivalence": g.equivalence.value,
                    "counted": g.counted,
                    "inapplicable": g.inapplicable,
                    "refuted": g.refuted,
                    "smallest": pair(g),
                }
                for g in self.grades
            ],
        }


def survey(
    scenarios: Iterable[Scenario], cases: Iterable[Case], runs: Runs, engine: EngineInfo, reference: Reference
) -> Iterator[Survival]:
    """The survival of every program under every perturbation on one engine."""
    scenarios = list(scenarios)
    by_id = {case.id: case for case in cases}
    pairs: dict[tuple[str, str, str], list[Pair]] = {}
    for case in by_id.values():
        answered = all(m in runs.traces and not runs.traces[m].error for m in (case.id, case.base))
        judged = case.base and answered and case.id not in runs.untouched
        if judged:
            found = pairs.setdefault((case.scenario, case.program, case.perturbation), [])
            found.append((by_id[case.base], case))
    programs = programs_of(scenarios)
    for empty in asked(scenarios, engine):
        if empty.unsupported:
            yield empty
            continue
        mine = pairs.get(empty.place, [])
        specified = reference([case for pair in mine for case in pair])
        program = programs[program_ref(empty.scenario, empty.program)]
        yield empty.with_grades(_grades(program, mine, runs.traces, specified), runs.traces)


def asked(scenarios: Iterable[Scenario], engine: EngineInfo) -> Iterator[Survival]:
    """What an engine is asked for, in a fixed order, without any pairs yet; and what it cannot be asked for."""
    can = engine.capabilities
    for scenario in scenarios:
        for name, program in scenario.programs.items():
            if not can.runs(program_ref(scenario.id, name)):
                continue
            for perturbation in PERTURBATIONS:
                promised = scenario.survives.get(name, {}).get(perturbation.id)
                missing = can.first_missing(perturbation.needs | _program_needs(engine, program))
                why = engine.lacks or (can.why_not(missing) if missing else "")
                yield Survival(scenario.id, name, perturbation.id, engine.id, promised, unsupported=why)


def _program_needs(engine: EngineInfo, program: Program) -> frozenset[Feature]:
    return frozenset() if engine.capabilities.idiom else program_needs(program)


def _grades(program: Program, pairs: list[Pair], traces: Traces, specified: Traces) -> tuple[Grade, ...]:
    def held(found: Traces) -> list[frozenset[Equivalence]]:
        return [
            alike(program, (base.schedule, found[base.id]), (twin.schedule, found[twin.id])) for base, twin in pairs
        ]

    by_engine, by_reference = held(traces), held(specified)
    graded = []
    for how in grades(program):
        counting = [number for number, kept in enumerate(by_reference) if how in kept]
        refuting = [pairs[number] for number in counting if how not in by_engine[number]]
        smallest = min(refuting, key=lambda pair: pair[1].size, default=None)
        graded.append(Grade(how, len(counting), len(pairs) - len(counting), len(refuting), smallest))
    return tuple(graded)

"""The equivalence lattice: under which perturbation does a program's output stay the same, and up to what?

A pair of twins counts at an equivalence only if the reference, reading *late* as the engine does, keeps that very pair
alike at it. What was observed are the strongest equivalences at which every pair counted and none was refuted; grades
where only some pairs counted are kept beside it. Unlike a violated cell, a refutation is not run again alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from conformance.checking import Reference, Runs, Traces
from conformance.engine import EngineInfo, Feature, program_needs
from conformance.equivalence import Equivalence, alike, grades, maximal
from conformance.guarantees import Scenario
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
    pairs: int
    grades: tuple[Grade, ...]
    unsupported: str = ""
    traces: dict[str, Trace] = field(default_factory=dict)

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
    by_id = {case.id: case for case in cases}
    pairs: dict[tuple[str, str, str], list[Pair]] = {}
    for case in by_id.values():
        answered = all(m in runs.traces and not runs.traces[m].error for m in (case.id, case.base))
        judged = case.base and answered and case.id not in runs.untouched
        if judged:
            found = pairs.setdefault((case.scenario, case.program, case.perturbation), [])
            found.append((by_id[case.base], case))
    for scenario in scenarios:
        for name, program in scenario.programs.items():
            if not engine.capabilities.runs(program_ref(scenario.id, name)):
                continue
            for perturbation in PERTURBATIONS:
                mine = pairs.get((scenario.id, name, perturbation.id), [])
                promised = scenario.survives.get(name, {}).get(perturbation.id)
                known: dict[str, Any] = {"scenario": scenario.id, "program": name, "perturbation": perturbation.id}
                missing = engine.capabilities.first_missing(perturbation.needs | _program_needs(engine, program))
                if missing:
                    reason = engine.capabilities.why_not(missing)
                    yield Survival(**known, engine=engine.id, promised=promised, pairs=0, grades=(), unsupported=reason)
                    continue
                specified = reference([case for pair in mine for case in pair])
                graded = _grades(program, mine, runs.traces, specified)
                shown = {case.id: runs.traces[case.id] for g in graded if g.smallest for case in g.smallest}
                yield Survival(
                    **known, engine=engine.id, promised=promised, pairs=len(mine), grades=graded, traces=shown
                )


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

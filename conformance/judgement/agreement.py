"""Agreement: up to which equivalence two engines, or an engine and the reference, give the same output on the same
schedules.

A difference accuses neither side. An engine is compared with the reference that reads *late* as the engine does. Two
engines that read *late* differently may differ on every case with an element that is not on time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from conformance.judgement.evidence import ReferenceTraces, Traces
from conformance.model.case import Case
from conformance.model.equivalence import Equivalence, alike, grades, maximal
from conformance.model.program import Program
from conformance.model.scenario import Scenario, programs_of
from conformance.model.trace import Trace
from conformance.model.values import Json
from conformance.support.grouping import grouped
from conformance.support.plain import Plain

REFERENCE = "reference"
"""This engine is not compared with itself."""


def specified_for(engine: str) -> str:
    """The name of the reference that reads *late* as this engine does."""
    return f"{REFERENCE}, late as {engine}"


@dataclass(frozen=True)
class AgreementGrade(Plain):
    """One equivalence, with the number of cases on which the two sides are alike, and the number on which they are
    not."""

    equivalence: Equivalence
    agree: int
    differ: int


@dataclass(frozen=True)
class Difference(Plain):
    """A case on which the two sides are not alike, with the trace of each side."""

    case: Case
    left: Trace
    right: Trace

    @property
    def rank(self) -> tuple[object, ...]:
        return _rank(self.case)


@dataclass(frozen=True)
class Agreement(Plain):
    """How far two sides agree on one program.

    Attributes:
        left: an engine.
        right: another, or the reference (see ``specified_for``).
        cases: number of cases as drawn that both sides answered.
        not_on_time: number of cases with different output that have an element that is not on time under every reading
            of *late*.
        smallest: the smallest case that refutes the strongest refuted equivalence. A case whose elements are all on
            time comes first, because two engines may read *late* differently.
    """

    scenario: str
    program: str
    left: str
    right: str
    cases: int
    grades: tuple[AgreementGrade, ...]
    not_on_time: int = 0
    smallest: Difference | None = None

    @property
    def agreed(self) -> list[Equivalence]:
        """The strongest equivalences at which all cases agree."""
        return maximal(g.equivalence for g in self.grades if self.cases and not g.differ)

    @property
    def differing(self) -> int:
        """Number of cases on which the two sides are not identical."""
        return max((grade.differ for grade in self.grades), default=0)

    @property
    def with_reference(self) -> bool:
        """Whether ``right`` is the reference that reads *late* as ``left`` does. If not, ``right`` is another
        engine."""
        return self.right == specified_for(self.left)

    def renamed(self, names: Mapping[str, str]) -> Agreement:
        """The agreement with engines renamed by ``names``. An engine that ``names`` lacks keeps its name."""
        left = names.get(self.left, self.left)
        right = specified_for(left) if self.with_reference else names.get(self.right, self.right)
        return replace(self, left=left, right=right)

    @property
    def place(self) -> tuple[str, str, str, str]:
        return self.scenario, self.program, self.left, self.right

    def plus(self, other: Agreement) -> Agreement:
        """The sum of this agreement and one over other cases."""
        both = zip(self.grades, other.grades, strict=True)
        added = tuple(AgreementGrade(a.equivalence, a.agree + b.agree, a.differ + b.differ) for a, b in both)
        parts = [part for part in (self, other) if part.smallest]
        refuted = next((grade.equivalence for grade in added if grade.differ), None)
        strongest = [p for p in parts if any(g.equivalence is refuted and g.differ for g in p.grades)]
        smallest = min((p.smallest for p in strongest if p.smallest), key=lambda found: found.rank, default=None)
        return replace(
            self,
            cases=self.cases + other.cases,
            grades=added,
            not_on_time=sum(part.not_on_time for part in strongest),
            smallest=smallest,
        )

    def to_json(self) -> Json:
        """An object as ``results.schema.json`` describes it, with ``agreed`` for readers who have only the file."""
        return super().to_json() | {"agreed": [e.value for e in self.agreed]}


Pair = tuple[str, str]
"""Two engines, or an engine and ``specified_for`` it."""


def pairs_of(engines: Iterable[str]) -> list[Pair]:
    """Each pair of engines in the given order, then each engine and the reference."""
    engines = list(engines)
    return [
        *itertools.combinations(engines, 2),
        *((engine, specified_for(engine)) for engine in engines if engine != REFERENCE),
    ]


def agreements(
    scenarios: Iterable[Scenario],
    cases: Iterable[Case],
    traces_by_engine: Mapping[str, Traces],
    references: Mapping[str, ReferenceTraces],
    stops: frozenset[str] = frozenset(),
) -> list[Agreement]:
    """For every program: the agreement of each of ``pairs_of`` the engines.

    Args:
        cases: those as drawn of the scenarios are compared, others are left out.
        traces_by_engine: the traces of each engine, by case id; a trace that ends in an error is left out.
        references: for each engine, the reference that reads *late* as it does.
        stops: engines for which a trace that ends in an error is an answer, because a user's operator stopped.
    """
    scenarios = list(scenarios)
    asked = programs_of(scenarios)
    drawn = [case for case in cases if case.ref in asked and not case.perturbation]
    shared = _Shared()
    answered = {engine: shared(_answers(drawn, traces, engine in stops)) for engine, traces in traces_by_engine.items()}
    sides = []
    for one, two in pairs_of(answered):
        if two == specified_for(one):
            specified = references[one]([case for case in drawn if case.id in answered[one]])
            sides.append(((one, answered[one]), (two, shared(_answers(drawn, specified)))))
        else:
            sides.append(((one, answered[one]), (two, answered[two])))
    by_program = grouped(((case.scenario, case.program), case) for case in drawn)
    return [
        agreement(scenario, name, by_program.get((scenario.id, name), []), left, right)
        for scenario in scenarios
        for name in scenario.programs
        for left, right in sides
    ]


class _Shared:
    """Gives engines with one trace of a case one object for it, so that what is found of two traces is found once,
    whatever the engines."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Trace] = {}

    def __call__(self, traces: Traces) -> Traces:
        known = self._known
        return {c: known.setdefault((c, text), t) if (text := t.spelling) else t for c, t in traces.items()}


def _answers(cases: Iterable[Case], traces: Traces, stops: bool = False) -> Traces:
    return {c.id: traces[c.id] for c in cases if c.id in traces and (stops or not traces[c.id].error)}


Side = tuple[str, Traces]
"""One of the two sides that are compared: its name and its traces."""


def agreement(scenario: Scenario, name: str, cases: Iterable[Case], one: Side, two: Side) -> Agreement:
    """The agreement of two sides on these cases of a program."""
    program = scenario.programs[name]
    (left, seen), (right, also_seen) = one, two
    both = [case for case in cases if case.id in seen and case.id in also_seen]
    held = [_alike(program, case, seen[case.id], also_seen[case.id]) for case in both]
    differing = {
        how: [case for case, kept in zip(both, held, strict=True) if how not in kept] for how in grades(program)
    }
    refuting = next(filter(None, differing.values()), [])
    case = min(refuting, key=_rank, default=None)
    return Agreement(
        scenario=scenario.id,
        program=name,
        left=left,
        right=right,
        cases=len(both),
        grades=tuple(AgreementGrade(how, len(both) - len(against), len(against)) for how, against in differing.items()),
        not_on_time=sum(not _on_time(case) for case in refuting),
        smallest=Difference(case, seen[case.id], also_seen[case.id]) if case else None,
    )


def _rank(case: Case) -> tuple[object, ...]:
    """The sort key for display."""
    return not _on_time(case), case.size


def _on_time(case: Case) -> bool:
    return all(arrival.on_time for arrival in case.schedule.arrivals)


def _alike(program: Program, case: Case, left: Trace, right: Trace) -> frozenset[Equivalence]:
    if left.spelled_as(right) or left.judged == right.judged:  # most values are equal: do not format each one again
        return frozenset(grades(program))
    return alike(program, (case.schedule, left), (case.schedule, right))

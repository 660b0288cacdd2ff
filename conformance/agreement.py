"""Agreement: the same schedules on two engines, and on an engine and the reference; up to what do they say the same?

That two differ accuses neither. An engine is compared with the reference that reads *late* as the engine does; two
engines that read it differently may differ on every case that has an element that is not on time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from conformance.checking import Reference, Traces
from conformance.equivalence import Equivalence, alike, grades, maximal
from conformance.guarantees import Scenario
from conformance.model import Case, Json, Trace
from conformance.program import Program

REFERENCE = "reference"
"""The engine that is not compared with itself."""


def specified_for(engine: str) -> str:
    """How the reference is called that reads *late* as an engine does."""
    return f"{REFERENCE}, late as {engine}"


@dataclass(frozen=True)
class Grade:
    """One equivalence: on how many cases two are alike, and on how many not."""

    equivalence: Equivalence
    agree: int
    differ: int


@dataclass(frozen=True)
class Difference:
    """A case on which two are not alike, and what each gave."""

    case: Case
    left: Trace
    right: Trace

    @property
    def rank(self) -> tuple[object, ...]:
        return _rank(self.case)

    def to_json(self) -> Json:
        return {
            "schedule": self.case.schedule.to_json(),
            "left_seen": self.left.to_json(),
            "right_seen": self.right.to_json(),
        }


@dataclass(frozen=True)
class Agreement:
    """How far two agree on one program.

    Attributes:
        left: an engine.
        right: another, or the reference (see ``specified_for``).
        cases: how many cases as drawn both answered.
        not_on_time: how many of the cases that are not identical have an element that is not on time under every
            reading of the word.
        smallest: the smallest case that refutes the strongest of the refuted equivalences, of those whose elements are all
            on time if there are any: two engines may read *late* differently.
    """

    scenario: str
    program: str
    left: str
    right: str
    cases: int
    grades: tuple[Grade, ...]
    not_on_time: int = 0
    smallest: Difference | None = None

    @property
    def agreed(self) -> list[Equivalence]:
        """The strongest equivalences at which every case agrees."""
        return maximal(g.equivalence for g in self.grades if self.cases and not g.differ)

    @property
    def place(self) -> tuple[str, str, str, str]:
        return self.scenario, self.program, self.left, self.right

    def plus(self, other: Agreement) -> Agreement:
        """With that of other cases."""
        both = zip(self.grades, other.grades, strict=True)
        added = tuple(Grade(a.equivalence, a.agree + b.agree, a.differ + b.differ) for a, b in both)
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
        return {
            "scenario": self.scenario,
            "program": self.program,
            "left": self.left,
            "right": self.right,
            "cases": self.cases,
            "agreed": [e.value for e in self.agreed],
            "not_on_time": self.not_on_time,
            "grades": [{"equivalence": g.equivalence.value, "agree": g.agree, "differ": g.differ} for g in self.grades],
            "smallest": self.smallest.to_json() if self.smallest else None,
        }


def agreements(
    scenarios: Iterable[Scenario],
    cases: Iterable[Case],
    traces_by_engine: Mapping[str, Traces],
    references: Mapping[str, Reference],
    stops: frozenset[str] = frozenset(),
) -> list[Agreement]:
    """For every program: each two engines in the order given, then each engine and the reference.

    Args:
        cases: of all programs; only those as drawn are compared.
        traces_by_engine: what each engine answered, by case id; a trace that ends in an error is left out.
        references: for each engine, the reference that reads *late* as it does.
        stops: engines for which a trace that ends in an error is an answer: what stopped is a user's operator.
    """
    drawn = [case for case in cases if not case.perturbation]
    answered = {engine: _answers(drawn, traces, engine in stops) for engine, traces in traces_by_engine.items()}
    sides = [((one, answered[one]), (two, answered[two])) for one, two in itertools.combinations(answered, 2)]
    for engine, traces in answered.items():
        if engine != REFERENCE:
            specified = references[engine]([case for case in drawn if case.id in traces])
            sides.append(((engine, traces), (specified_for(engine), _answers(drawn, specified))))
    by_program: dict[tuple[str, str], list[Case]] = {}
    for case in drawn:
        by_program.setdefault((case.scenario, case.program), []).append(case)
    return [
        agreement(scenario, name, by_program.get((scenario.id, name), []), left, right)
        for scenario in scenarios
        for name in scenario.programs
        for left, right in sides
    ]


def _answers(cases: Iterable[Case], traces: Traces, stops: bool = False) -> Traces:
    return {c.id: traces[c.id] for c in cases if c.id in traces and (stops or not traces[c.id].error)}


Side = tuple[str, Traces]
"""One of two that are compared: its name, and what it answered."""


def agreement(scenario: Scenario, name: str, cases: Iterable[Case], one: Side, two: Side) -> Agreement:
    """That of two sides on these cases of a program."""
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
        grades=tuple(Grade(how, len(both) - len(against), len(against)) for how, against in differing.items()),
        not_on_time=sum(not _on_time(case) for case in refuting),
        smallest=Difference(case, seen[case.id], also_seen[case.id]) if case else None,
    )


def _rank(case: Case) -> tuple[object, ...]:
    """What is shown first."""
    return not _on_time(case), case.size


def _on_time(case: Case) -> bool:
    return all(arrival.on_time for arrival in case.schedule.arrivals)


def _alike(program: Program, case: Case, left: Trace, right: Trace) -> frozenset[Equivalence]:
    if left.judged == right.judged:  # most are: do not spell every value anew
        return frozenset(grades(program))
    return alike(program, (case.schedule, left), (case.schedule, right))

"""Selects what to confirm: sorts the violations of an engine into kinds of failure, with one reduction target for each
kind."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from conformance.confirmation.owed import Kind
from conformance.confirmation.reduction import Subject, Target, simplicity
from conformance.judgement.cell import AS_DRAWN, MatrixCell
from conformance.judgement.evidence import Against, ReferenceTraces, Runs, Unjudgeable, error_of, speaks_against
from conformance.model.case import Case, program_ref
from conformance.model.engine import schedule_needs
from conformance.model.feature import Feature
from conformance.model.perturbation import RARE
from conformance.model.plan import PlanTwin
from conformance.model.program import Program
from conformance.model.scenario import Guarantee, Scenario, programs_of
from conformance.model.trace import Trace
from conformance.results.witness import Witness


@dataclass(frozen=True)
class Violation:
    """A violated cell with the cases against it, smallest first. There are no cases if only a stored witness speaks
    against the cell."""

    cell: MatrixCell
    guarantee: Guarantee
    against: tuple[Against, ...]


def kind_of(witness: Witness) -> Kind:
    """The kind of failure that a witness shows."""
    return Kind((witness.case.scenario, witness.guarantee, witness.case.perturbation))


def special(case: Case) -> frozenset[Feature]:
    """The features that a twin asks of an engine beyond bundles and a watermark. A case as drawn asks for what its
    program needs."""
    return schedule_needs(case.schedule) & RARE if case.base else frozenset()


class Targets:
    """Chooses what to reduce.

    Args:
        reference: the reference engine, reading lateness as the engine under judgement does.
        plans: those of the engine under judgement.
    """

    def __init__(
        self, scenarios: Iterable[Scenario], reference: ReferenceTraces, plans: Iterable[PlanTwin] = ()
    ) -> None:
        scenarios = list(scenarios)
        self._reference = reference
        self._plans = {plan.id: plan for plan in plans}
        self._programs: Mapping[str, Program] = programs_of(scenarios)
        self._domains = {program_ref(s.id, name): domain for s in scenarios for name, domain in s.domain.items()}

    def kinds(self, violations: list[Violation], runs: Runs, cases: Mapping[str, Case]) -> list[Kind]:
        """The kind of each violation. A kind names a perturbation only if no case fails without it."""
        drawn = {v.cell.row for v in violations if v.cell.perturbation == AS_DRAWN}
        return [Kind((*v.cell.row, "")) if v.cell.row in drawn else self._kind(v, runs, cases) for v in violations]

    def _kind(self, violation: Violation, runs: Runs, cases: Mapping[str, Case]) -> Kind:
        cell, guarantee = violation.cell, violation.guarantee
        if not violation.against:
            return Kind((cell.scenario, cell.guarantee, cell.perturbation.removeprefix(AS_DRAWN)))
        if guarantee.same_under:
            return Kind((cell.scenario, cell.guarantee, cell.perturbation))
        plain = guarantee.accounting or any(self._is_plain(a.case, guarantee, runs, cases) for a in violation.against)
        return Kind((cell.scenario, cell.guarantee, "" if plain else cell.perturbation))

    def of(
        self, violations: Iterable[tuple[Violation, Kind]], cases: Mapping[str, Case], runs: Runs
    ) -> dict[Kind, Target]:
        """A target for each kind of failure. ``cases``, by id, hold those that failing cases are twins of."""
        return {kind: self._target(*choices) for kind, choices in _choices(violations, cases, runs).items()}

    def within(self, begun: Subject) -> Callable[[Subject], bool]:
        """Whether a simplified subject stays in the domain of the original subject: a case whose elements are all on
        time must not turn into a case with late elements. Nor may a plan be asked of a case that it has no twin of."""
        domain = self._domains[begun.case.ref]
        inside = all(case in domain for case in begun.cases)
        plans = [self._plans[part] for part in begun.case.schedule.plans if part in self._plans]

        def stays(subject: Subject) -> bool:
            base = subject.base
            planned = base is None or all(plan.takes(base.schedule) for plan in plans)
            return planned and (not inside or all(case in domain for case in subject.cases))

        return stays

    def _target(self, guarantee: Guarantee, subjects: list[Subject]) -> Target:
        case = subjects[0].case
        ref = case.ref
        program = self._programs[ref]
        within = self.within(subjects[0])

        def fails(subject: Subject, traces: Mapping[str, Trace]) -> bool:
            if not within(subject):
                return False
            if subject.base and not guarantee.same_under and self._fails(guarantee, Subject(subject.base), traces):
                return False
            return self._fails(guarantee, subject, traces)

        domain = self._domains[ref]
        simpler = domain.language.simpler if domain.language else lambda value: ()
        return Target(program, guarantee, subjects[0], fails, domain.values[0], simpler)

    def _is_plain(self, case: Case, guarantee: Guarantee, runs: Runs, cases: Mapping[str, Case]) -> bool:
        """Whether a case also fails without the features that its perturbation asks of the engine."""
        if not special(case):
            return True
        base = cases[case.base]
        return base.id in runs.traces and self._fails(guarantee, Subject(base), runs.traces)

    def _fails(self, guarantee: Guarantee, subject: Subject, traces: Mapping[str, Trace]) -> bool:
        case = subject.case
        with suppress(Unjudgeable):
            program = self._programs[case.ref]
            return bool(speaks_against(program, guarantee, subject.base, case, traces, self._reference))
        return False


def _choices(
    violations: Iterable[tuple[Violation, Kind]], cases: Mapping[str, Case], runs: Runs
) -> dict[Kind, tuple[Guarantee, list[Subject]]]:
    """The candidate cases for each kind of failure, on as few timelines as possible. A case that ends with an error
    does so for many guarantees, and runs alone for all of them."""
    found: dict[Kind, tuple[Guarantee, list[Subject]]] = {}
    for violation, kind in violations:
        _, subjects = found.setdefault(kind, (violation.guarantee, []))
        for against in violation.against:
            if kind[2]:
                subjects.append(Subject(against.case, cases[against.case.base]))
            elif violation.guarantee.accounting or not special(against.case):
                subjects.append(Subject(replace(against.case, perturbation="", base="")))
    timelines: Counter[object] = Counter()
    ended: Counter[str] = Counter()
    for _, subjects in found.values():
        timelines.update({subject.case.schedule.timeline for subject in subjects})
        ended.update({subject.case.id for subject in subjects if error_of(subject.case, runs.traces)})
    for _, subjects in found.values():
        most = max(timelines[subject.case.schedule.timeline] for subject in subjects)
        subjects.sort(key=lambda s: (timelines[s.case.schedule.timeline] < most, -ended[s.case.id], simplicity(s.case)))
    return found

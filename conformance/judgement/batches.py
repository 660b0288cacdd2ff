"""Checks one batch of cases, and merges the results of many batches.

``check`` does the whole check of cases and traces. ``check`` runs in this process or, over tables, in the executors of
a Spark job. A ``Judgement`` adds up the results of batches, and its size does not grow with the number of cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

from conformance.judgement.cell import AS_DRAWN, MatrixCell
from conformance.judgement.evidence import (
    Against,
    Evidence,
    ReferenceTraces,
    Runs,
    Tally,
    Traces,
    gather,
    perturbations_of,
)
from conformance.judgement.stability import Stability, survey, twins_asked
from conformance.judgement.verdict import conclude, not_expressible
from conformance.model.case import Case, program_ref
from conformance.model.engine import EngineInfo
from conformance.model.perturbation import AND, BY_ID, Perturbation, factors_of, parts_of, possible
from conformance.model.plan import titled
from conformance.model.scenario import Guarantee, Scenario
from conformance.support.grouping import grouped


def cells_asked(
    scenarios: Iterable[Scenario], engine: EngineInfo
) -> Iterator[tuple[Scenario, Guarantee, Perturbation | None]]:
    """Every cell that an engine is asked for, in a fixed order. A relation is asked under each of its perturbations.
    Any other guarantee is asked under each perturbation that its program can have twins of, if these leave it an
    occasion."""
    unread = {plan.perturbation for plan in engine.capabilities.plans if not plan.leaves_state}
    for scenario in scenarios:
        for guarantee in scenario.guarantees:
            if not engine.capabilities.runs(program_ref(scenario.id, guarantee.program)):
                continue
            program = scenario.programs[guarantee.program]
            for perturbation in perturbations_of(guarantee, engine.capabilities.plans):
                if perturbation and not possible(program, perturbation):
                    continue
                if perturbation in guarantee.vacuous_under or (program.read_from_outside and perturbation in unread):
                    continue
                yield scenario, guarantee, perturbation


def evidences(
    scenarios: Iterable[Scenario], cases: Iterable[Case], runs: Runs, engine: EngineInfo, reference: ReferenceTraces
) -> Iterator[tuple[Scenario, Guarantee, Perturbation | None, Evidence]]:
    """The evidence for every cell that an engine can be asked for."""
    by_program = grouped(((case.scenario, case.program), case) for case in {case.id: case for case in cases}.values())
    for scenario in scenarios:
        for guarantee, asked in groupby(cells_asked([scenario], engine), key=lambda cell: cell[1]):
            under = [p for _, _, p in asked if not_expressible(scenario, guarantee, p, engine) is None]
            if not under:
                continue
            mine = by_program.get((scenario.id, guarantee.program), [])
            found = gather(scenario.programs[guarantee.program], guarantee, mine, runs, reference)
            for perturbation in under:
                yield scenario, guarantee, perturbation, found.get(perturbation.id if perturbation else "", Evidence())


CellKey = tuple[str, str, str]
"""(scenario, guarantee, perturbation or AS_DRAWN) on one engine."""

MOST_AGAINST = 100
"""Number of cases against a guarantee that are kept, the smallest ones."""


Failure = tuple[str, str, str]
"""(scenario, guarantee, case) of a case that speaks against a guarantee; the guarantee is "" for a case without an
answer."""


@dataclass
class Isolated:
    """What the failures of twins under several perturbations came to.

    Attributes:
        explained: failures that a twin under fewer perturbations shows as well. They say nothing of the others.
        smallest: failures that need all of their perturbations.
    """

    explained: set[Failure] = field(default_factory=set)
    smallest: set[Failure] = field(default_factory=set)

    def __contains__(self, failure: Failure) -> bool:
        return failure in self.explained or failure in self.smallest


@dataclass
class Checked:
    """The result of the check of one batch on one engine."""

    evidence: dict[CellKey, Evidence] = field(default_factory=dict)
    stabilities: list[Stability] = field(default_factory=list)

    def __add__(self, other: Checked) -> Checked:
        """The result of both batches."""
        evidence = {
            key: self.evidence.get(key, Evidence()) + other.evidence.get(key, Evidence())
            for key in {**self.evidence, **other.evidence}
        }
        known = {stability.place: stability for stability in self.stabilities}
        for found in other.stabilities:
            known[found.place] = known[found.place] + found if found.place in known else found
        return Checked(evidence, [*known.values()])

    @property
    def entangled(self) -> dict[Failure, Against]:
        """The failures of twins under several perturbations: one of the perturbations may be the cause. Where cases as
        drawn fail the same guarantee, none needs to be."""
        as_drawn = {key[:2] for key, evidence in self.evidence.items() if key[2] == AS_DRAWN and evidence.against}
        return {
            (scenario, guarantee, against.case.id): against
            for (scenario, guarantee, _), evidence in self.evidence.items()
            if (scenario, guarantee) not in as_drawn
            for against in evidence.against
            if len(parts_of(against.case.perturbation)) > 1
        }

    @property
    def kept_under(self) -> dict[tuple[str, str], set[str]]:
        """(scenario, guarantee) -> the perturbations (ids) under which a case put it to the test and kept it."""
        found: dict[tuple[str, str], set[str]] = {}
        for (scenario, guarantee, name), evidence in self.evidence.items():
            failing = {against.case.id for against in evidence.against}
            if any(case.id not in failing for case in evidence.exercised):
                found.setdefault((scenario, guarantee), set()).add(name)
        return found

    def settled(self, isolated: Isolated) -> Checked:
        """The result without the failures that are explained. Those that need several perturbations have cells of their
        own."""
        settled = dict[CellKey, Evidence]()
        for (scenario, guarantee, perturbation), evidence in self.evidence.items():

            def stays(case: Case, scenario: str = scenario, guarantee: str = guarantee) -> bool:
                return (scenario, guarantee, case.id) not in isolated

            settled[scenario, guarantee, perturbation] = replace(
                evidence,
                exercised=[case for case in evidence.exercised if stays(case)],
                against=[against for against in evidence.against if stays(against.case)],
            )
            for against in evidence.against:
                if (scenario, guarantee, against.case.id) in isolated.smallest:
                    together = AND.join(factors_of(against.case.perturbation))
                    mine = settled.setdefault((scenario, guarantee, together), Evidence())
                    if against.case not in mine.exercised:
                        mine.exercised.append(against.case)
                        mine.against.append(against)
        return Checked(settled, self.stabilities)


def check(
    scenarios: Iterable[Scenario], cases: Iterable[Case], runs: Runs, engine: EngineInfo, reference: ReferenceTraces
) -> Checked:
    """Checks cases on one engine. A case and its twins are in the same batch."""
    scenarios, cases = list(scenarios), list(cases)
    runs = _with_known_traces(cases, runs, reference)
    evidence = {
        (scenario.id, guarantee.id, name_of(perturbation)): found
        for scenario, guarantee, perturbation, found in evidences(scenarios, cases, runs, engine, reference)
    }
    return Checked(evidence, list(survey(scenarios, cases, runs, engine, reference)))


def _with_known_traces(cases: Iterable[Case], runs: Runs, reference: ReferenceTraces) -> Runs:
    """The runs, with the reference's own trace in the place of each that equals it: what it answered before is not
    asked again."""
    traces = dict(runs.traces)
    answered = [case for case in cases if case.id in traces]
    for name, specified in reference(answered).items():
        if traces[name].text == specified.text:
            traces[name] = specified
    return replace(runs, traces=traces)


def name_of(perturbation: Perturbation | None) -> str:
    return perturbation.id if perturbation else AS_DRAWN


class Judgement:
    """The judgement of one engine over all batches so far.

    Attributes:
        cases, runs: the cases that cells still refer to, the bases of these cases, and the traces of both.
    """

    def __init__(self, scenarios: Iterable[Scenario], engine: EngineInfo) -> None:
        self._scenarios, self._engine = list(scenarios), engine
        self._tallies: dict[CellKey, Tally] = {}
        self._stabilities: dict[tuple[str, str, str], Stability] = {}
        self._notes: dict[str, str] = {}
        self.cases: dict[str, Case] = {}
        self.runs = Runs()

    def add(self, checked: Checked, cases: Mapping[str, Case], traces: Traces, notes: Mapping[str, str]) -> None:
        """Adds the result of a batch. ``cases`` and ``traces``, by id, belong to that batch."""
        programs = {(s.id, g.id): s.programs[g.program] for s in self._scenarios for g in s.guarantees}
        for key, evidence in checked.evidence.items():
            tally = self._tallies.setdefault(key, Tally())
            tally.add(evidence, programs[key[0], key[1]])
            del tally.against[MOST_AGAINST:]
        for stability in checked.stabilities:
            before = self._stabilities.get(stability.place)
            self._stabilities[stability.place] = before + stability if before else stability
        self._notes |= notes
        self.cases = {case.id: case for case in self._spoken_of(cases)}
        known = {**self.runs.traces, **traces}
        self.runs.traces = {name: known[name] for name in self.cases if name in known}

    def cells(self) -> Iterator[tuple[MatrixCell, Guarantee, list[Against]]]:
        """Every cell of the engine, with its guarantee and the smallest cases against the guarantee, smallest first."""
        for scenario, guarantee, perturbation in cells_asked(self._scenarios, self._engine):
            against: list[Against] = []
            cell = not_expressible(scenario, guarantee, perturbation, self._engine)
            if cell is None:
                tally = self._tallies.get((scenario.id, guarantee.id, name_of(perturbation)), Tally())
                cell = conclude(scenario, guarantee, perturbation, self._engine, tally)
                against = tally.against
                ref = program_ref(scenario.id, guarantee.program)
                of_it = (ref, f"{ref}: {guarantee.change}", f"{ref}: {name_of(perturbation)}")
                notes = (self._notes.get(name, "") for name in of_it)
                cell = replace(cell, notes=(*cell.notes, *filter(None, notes)))
            yield cell, guarantee, against

        known = {(s.id, g.id): (s, g) for s in self._scenarios for g in s.guarantees}
        for (name, claim, together), tally in self._tallies.items():
            if AND in together and (name, claim) in known:
                scenario, guarantee = known[name, claim]
                yield conclude(scenario, guarantee, several(together), self._engine, tally), guarantee, tally.against

    def stabilities(self) -> Iterator[Stability]:
        for empty in twins_asked(self._scenarios, self._engine):
            yield self._stabilities.get(empty.place, empty)

    def _spoken_of(self, new: Mapping[str, Case]) -> Iterator[Case]:
        known = {**self.cases, **new}
        for tally in self._tallies.values():
            for against in tally.against:
                yield against.case
                if against.case.base:
                    yield known[against.case.base]


def several(together: str) -> Perturbation:
    """Several perturbations (ids, joined) as that of one cell."""
    needs = frozenset(need for name in factors_of(together) if name in BY_ID for need in BY_ID[name].needs)
    return Perturbation(together, titled(together), needs=needs)

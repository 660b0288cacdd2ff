"""One check of a batch of cases, and the putting together of many.

``check`` is all that is asked of cases and traces: it runs in this process or, over tables, in the executors of a Spark job. What
batches say is added up in a ``Judgement``, whose size does not grow with the number of cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from conformance import checking, lattice
from conformance.checking import Against, Evidence, Reference, Runs, Tally, Traces
from conformance.engine import EngineInfo
from conformance.guarantees import Guarantee, Scenario
from conformance.lattice import Survival
from conformance.model import Case, program_ref
from conformance.perturbation import Perturbation
from conformance.results import AS_DRAWN, Cell

CellKey = tuple[str, str, str]
"""(scenario, guarantee, perturbation or AS_DRAWN), of one engine."""

MOST_AGAINST = 100
"""So many of the cases against a guarantee are kept, the smallest."""


@dataclass
class Checked:
    """What one batch of cases says of an engine."""

    evidence: dict[CellKey, Evidence] = field(default_factory=dict)
    survivals: list[Survival] = field(default_factory=list)


def check(
    scenarios: Iterable[Scenario], cases: Iterable[Case], runs: Runs, engine: EngineInfo, reference: Reference
) -> Checked:
    """Everything that some cases say of an engine. A case comes with its twins, and they with it."""
    scenarios, cases = list(scenarios), list(cases)
    evidence = {
        (scenario.id, guarantee.id, name_of(perturbation)): found
        for scenario, guarantee, perturbation, found in checking.evidences(scenarios, cases, runs, engine, reference)
    }
    return Checked(evidence, list(lattice.survey(scenarios, cases, runs, engine, reference)))


@dataclass(frozen=True)
class Batch:
    """Stored cases and traces of one engine, for a checker in another process: what to read and what to write, as JSON can
    carry it. ``programs`` are those ("scenario/program") whose guarantees are asked; paths are of Parquet files or folders."""

    engine: str
    programs: tuple[str, ...]
    cases: str
    traces: str
    checks: str


class Checker(Protocol):
    """Where batches are checked, other than in the runner. ``open`` and ``close`` are as an engine's."""

    def check(self) -> None:
        """Raise CannotRun where what it runs on is missing."""

    def open(self, folder: Path) -> None: ...

    def close(self) -> None: ...

    def run(self, batch: Batch) -> None:
        """Check a batch, and write the results as ``tables.CHECKS`` into the folder ``batch.checks``."""


def name_of(perturbation: Perturbation | None) -> str:
    return perturbation.id if perturbation else AS_DRAWN


class Judgement:
    """What all batches so far say of one engine.

    Attributes:
        cases, runs: the cases that are still spoken of, those that they are twins of, and their traces.
    """

    def __init__(self, scenarios: Iterable[Scenario], engine: EngineInfo) -> None:
        self._scenarios, self._engine = list(scenarios), engine
        self._tallies: dict[CellKey, Tally] = {}
        self._survivals: dict[tuple[str, str, str], Survival] = {}
        self._notes: dict[str, str] = {}
        self.cases: dict[str, Case] = {}
        self.runs = Runs()

    def add(self, checked: Checked, cases: Mapping[str, Case], traces: Traces, notes: Mapping[str, str]) -> None:
        """Add what a batch says. ``cases`` and ``traces``, by id, are those of the batch."""
        programs = {(s.id, g.id): s.programs[g.program] for s in self._scenarios for g in s.guarantees}
        for key, evidence in checked.evidence.items():
            tally = self._tallies.setdefault(key, Tally())
            tally.add(evidence, programs[key[0], key[1]])
            del tally.against[MOST_AGAINST:]
        for survival in checked.survivals:
            before = self._survivals.get(survival.place, survival)
            both = [*before.grades, *survival.grades] if before is not survival else survival.grades
            self._survivals[survival.place] = survival.with_grades(both, {**survival.traces, **before.traces})
        self._notes |= notes
        self.cases = {case.id: case for case in self._spoken_of(cases)}
        known = {**self.runs.traces, **traces}
        self.runs.traces = {name: known[name] for name in self.cases if name in known}

    def cells(self) -> Iterator[tuple[Cell, Guarantee, list[Against]]]:
        """Every cell of the engine, with its guarantee and the smallest cases against it, smallest first."""
        for scenario, guarantee, perturbation in checking.cells_asked(self._scenarios, self._engine):
            against: list[Against] = []
            cell = checking.not_expressible(scenario, guarantee, perturbation, self._engine)
            if cell is None:
                tally = self._tallies.get((scenario.id, guarantee.id, name_of(perturbation)), Tally())
                cell = checking.conclude(scenario, guarantee, perturbation, self._engine, tally)
                against = tally.against
                if note := self._notes.get(program_ref(scenario.id, guarantee.program)):
                    cell = replace(cell, notes=(*cell.notes, note))
            yield cell, guarantee, against

    def survivals(self) -> Iterator[Survival]:
        for empty in lattice.asked(self._scenarios, self._engine):
            yield self._survivals.get(empty.place, empty)

    def _spoken_of(self, new: Mapping[str, Case]) -> Iterator[Case]:
        known = {**self.cases, **new}
        for tally in self._tallies.values():
            for against in tally.against:
                yield against.case
                if against.case.base:
                    yield known[against.case.base]


def judge(
    scenarios: Iterable[Scenario], cases: Iterable[Case], runs: Runs, engine: EngineInfo, reference: Reference
) -> Judgement:
    """The judgement of one batch."""
    scenarios, cases = list(scenarios), list(cases)
    found = Judgement(scenarios, engine)
    checked = check(scenarios, cases, runs, engine, reference)
    found.add(checked, {case.id: case for case in cases}, runs.traces, runs.notes)
    return found

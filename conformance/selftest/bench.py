"""The cases of one seed for the self-test: which guarantees an engine breaks on them, by what differs from the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from conformance.execution.packing import packs_of
from conformance.judgement.cell import MatrixCell
from conformance.judgement.evidence import Evidence, Runs, Tally, Traces, gather, perturbations_of
from conformance.judgement.verdict import conclude
from conformance.model.case import Case, program_ref
from conformance.model.engine import Engine, EngineInfo
from conformance.model.perturbation import Perturbation
from conformance.model.runs import StepCount
from conformance.model.scenario import Guarantee, Scenario, programs_of
from conformance.plugins.registry import load_engine
from conformance.selftest.specified import Specified

Row = tuple[str, str]
"""(scenario, guarantee)."""

FEW = (1, 4)
"""The numbers of cases, with their twins, of each timeline that a mutant runs on before it runs on all. Most are caught by these."""


class Bench:
    """The cases of one seed, with the reference's results for them, which are the same for every engine."""

    def __init__(self, scenarios: list[Scenario], cases: list[Case]) -> None:
        self._scenarios = scenarios
        self._programs = programs_of(scenarios)
        self._cases: dict[str, list[Case]] = {ref: [] for ref in self._programs}
        for case in cases:
            self._cases[program_ref(case.scenario, case.program)].append(case)
        fewer = [{ref: list(_first_families(mine, few)) for ref, mine in self._cases.items()} for few in FEW]
        self._tiers = [*fewer, self._cases]
        self._answers = Specified(self._programs)
        reading = load_engine("reference").capabilities.lateness
        self._specified = {case.id: self._answers.of(case, reading).traces[case.id] for case in cases}

    def broken(self, name: str, likely: Collection[Row] = (), only: Collection[Row] | None = None) -> Iterator[Row]:
        """The guarantees, of all or ``only`` some, that an engine breaks, one after the other, those of ``likely`` first; a program is
        run when the first of its guarantees is asked for. What the engine does as the reference does it breaks nothing, because
        nothing accuses the reference: only the other cases are judged."""
        engine = load_engine(name)
        runs: dict[str, Runs] = {}
        suspects: dict[str, list[Case]] = {}
        for scenario, guarantee in sorted(self._of(only), key=lambda row: (row[0].id, row[1].id) not in likely):
            ref = program_ref(scenario.id, guarantee.program)
            if ref not in runs:
                runs[ref] = self._run(engine, self._cases[ref])
                suspects[ref] = self._suspects(self._cases[ref], runs[ref].traces)
            cases = self._cases[ref] if guarantee.accounting else suspects[ref]
            if self._against(guarantee, ref, cases, runs[ref]):
                yield scenario.id, guarantee.id

    def hinted(self, name: str, rows: Collection[Row]) -> frozenset[Row]:
        """Those of these guarantees that an engine breaks. The fewest cases that show one are enough."""
        engine, left, found = load_engine(name), set(rows), set[Row]()
        for cases in self._tiers:
            refs = {program_ref(s.id, g.program): None for s, g in self._of(left)}
            for ref in refs:
                found |= self._broken_in(engine, ref, cases[ref], left)
            left -= found
        return frozenset(found)

    def kills(self, name: str, whole: bool) -> frozenset[Row]:
        """The guarantees that an engine breaks: all of them, or those of the program that catches it first."""
        if whole:
            return frozenset(self.broken(name))
        engine = load_engine(name)
        for cases in self._tiers:
            for ref, mine in cases.items():
                if rows := self._broken_in(engine, ref, mine):
                    return rows
        return frozenset()

    def first(self, name: str, likely: Collection[Row]) -> Row | None:
        """A guarantee that an engine breaks, None if it breaks none. The programs of the likely ones come first."""
        engine = load_engine(name)
        refs = {program_ref(s.id, g.program): None for s, g in self._of(likely)}
        for cases in self._tiers:
            for ref in refs:
                if rows := self._broken_in(engine, ref, cases[ref]):
                    return min(rows)
        return next(self.broken(name, likely), None)

    def _of(self, rows: Collection[Row] | None) -> Iterator[tuple[Scenario, Guarantee]]:
        """The guarantees of these rows; None for all."""
        every = ((scenario, guarantee) for scenario in self._scenarios for guarantee in scenario.guarantees)
        return ((s, g) for s, g in every if rows is None or (s.id, g.id) in rows)

    def _broken_in(
        self, engine: Engine, ref: str, cases: list[Case], only: Collection[Row] | None = None
    ) -> frozenset[Row]:
        """The guarantees of a program, of all or ``only`` some, that an engine breaks on these of its cases."""
        runs = self._run(engine, cases)
        suspects = self._suspects(cases, runs.traces)
        return frozenset(
            (scenario.id, guarantee.id)
            for scenario, guarantee in self._of(only)
            if program_ref(scenario.id, guarantee.program) == ref
            and (suspects or guarantee.accounting)
            and self._against(guarantee, ref, cases if guarantee.accounting else suspects, runs)
        )

    def _against(self, guarantee: Guarantee, ref: str, cases: list[Case], runs: Runs) -> bool:
        return any(evidence.against for _, evidence in self._evidence(guarantee, ref, cases, runs))

    def sees(self, name: str) -> bool:
        """Whether an engine's answer to a case differs from the reference's: by the trace, or by the row counts of a
        pack if a guarantee is about row counts."""
        engine = load_engine(name)
        for ref, cases in self._cases.items():
            runs = self._run(engine, cases)
            if any(runs.traces[case.id] != self._specified[case.id] for case in cases):
                return True
            if ref in self._counts and _counts(runs) != self._counts[ref]:
                return True
        return False

    @cached_property
    def _counts(self) -> dict[str, list[tuple[StepCount, ...]]]:
        """The reference's row counts, for the programs with a guarantee about row counts."""
        refs = {program_ref(s.id, g.program) for s in self._scenarios for g in s.guarantees if g.accounting}
        return {ref: _counts(self._run(load_engine("reference"), self._cases[ref])) for ref in refs}

    def accusations(self, name: str, scenarios: Iterable[Scenario]) -> Iterator[MatrixCell]:
        """The cells of an engine that are violated or in error, unconfirmed, of these scenarios."""
        engine = load_engine(name)
        info = EngineInfo(engine.id, engine.title, engine.capabilities)
        for scenario in scenarios:
            runs = {
                program: self._run(engine, self._cases[program_ref(scenario.id, program)])
                for program in scenario.programs
            }
            for guarantee in scenario.guarantees:
                ref = program_ref(scenario.id, guarantee.program)
                found = self._evidence(guarantee, ref, self._cases[ref], runs[guarantee.program])
                for perturbation, evidence in found:
                    if evidence.against or evidence.faults:
                        tally = Tally()
                        tally.add(evidence, scenario.programs[guarantee.program])
                        yield conclude(scenario, guarantee, perturbation, info, tally)

    def _run(self, engine: Engine, cases: list[Case]) -> Runs:
        runs = Runs()
        for pack in packs_of(cases, engine.capabilities.largest_pack):
            runs.add(pack, self._answers.answer(engine, pack))
        return runs

    def _suspects(self, cases: list[Case], traces: Traces) -> list[Case]:
        """The cases whose results differ from the reference's, with their twins and their bases."""
        others = {case.id for case in cases if traces[case.id] != self._specified[case.id]}
        twins = [case for case in cases if case.base and not others.isdisjoint((case.id, case.base))]
        wanted = others.union(*((case.id, case.base) for case in twins))
        return [case for case in cases if case.id in wanted]

    def _evidence(
        self, guarantee: Guarantee, ref: str, cases: list[Case], runs: Runs
    ) -> Iterator[tuple[Perturbation | None, Evidence]]:
        """The evidence under each perturbation that these cases were made with."""
        made = {case.perturbation for case in cases}
        for perturbation in perturbations_of(guarantee, load_engine("reference").capabilities.plans):
            if not perturbation or perturbation.id in made:
                evidence = gather(
                    self._programs[ref], guarantee, perturbation, cases, runs, lambda cases: self._specified
                )
                yield perturbation, evidence


def _first_families(cases: Iterable[Case], few: int) -> Iterator[Case]:
    """The first ``few`` cases as drawn of each timeline, with their twins."""
    number: Counter[object] = Counter()
    kept: set[str] = set()
    for case in cases:
        if not case.base:
            number[case.schedule.timeline] += 1
            if number[case.schedule.timeline] <= few:
                kept.add(case.id)
        if (case.base or case.id) in kept:
            yield case


def _counts(runs: Runs) -> list[tuple[StepCount, ...]]:
    return [run.counts for _, run in runs.packs]

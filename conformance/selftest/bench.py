"""The suite of an engine for mutants: which guarantees a mutant breaks on it. A case that a mutant answers as the
reference does breaks nothing, because nothing accuses the reference but its reading of *late*: only the other cases are
judged, by the guarantees that no reading breaks."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

from conformance.execution.ask import packs_for
from conformance.generation.suite import Suite
from conformance.judgement.batches import cells_asked, evidences
from conformance.judgement.cell import MatrixCell
from conformance.judgement.evidence import Runs, Tally, Traces, Unjudgeable, gather, puts_to_test, speaks_against
from conformance.judgement.reference import reference_traces, specified
from conformance.judgement.verdict import conclude, not_expressible
from conformance.model.case import Case, program_ref
from conformance.model.engine import Capabilities, EngineInfo
from conformance.model.perturbation import BY_ID, factor_of, level_of, parts_of, together
from conformance.model.runs import Pack, PackRun
from conformance.model.scenario import Guarantee, Scenario, programs_of, speaks_of_all
from conformance.plugins.registry import load_engine, mutant_engine
from conformance.selftest.power import Row
from conformance.support.grouping import grouped

Unit = tuple[Case, ...]
"""Cases of a program that a mutant answers at a time: one, or those of a pack if it looks at the others."""

Asked = tuple[Row, Guarantee, set[str]]
"""A guarantee, and the perturbations (ids, "" for cases as drawn) under which an engine is asked for it."""


@dataclass(frozen=True)
class Found:
    """What a mutant does on a suite.

    Attributes:
        broken: guarantees that it breaks.
        by: the cases (ids) that caught it.
        seen: whether it answers a case otherwise than the reference does.
    """

    broken: frozenset[Row] = frozenset()
    by: tuple[str, ...] = ()
    seen: bool = False

    def after(self, before: Found) -> Found:
        """What is known with what was known before."""
        return Found(before.broken | self.broken, before.by or self.by, before.seen or self.seen)


class Bench:
    """The suite of an engine of these cases as drawn, and what the reference that reads *late* as the engine does
    answers.

    Args:
        can: the capabilities of the engine, if others than its own.
    """

    def __init__(
        self, scenarios: list[Scenario], name: str, drawn: Iterable[Case], seed: int, can: Capabilities | None = None
    ) -> None:
        engine = load_engine(name)
        self._seed, can = seed, can or engine.capabilities
        self._perturbations = {**BY_ID, **{plan.perturbation.id: plan.perturbation for plan in can.plans}}
        self._info = EngineInfo(engine.id, engine.title, can)
        self._programs, self._lateness = programs_of(scenarios), can.lateness
        self._reference = reference_traces(self._programs, can.lateness)
        self.cases = Suite(scenarios, can, drawn, seed, self._reference).cases
        self.packs = packs_for(self.cases, can)
        self._specified = self._reference(self.cases)
        self._beside = {scenario.id: scenario.guarantees for scenario in scenarios}
        self._asked: dict[str, list[Asked]] = {}
        accused = self._accused(scenarios)
        for scenario, guarantee, perturbation in cells_asked(scenarios, self._info):
            possible = not_expressible(scenario, guarantee, perturbation, self._info) is None
            if possible and (scenario.id, guarantee.id) not in accused:
                asked = self._asked.setdefault(program_ref(scenario.id, guarantee.program), [])
                if not asked or asked[-1][1] is not guarantee:
                    asked.append(((scenario.id, guarantee.id), guarantee, set()))
                asked[-1][2].add(perturbation.id if perturbation else "")
        # Whatever a mutant changes, cases of many programs and kinds come soon.
        single: list[Unit] = [(case,) for case in self.cases]
        Random(seed).shuffle(single)
        self._units = {False: single, True: [unit for pack in self.packs for unit in _by_program(pack)]}
        self._place = {
            packs: {case.id: unit for unit in units for case in unit} for packs, units in self._units.items()
        }
        self._counting = {ref for ref, asked in self._asked.items() if any(g.accounting for _, g, _ in asked)}
        self._known, self._tested = dict[int, PackRun](), dict[str, dict[Row, list[str]]]()

    def found(self, mutant: str, whole: bool = False, first: Iterable[str] = ()) -> Found:
        """What a mutant does, until a case has caught it. ``whole``: until every case had its say on every guarantee.
        ``first``: cases (ids) that are asked first."""
        engine, by, broken, seen = self._engine(mutant), tuple[str, ...](), set[Row](), False
        place = self._place[engine.looks_around]
        units = itertools.chain((place[name] for name in first if name in place), self._units[engine.looks_around])
        for unit, rows in self._told(engine, units, self._asked, broken):
            by, seen = by or tuple(case.id for case in unit if rows), True
            broken |= rows
            if broken and not whole:
                break
        return Found(frozenset(broken), by, seen)

    def broken(self, mutant: str, only: Collection[Row], most: int | None = None) -> frozenset[Row]:
        """Those of these guarantees that a mutant breaks, on ``most`` cases that put each to the test by the
        reference's behaviour."""
        engine, broken = self._engine(mutant), set[Row]()
        asked = {ref: [one for one in mine if one[0] in only] for ref, mine in self._asked.items()}
        place = self._place[engine.looks_around]
        testing = [name for ref, mine in asked.items() for row, _, _ in mine for name in self._testing(ref)[row][:most]]
        for _, rows in self._told(engine, {id(place[name]): place[name] for name in testing}.values(), asked, broken):
            broken |= rows
            if len(broken) == len(only):
                break
        return frozenset(broken)

    def _engine(self, mutant: str) -> Any:
        engine: Any = load_engine(mutant_engine(mutant))
        return engine.reading(self._lateness)

    def _testing(self, ref: str) -> dict[Row, list[str]]:
        """The guarantees of a program, each with the cases (ids) that put it to the test."""
        if ref not in self._tested:
            found = self._tested[ref] = {row: [] for row, _, _ in self._asked[ref]}
            guarantees = [guarantee for _, guarantee, _ in self._asked[ref]]
            for (case,) in self._units[False]:
                if case.ref == ref:
                    [base] = self._place[False][case.base or case.id]
                    told = puts_to_test(self._programs[ref], guarantees, base, case, self._reference)
                    for name in {name for name, _ in told}:
                        found[case.scenario, name].append(case.id)
        return self._tested[ref]

    def _told(
        self, engine: Any, units: Iterable[Unit], asked: Mapping[str, list[Asked]], broken: Collection[Row]
    ) -> Iterator[tuple[Unit, set[Row]]]:
        """The cases that a mutant answers otherwise than the reference does, each with the guarantees that it breaks
        there and that are not ``broken`` yet."""
        answered = dict[int, PackRun]()
        for unit in units:
            left = [one for one in asked.get(unit[0].ref, ()) if one[0] not in broken]
            if left and (runs := self._unlike(engine, unit, answered)):
                yield unit, self._against(engine, unit, left, runs)

    def _unlike(self, engine: Any, unit: Unit, answered: dict[int, PackRun]) -> Runs | None:
        """What a mutant answers to cases and their bases; None if it answers as the reference does."""
        place = self._place[engine.looks_around]
        units = {id(part): part for part in (*(place[case.base] for case in unit if case.base), unit)}
        for name, part in units.items():
            if name not in answered:
                answered[name] = self._answer(engine, part)
        if all(answered[name] is self._known[name] for name in units):
            return None
        runs = Runs()
        for name, part in units.items():
            runs.add(Pack(part), answered[name])
        return runs

    def _answer(self, engine: Any, unit: Unit) -> PackRun:
        """What a mutant answers; what the reference does if it is the same."""
        ref = unit[0].ref
        if id(unit) not in self._known:  # a case's hash would take longer
            same = PackRun({case.id: self._specified[case.id] for case in unit})
            self._known[id(unit)] = self._count(unit) if ref in self._counting else same
        known = self._known[id(unit)]
        if not engine.looks_around and not engine.can_show(unit[0], self._programs[ref]):
            return known
        run: PackRun = engine.run(Pack(unit), self._programs)
        texts = {name: trace.text for name, trace in known.traces.items()}  # 1 == True == 1.0, their texts differ
        alike = {name: trace.text for name, trace in run.traces.items()} == texts
        alike = alike and (ref not in self._counting or run.counts == known.counts)
        return known if alike else run

    def _count(self, unit: Unit) -> PackRun:
        """The reference's answer with its row counts."""
        reference: Any = load_engine("reference")
        found: PackRun = reference.reading(self._lateness).run(Pack(unit), self._programs)
        return found

    def _against(self, engine: Any, unit: Unit, asked: Iterable[Asked], runs: Runs) -> set[Row]:
        """The guarantees that a mutant breaks on cases."""
        place, found = self._place[engine.looks_around], set[Row]()
        bases = [next(one for one in place[case.base] if one.id == case.base) for case in unit if case.base]
        cases, program = [*dict.fromkeys([*bases, *unit])], self._programs[unit[0].ref]
        for row, guarantee, names in asked:
            evidence = gather(program, guarantee, cases, runs, lambda _: self._specified)
            against = [one for name, said in evidence.items() if name in names for one in said.against]
            if any(one.base is None or self._is_about(engine, guarantee, one.base, one.case) for one in against):
                found.add(row)
        return found

    def _is_about(self, engine: Any, guarantee: Guarantee, base: Case, twin: Case) -> bool:
        """Whether a mutant breaks a relation by the changes that it is about, without the others of a twin; or by all
        of them together, if the relation speaks of all."""
        parts = parts_of(twin.perturbation)
        mine = [part for part in parts if guarantee.is_about(factor_of(part))]
        if len(mine) == len(parts) or engine.looks_around:
            return True
        answered: PackRun = engine.run(Pack((base,)), self._programs)

        def differs(some: Iterable[str]) -> bool:
            return self._differs(engine, guarantee, base, answered.traces, some)

        if differs(mine):
            return True
        fewer = ([part for part in parts if part != left] for left in parts)
        speaks = speaks_of_all(guarantee, map(factor_of, parts), self._beside[base.scenario])
        return speaks and not any(map(differs, fewer))

    def _differs(self, engine: Any, guarantee: Guarantee, base: Case, known: Traces, parts: Iterable[str]) -> bool:
        """Whether a mutant breaks a relation under some of the changes of a twin. ``known``: what it answers to the
        base."""
        made = [(self._perturbations[factor_of(part)], level_of(part)) for part in parts]
        if not made or (twin := together(base, made, self._seed)) is None:
            return False
        traces = {**known, **engine.run(Pack((twin,)), self._programs).traces}
        with suppress(Unjudgeable):
            return bool(speaks_against(self._programs[base.ref], guarantee, base, twin, traces, self._reference))
        return False

    def _accused(self, scenarios: list[Scenario]) -> frozenset[Row]:
        """Guarantees that the engine breaks by its reading of *late* alone: they are broken whatever the mutant."""
        if self._lateness == specified().capabilities.lateness:
            return frozenset()
        late = [case for case in self.cases if not all(arrival.on_time for arrival in case.schedule.arrivals)]
        cases = [*dict.fromkeys([*(case for case in self.cases if case.id in {one.base for one in late}), *late])]
        runs = Runs(traces={case.id: self._specified[case.id] for case in cases})
        found = evidences(scenarios, cases, runs, self._info, self._reference)
        return frozenset((scenario.id, guarantee.id) for scenario, guarantee, _, said in found if said.against)

    def accusations(self, scenario: Scenario) -> Iterator[MatrixCell]:
        """The cells of a scenario, unconfirmed, that are violated or in error where the reference runs the suite."""
        runs = Runs(traces=dict(self._specified))
        for unit in self._units[True]:
            if unit[0].scenario == scenario.id and unit[0].ref in self._counting:
                runs.packs.append((Pack(unit), self._count(unit)))
        mine = [case for case in self.cases if case.scenario == scenario.id]
        for _, guarantee, perturbation, said in evidences([scenario], mine, runs, self._info, self._reference):
            if said.against or said.faults:
                tally = Tally()
                tally.add(said, scenario.programs[guarantee.program])
                yield conclude(scenario, guarantee, perturbation, self._info, tally)


def _by_program(pack: Pack) -> list[Unit]:
    found = grouped((case.ref, case) for case in pack.cases)
    return [tuple(cases) for cases in found.values()]

"""Verifies the verifier: nothing accuses the reference, some guarantee catches every mutant, alone and paired with
another mutant, and every guarantee catches a mutant."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance.execution.packing import packs_of
from conformance.generation.cases import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.judgement.batches import judge
from conformance.judgement.cell import MatrixCell
from conformance.judgement.evidence import Evidence, Runs, Tally, Traces, gather, perturbations_of
from conformance.judgement.reference import reference_traces
from conformance.judgement.verdict import conclude
from conformance.model.case import Case, program_ref
from conformance.model.engine import Engine, EngineInfo
from conformance.model.perturbation import Perturbation
from conformance.model.reading import text_of
from conformance.model.runs import StepCount
from conformance.model.scenario import Guarantee, Scenario, programs_of
from conformance.model.values import digest
from conformance.plugins.registry import UnknownName, load_engine, mutant_engine

Row = tuple[str, str]
"""(scenario, guarantee)."""


SCHEMA = "conformance/selftest/1"


class UnreadableSelfTest(ValueError):
    """A file that is not a self-test of this version; the message says what is wrong with it."""


@dataclass(frozen=True)
class SelfTest:
    """The results of a self-test.

    Attributes:
        kills: mutant -> the guarantees that it breaks.
        asked: all guarantees of the scenarios.
        accusations: cells of the reference that are violated or in error, over all seeds.
        pairs: pair of mutants in one engine -> a guarantee that the pair breaks, None if it breaks none.
        let_through: mutants that differ from the reference on some case without breaking a guarantee. With only some
            scenarios, they are not a hole: another scenario may catch them.
        out_of_sight: mutants that answer every case as the reference does, so that no guarantee could catch them.
    """

    kills: Mapping[str, frozenset[Row]]
    asked: frozenset[Row]
    accusations: tuple[MatrixCell, ...]
    pairs: Mapping[str, Row | None] = field(default_factory=dict)
    let_through: tuple[str, ...] = ()
    out_of_sight: tuple[str, ...] = ()

    @property
    def survivors(self) -> list[str]:
        """Mutants that nothing caught, alone or in pairs."""
        alone = [mutant for mutant, rows in self.kills.items() if not rows]
        return alone + [pair for pair, row in self.pairs.items() if row is None]

    @property
    def toothless(self) -> list[Row]:
        """Guarantees that caught nothing. A check that nothing can make fail is a defect."""
        return sorted(self.asked - frozenset().union(*self.kills.values()))

    @property
    def passed(self) -> bool:
        return not (self.survivors or self.toothless or self.accusations)

    def write(self, path: Path) -> None:
        data = {
            "schema": SCHEMA,
            "kills": {mutant: sorted(rows) for mutant, rows in self.kills.items()},
            "asked": sorted(self.asked),
            "accusations": [cell.to_json() for cell in self.accusations],
            "pairs": self.pairs,
            "let_through": self.let_through,
            "out_of_sight": self.out_of_sight,
        }
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> SelfTest:
        """Raises UnreadableSelfTest for anything but a self-test of this version."""

        def row(found: Any) -> Row:
            scenario, guarantee = map(str, found)
            return scenario, guarantee

        try:
            data = json.loads(text_of(path, UnreadableSelfTest))
            if not isinstance(data, dict) or data.get("schema") != SCHEMA:
                raise UnreadableSelfTest(f"{path} is not a self-test of this version: write one with `selftest --json`")
            return cls(
                {str(mutant): frozenset(map(row, rows)) for mutant, rows in data["kills"].items()},
                frozenset(map(row, data["asked"])),
                tuple(map(MatrixCell.from_json, data["accusations"])),
                {str(pair): found and row(found) for pair, found in data["pairs"].items()},
                tuple(map(str, data.get("let_through", ()))),
                tuple(map(str, data.get("out_of_sight", ()))),
            )
        except UnreadableSelfTest:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UnreadableSelfTest(f"{path} is not a whole self-test: {error!r}") from None


def selftest(
    scenarios: Iterable[Scenario],
    mutants: Iterable[str],
    *,
    wanted: int = 20,
    seeds: int = 20,
    whole: bool = True,
    in_sight: bool = False,
    progress: Callable[[str], None] = lambda text: None,
) -> SelfTest:
    """Runs the reference and the mutants on the cases of one seed after the other, from seed 0 to ``seeds`` - 1.

    Each mutant, and each pair of mutants, runs until a guarantee has caught it.

    Args:
        wanted: number of cases that test each guarantee with seed 0. The other seeds have half as many.
        whole: a mutant that is caught is asked for every guarantee, which gives the kill matrix. Otherwise a mutant is
            asked for the guarantees that none has broken yet, or else for one that it breaks: enough to find a hole.
        in_sight: set aside the mutants that these scenarios cannot see, and those that they let through, and pairs with
            one of these. Without it a mutant that nothing caught is a survivor: all scenarios together must catch every
            one.
    """
    scenarios, mutants = list(scenarios), list(mutants)
    exercised = exercised_by_any_reading(scenarios)
    kills: dict[str, frozenset[Row]] = dict.fromkeys(mutants, frozenset())
    seen: set[str] = set()
    pairs: dict[str, Row | None] = {} if in_sight else dict.fromkeys(pairs_of(mutants))
    accusations: list[MatrixCell] = []
    asked = frozenset((s.id, g.id) for s in scenarios for g in s.guarantees)
    for seed in range(seeds):
        cases = draw_cases(scenarios, wanted if seed == 0 else max(1, wanted // 2), seed, exercised)
        bench = _Bench(scenarios, cases)
        accusations += bench.accusations("reference")
        progress(f"seed {seed}: {len(cases)} cases on the reference, {len(accusations)} accusations so far")
        for mutant in [mutant for mutant in mutants if not kills[mutant]]:
            if in_sight:
                if not bench.sees(mutant_engine(mutant)):
                    continue
                seen.add(mutant)
            unbroken = asked - frozenset().union(*kills.values())
            kills[mutant] = frozenset(bench.broken(mutant_engine(mutant), only=None if whole else unbroken))
            if not whole and not kills[mutant]:
                kills[mutant] = frozenset(itertools.islice(bench.broken(mutant_engine(mutant)), 1))
            progress(f"mutant {mutant}: {len(kills[mutant])} guarantees broken")
        if in_sight:
            pairs |= dict.fromkeys(pair for pair in pairs_of(m for m in mutants if kills[m]) if pair not in pairs)
        for pair in [pair for pair, row in pairs.items() if row is None]:
            likely = frozenset[Row]().union(*(kills[mutant] for mutant in pair.split("+")))
            pairs[pair] = next(bench.broken(mutant_engine(pair), likely), None)
            progress(f"mutants {pair}: {'caught' if pairs[pair] else 'not caught'}")
    if not in_sight:
        return SelfTest(kills, asked, tuple(accusations), pairs)
    caught = {mutant: rows for mutant, rows in kills.items() if rows}
    let_through = tuple(mutant for mutant in mutants if mutant in seen and mutant not in caught)
    hidden = tuple(mutant for mutant in mutants if mutant not in seen)
    return SelfTest(caught, asked, tuple(accusations), pairs, let_through, hidden)


OTHERS = 5
"""Number of other mutants that each mutant is paired with."""


def pairs_of(mutants: Iterable[str]) -> list[str]:
    """Each mutant paired with OTHERS compatible mutants, in an order that depends only on the names."""
    names = sorted(mutants)
    found: dict[str, None] = {}
    for name in names:
        others = sorted((other for other in names if other != name), key=lambda other: digest([name, other]))
        pairs = ("+".join(sorted((name, other))) for other in others)
        found |= dict.fromkeys(itertools.islice(filter(_can_be, pairs), OTHERS))
    return list(found)


def _can_be(pair: str) -> bool:
    try:
        load_engine(mutant_engine(pair))
    except UnknownName:
        return False
    return True


class _Bench:
    """The cases of one seed, with the reference's results for them, which are the same for every engine."""

    def __init__(self, scenarios: list[Scenario], cases: list[Case]) -> None:
        self._scenarios = scenarios
        self._programs = programs_of(scenarios)
        self._cases: dict[str, list[Case]] = {ref: [] for ref in self._programs}
        for case in cases:
            self._cases[program_ref(case.scenario, case.program)].append(case)
        self._specified = reference_traces(self._programs)(cases)

    def broken(self, name: str, likely: Collection[Row] = (), only: Collection[Row] | None = None) -> Iterator[Row]:
        """The guarantees, of all or ``only`` some, that an engine breaks, one after the other, those of ``likely`` first; a program is
        run when the first of its guarantees is asked for. What the engine does as the reference does it breaks nothing, because
        nothing accuses the reference: only the other cases are judged."""
        engine = load_engine(name)
        asked = [
            (scenario, guarantee)
            for scenario in self._scenarios
            for guarantee in scenario.guarantees
            if only is None or (scenario.id, guarantee.id) in only
        ]
        runs: dict[str, Runs] = {}
        suspects: dict[str, list[Case]] = {}
        for scenario, guarantee in sorted(asked, key=lambda row: (row[0].id, row[1].id) not in likely):
            ref = program_ref(scenario.id, guarantee.program)
            if ref not in runs:
                runs[ref] = self._run(engine, ref)
                suspects[ref] = self._suspects(ref, runs[ref].traces)
            cases = self._cases[ref] if guarantee.accounting else suspects[ref]
            if any(evidence.against for _, evidence in self._evidence(guarantee, ref, cases, runs[ref])):
                yield scenario.id, guarantee.id

    def sees(self, name: str) -> bool:
        """Whether an engine's answer to a case differs from the reference's: by the trace, or by the row counts of a
        pack if a guarantee is about row counts."""
        engine = load_engine(name)
        for ref, cases in self._cases.items():
            runs = self._run(engine, ref)
            if any(runs.traces[case.id] != self._specified[case.id] for case in cases):
                return True
            if ref in self._counts and _counts(runs) != self._counts[ref]:
                return True
        return False

    @cached_property
    def _counts(self) -> dict[str, list[tuple[StepCount, ...]]]:
        """The reference's row counts, for the programs with a guarantee about row counts."""
        refs = {program_ref(s.id, g.program) for s in self._scenarios for g in s.guarantees if g.accounting}
        return {ref: _counts(self._run(load_engine("reference"), ref)) for ref in refs}

    def accusations(self, name: str) -> Iterator[MatrixCell]:
        """The cells of an engine that are violated or in error, unconfirmed."""
        engine = load_engine(name)
        info = EngineInfo(engine.id, engine.title, engine.capabilities)
        for scenario in self._scenarios:
            runs = {program: self._run(engine, program_ref(scenario.id, program)) for program in scenario.programs}
            for guarantee in scenario.guarantees:
                ref = program_ref(scenario.id, guarantee.program)
                found = self._evidence(guarantee, ref, self._cases[ref], runs[guarantee.program])
                for perturbation, evidence in found:
                    if evidence.against or evidence.faults:
                        tally = Tally()
                        tally.add(evidence, scenario.programs[guarantee.program])
                        yield conclude(scenario, guarantee, perturbation, info, tally)

    def _run(self, engine: Engine, ref: str) -> Runs:
        runs = Runs()
        for pack in packs_of(self._cases[ref], engine.capabilities.largest_pack):
            runs.add(pack, engine.run(pack, self._programs))
        return runs

    def _suspects(self, ref: str, traces: Traces) -> list[Case]:
        """The cases whose results differ from the reference's, with their twins and their bases."""
        others = {case.id for case in self._cases[ref] if traces[case.id] != self._specified[case.id]}
        twins = [case for case in self._cases[ref] if case.base and not others.isdisjoint((case.id, case.base))]
        wanted = others.union(*((case.id, case.base) for case in twins))
        return [case for case in self._cases[ref] if case.id in wanted]

    def _evidence(
        self, guarantee: Guarantee, ref: str, cases: list[Case], runs: Runs
    ) -> Iterator[tuple[Perturbation | None, Evidence]]:
        """The evidence under each perturbation that these cases were made with."""
        made = {case.perturbation for case in cases}
        for perturbation in perturbations_of(guarantee):
            if not perturbation or perturbation.id in made:
                evidence = gather(
                    self._programs[ref], guarantee, perturbation, cases, runs, lambda cases: self._specified
                )
                yield perturbation, evidence


def _counts(runs: Runs) -> list[tuple[StepCount, ...]]:
    return [run.counts for _, run in runs.packs]


def judged(scenarios: list[Scenario], name: str, cases: list[Case]) -> list[MatrixCell]:
    """The unconfirmed cells of an engine that runs in this process."""
    engine = load_engine(name)
    programs = programs_of(scenarios)
    runs = Runs()
    for pack in packs_of(cases, engine.capabilities.largest_pack):
        runs.add(pack, engine.run(pack, programs))
    info = EngineInfo(engine.id, engine.title, engine.capabilities)
    reference = reference_traces(programs, engine.capabilities.lateness)
    return [cell for cell, _, _ in judge(scenarios, cases, runs, info, reference).cells()]

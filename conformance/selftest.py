"""Verify the verifier: the reference is never accused, every mutant is caught, alone and in company of another, and
every guarantee catches one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance import checking
from conformance.checking import Evidence, Runs, Tally, Traces
from conformance.engine import Engine, EngineInfo
from conformance.generation import draw_cases
from conformance.guarantees import Guarantee, Scenario, programs_of
from conformance.judging import judge
from conformance.model import Case, digest, program_ref
from conformance.packing import packs_of
from conformance.perturbation import Perturbation
from conformance.reading import text_of
from conformance.registry import UnknownName, load_engine
from conformance.results import Cell
from conformance.runner import exercised_by_any_reading
from conformance.specified import reference_traces

Row = tuple[str, str]
"""(scenario, guarantee)."""


SCHEMA = "conformance/selftest/1"


class UnreadableSelfTest(ValueError):
    """A file that is not a self-test of this version; the message says what is wrong with it."""


@dataclass(frozen=True)
class SelfTest:
    """What a self-test found.

    Attributes:
        kills: mutant -> the guarantees that it breaks.
        asked: every guarantee there is.
        accusations: cells of the reference that are violated or in error, over all seeds.
        pairs: two mutants in one -> a guarantee that it breaks, None where it breaks none.
    """

    kills: Mapping[str, frozenset[Row]]
    asked: frozenset[Row]
    accusations: tuple[Cell, ...]
    pairs: Mapping[str, Row | None] = field(default_factory=dict)

    @property
    def survivors(self) -> list[str]:
        """Mutants that nothing caught, alone or in pairs."""
        alone = [mutant for mutant, rows in self.kills.items() if not rows]
        return alone + [pair for pair, row in self.pairs.items() if row is None]

    @property
    def toothless(self) -> list[Row]:
        """Guarantees that caught nothing: a check that nothing can make fail is a defect."""
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
                tuple(map(Cell.from_json, data["accusations"])),
                {str(pair): found and row(found) for pair, found in data["pairs"].items()},
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
    progress: Callable[[str], None] = lambda text: None,
) -> SelfTest:
    """Run the reference, and the mutants and pairs of them that nothing has caught yet, on the cases of one seed after
    the other: of seed 0, with ``wanted`` cases a guarantee, to ``seeds`` - 1, with half as many. Without ``whole`` a mutant is asked for
    the guarantees that none has broken yet, and else for one that it breaks: enough to find a hole, and no kill matrix."""
    scenarios, mutants = list(scenarios), list(mutants)
    exercised = exercised_by_any_reading(scenarios)
    kills: dict[str, frozenset[Row]] = dict.fromkeys(mutants, frozenset())
    pairs: dict[str, Row | None] = dict.fromkeys(pairs_of(mutants))
    accusations: list[Cell] = []
    asked = frozenset((s.id, g.id) for s in scenarios for g in s.guarantees)
    for seed in range(seeds):
        cases = draw_cases(scenarios, wanted if seed == 0 else max(1, wanted // 2), seed, exercised)
        bench = _Bench(scenarios, cases)
        accusations += bench.accusations("reference")
        progress(f"seed {seed}: {len(cases)} cases on the reference, {len(accusations)} accusations so far")
        for mutant in [mutant for mutant in mutants if not kills[mutant]]:
            unbroken = asked - frozenset().union(*kills.values())
            kills[mutant] = frozenset(bench.broken(f"mutant:{mutant}", only=None if whole else unbroken))
            if not whole and not kills[mutant]:
                kills[mutant] = frozenset(itertools.islice(bench.broken(f"mutant:{mutant}"), 1))
            progress(f"mutant {mutant}: {len(kills[mutant])} guarantees broken")
        for pair in [pair for pair, row in pairs.items() if row is None]:
            likely = frozenset[Row]().union(*(kills[mutant] for mutant in pair.split("+")))
            pairs[pair] = next(bench.broken(f"mutant:{pair}", likely), None)
            progress(f"mutants {pair}: {'caught' if pairs[pair] else 'not caught'}")
    return SelfTest(kills, asked, tuple(accusations), pairs)


OTHERS = 5
"""With how many others each mutant is paired."""


def pairs_of(mutants: Iterable[str]) -> list[str]:
    """Each mutant with OTHERS others that can be one engine with it, in an order that depends on the names alone."""
    names = sorted(mutants)
    found: dict[str, None] = {}
    for name in names:
        others = sorted((other for other in names if other != name), key=lambda other: digest([name, other]))
        pairs = ("+".join(sorted((name, other))) for other in others)
        found |= dict.fromkeys(itertools.islice(filter(_can_be, pairs), OTHERS))
    return list(found)


def _can_be(pair: str) -> bool:
    try:
        load_engine(f"mutant:{pair}")
    except UnknownName:
        return False
    return True


class _Bench:
    """The cases of one seed, and what the reference does with them, which is the same for every engine."""

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

    def accusations(self, name: str) -> Iterator[Cell]:
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
                        yield checking.conclude(scenario, guarantee, perturbation, info, tally)

    def _run(self, engine: Engine, ref: str) -> Runs:
        runs = Runs()
        for pack in packs_of(self._cases[ref], engine.capabilities.largest_pack):
            runs.add(pack, engine.run(pack, self._programs))
        return runs

    def _suspects(self, ref: str, traces: Traces) -> list[Case]:
        """The cases that come out otherwise than on the reference, with their twins and those that they are twins of."""
        others = {case.id for case in self._cases[ref] if traces[case.id] != self._specified[case.id]}
        twins = [case for case in self._cases[ref] if case.base and not others.isdisjoint((case.id, case.base))]
        wanted = others.union(*((case.id, case.base) for case in twins))
        return [case for case in self._cases[ref] if case.id in wanted]

    def _evidence(
        self, guarantee: Guarantee, ref: str, cases: list[Case], runs: Runs
    ) -> Iterator[tuple[Perturbation | None, Evidence]]:
        """Under each perturbation that these cases are made with."""
        made = {case.perturbation for case in cases}
        for perturbation in checking.perturbations_of(guarantee):
            if not perturbation or perturbation.id in made:
                evidence = checking.gather(
                    self._programs[ref], guarantee, perturbation, cases, runs, lambda cases: self._specified
                )
                yield perturbation, evidence


def judged(scenarios: list[Scenario], name: str, cases: list[Case]) -> list[Cell]:
    """The cells of an engine that runs in this process, unconfirmed."""
    engine = load_engine(name)
    programs = programs_of(scenarios)
    runs = Runs()
    for pack in packs_of(cases, engine.capabilities.largest_pack):
        runs.add(pack, engine.run(pack, programs))
    info = EngineInfo(engine.id, engine.title, engine.capabilities)
    reference = reference_traces(programs, engine.capabilities.lateness)
    return [cell for cell, _, _ in judge(scenarios, cases, runs, info, reference).cells()]

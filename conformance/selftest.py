"""Verify the verifier: the reference is never accused, every mutant is caught, every guarantee catches one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from conformance import checking
from conformance.engine import EngineInfo
from conformance.generation import draw_cases
from conformance.guarantees import Scenario, programs_of
from conformance.model import Case
from conformance.registry import load_engine
from conformance.results import Cell, Verdict
from conformance.runner import exercised_by_any_reading, packs_of, reference_traces

Row = tuple[str, str]
"""(scenario, guarantee)."""


@dataclass(frozen=True)
class SelfTest:
    """What a self-test found.

    Attributes:
        kills: mutant -> the guarantees that it breaks.
        asked: every guarantee there is.
        accusations: cells of the reference that are violated or in error, over all seeds.
    """

    kills: Mapping[str, frozenset[Row]]
    asked: frozenset[Row]
    accusations: tuple[Cell, ...]

    @property
    def survivors(self) -> list[str]:
        """Mutants that nothing caught."""
        return [mutant for mutant, rows in self.kills.items() if not rows]

    @property
    def toothless(self) -> list[Row]:
        """Guarantees that caught nothing: a check that nothing can make fail is a defect."""
        return sorted(self.asked - frozenset().union(*self.kills.values()))

    @property
    def passed(self) -> bool:
        return not (self.survivors or self.toothless or self.accusations)


def selftest(
    scenarios: Iterable[Scenario],
    mutants: Iterable[str],
    *,
    wanted: int = 20,
    seeds: int = 20,
    progress: Callable[[str], None] = lambda text: None,
) -> SelfTest:
    """Run the mutants on the cases of seed 0, with ``wanted`` cases a guarantee, and the reference on the cases of
    seeds 0 to ``seeds`` - 1."""
    scenarios = list(scenarios)
    exercised = exercised_by_any_reading(scenarios)
    cases = draw_cases(scenarios, wanted, 0, exercised)
    kills = {}
    for mutant in mutants:
        cells = judged(scenarios, f"mutant:{mutant}", cases)
        kills[mutant] = frozenset(cell.row for cell in cells if cell.verdict is Verdict.VIOLATED)
        progress(f"mutant {mutant}: {len(kills[mutant])} guarantees broken")
    accusations: list[Cell] = []
    for seed in range(seeds):
        drawn = draw_cases(scenarios, max(1, wanted // 2), seed, exercised)
        accusations += [
            c for c in judged(scenarios, "reference", drawn) if c.verdict in (Verdict.VIOLATED, Verdict.ERROR)
        ]
        progress(f"seed {seed}: {len(drawn)} cases on the reference, {len(accusations)} accusations so far")
    asked = frozenset((s.id, g.id) for s in scenarios for g in s.guarantees)
    return SelfTest(kills, asked, tuple(accusations))


def judged(scenarios: list[Scenario], name: str, cases: list[Case]) -> list[Cell]:
    """The cells of an engine that runs in this process, unconfirmed."""
    engine = load_engine(name)
    programs = programs_of(scenarios)
    runs = checking.Runs()
    for pack in packs_of(cases, engine.capabilities.largest_pack):
        runs.add(pack, engine.run(pack, programs))
    info = EngineInfo(engine.id, engine.title, engine.capabilities)
    reference = reference_traces(programs, engine.capabilities.lateness)
    return [cell for cell, _, _ in checking.judge(scenarios, cases, runs, info, reference)]

"""Verify the verifier: nothing accuses the reference, every mutant is caught, every guarantee can fail."""

from collections import defaultdict

import pytest

from conformance import checking
from conformance.engine import EngineInfo
from conformance.generation import draw_cases
from conformance.guarantees import programs_of
from conformance.registry import load_engine, load_scenarios
from conformance.results import Verdict
from conformance.runner import exercised_by_any_reading, packs_of, reference_traces
from engines.mutants import MUTANTS

SCENARIOS = load_scenarios()
PROGRAMS = programs_of(SCENARIOS)


@pytest.fixture(scope="module")
def cases():
    return draw_cases(SCENARIOS, 20, 3, exercised_by_any_reading(SCENARIOS))


def _cells(name, cases):
    engine = load_engine(name)
    info = EngineInfo(engine.id, engine.title, engine.capabilities)
    runs = checking.Runs()
    for pack in packs_of(cases, 1_000):
        runs.add(pack, engine.run(pack, PROGRAMS))
    reference = reference_traces(PROGRAMS, engine.capabilities.lateness)
    for scenario, guarantee, perturbation in checking.cells_asked(SCENARIOS):
        mine = [c for c in cases if (c.scenario, c.program) == (scenario.id, guarantee.program)]
        evidence = checking.gather(guarantee, perturbation, mine, runs, reference)
        yield checking.conclude(scenario, guarantee, perturbation, info, evidence)


@pytest.fixture(scope="module")
def kills(cases):
    """Mutant -> the (scenario, guarantee) rows that it breaks."""
    found = defaultdict(set)
    for mutant in MUTANTS:
        found[mutant] = {c.row for c in _cells(f"mutant:{mutant}", cases) if c.verdict is Verdict.VIOLATED}
    return found


def test_every_guarantee_holds_on_the_reference(cases):
    """So the programs, the predicates and the perturbations are right; and every cell but one's own is exercised."""
    cells = list(_cells("reference", cases))
    assert {(*c.row, c.perturbation, c.reason) for c in cells if c.verdict is not Verdict.HOLDS} == set()


@pytest.mark.parametrize("seed", range(5))
def test_the_reference_is_never_accused(seed):
    """Whatever the seed."""
    drawn = draw_cases(SCENARIOS, 10, seed, exercised_by_any_reading(SCENARIOS))
    assert [c for c in _cells("reference", drawn) if c.verdict in (Verdict.VIOLATED, Verdict.ERROR)] == []


def test_every_mutant_is_caught(kills):
    assert [mutant for mutant, rows in kills.items() if not rows] == []


def test_every_guarantee_catches_a_mutant(kills):
    """A check that nothing can make fail is a defect."""
    asked = {(s.id, g.id) for s in SCENARIOS for g in s.guarantees}
    assert asked - set().union(*kills.values()) == set()

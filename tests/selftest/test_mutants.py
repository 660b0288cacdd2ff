"""Verify the verifier: nothing accuses the reference, every mutant is caught, every guarantee can fail."""

import io

import pytest
from rich.console import Console

from conformance.generation import draw_cases
from conformance.registry import load_scenarios, mutant_ids
from conformance.results import Verdict
from conformance.runner import exercised_by_any_reading
from conformance.selftest import SelfTest, judged, selftest
from reports import kills

SCENARIOS = load_scenarios()


@pytest.fixture(scope="module")
def found():
    return selftest(SCENARIOS, mutant_ids(), wanted=20, seeds=5)


def test_every_guarantee_holds_on_the_reference():
    """So the programs, the predicates and the perturbations are right; and every cell is exercised."""
    cases = draw_cases(SCENARIOS, 20, 3, exercised_by_any_reading(SCENARIOS))
    cells = judged(SCENARIOS, "reference", cases)
    assert {(*c.row, c.perturbation, c.reason) for c in cells if c.verdict is not Verdict.HOLDS} == set()


def test_the_reference_is_never_accused(found):
    """Whatever the seed."""
    assert found.accusations == ()


def test_every_mutant_is_caught(found):
    assert len(found.kills) >= 40
    assert found.survivors == []


def test_every_guarantee_catches_a_mutant(found):
    """A check that nothing can make fail is a defect."""
    assert found.toothless == []


def test_the_kill_matrix_names_what_is_broken(found):
    page = kills.render(found)
    assert all(mutant in page for mutant in found.kills)
    assert "Every mutant is caught" in page


def test_a_failing_selftest_says_why():
    """A survivor, a toothless guarantee and an accusation are each a line."""
    broken = judged(
        SCENARIOS[:1], "mutant:output-twice", draw_cases(SCENARIOS[:1], 5, 1, exercised_by_any_reading(SCENARIOS[:1]))
    )
    accusation = next(cell for cell in broken if cell.verdict is Verdict.VIOLATED)
    found = SelfTest({"harmless": frozenset()}, frozenset({("s", "g")}), (accusation,))
    console = Console(file=io.StringIO(), record=True, width=200)
    kills.show(found, console)
    text = console.export_text()
    assert not found.passed
    assert "the mutant harmless survives" in text
    assert "nothing makes the guarantee s/g fail" in text
    assert "the reference is accused" in text
    assert "harmless survives" in kills.render(found)

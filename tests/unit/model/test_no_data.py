"""Bundles without any element: what they ask of an engine, and bugs that only they show."""

from dataclasses import replace

import pytest
from drawn import SEED, suite_of
from isolated import judged

from conformance.judgement.cell import Verdict
from conformance.model.feature import Feature, unsupported
from conformance.model.perturbation import BY_ID, EMPTY_BUNDLE, NO_DATA, factors_of
from conformance.model.scenario import programs_of
from conformance.plugins.registry import load_engine, load_scenarios

SCENARIOS = load_scenarios(["event-time-timers", "per-key-counting", "timer-firing"])


@pytest.fixture(scope="module")
def drawn():
    return suite_of(SCENARIOS, 2, SEED).cases


def test_twins_without_data_are_added_and_change_no_other_case(drawn):
    """An engine without the feature is given all others."""
    twins = [case for case in drawn if NO_DATA.id in factors_of(case.perturbation)]
    assert {case.scenario for case in twins} == {scenario.id for scenario in SCENARIOS}
    assert {case.base for case in twins} <= {case.id for case in drawn}
    reference = load_engine("reference").capabilities
    lacking = replace(reference, features={**reference.features, Feature.NO_DATA: unsupported("never")})
    programs = programs_of(SCENARIOS)
    taken = [case for case in drawn if lacking.takes(case, programs[f"{case.scenario}/{case.program}"])]
    assert taken == [case for case in drawn if Feature.NO_DATA not in case.schedule.needs]


def test_what_is_promised_of_an_empty_bundle_is_promised_without_data():
    for scenario in load_scenarios():
        for promised in scenario.stable_under.values():
            assert promised.get(NO_DATA.id) == promised.get(EMPTY_BUNDLE.id)


@pytest.mark.parametrize(
    "mutant", ["state-lost-without-data", "timers-lost-without-data", "due-timers-lost-without-data"]
)
def test_a_bug_that_only_a_bundle_without_data_shows_is_caught_there_alone(mutant, drawn):
    judgement, _ = judged(SCENARIOS, load_engine(f"mutant:{mutant}"), drawn, SEED)
    violated = {cell.perturbation for cell, _, _ in judgement.cells() if cell.verdict is Verdict.VIOLATED}
    assert NO_DATA.id in violated
    # Beside another change, another place of a bundle without data may be what it takes.
    assert all(NO_DATA.id in factors_of(perturbation) for perturbation in violated)


def test_the_reference_holds_in_bundles_without_data(drawn):
    judgement, _ = judged(SCENARIOS, load_engine("reference"), drawn, SEED)
    cells = [cell for cell, _, _ in judgement.cells() if cell.perturbation == NO_DATA.id]
    assert {cell.verdict for cell in cells} <= {Verdict.HOLDS, Verdict.UNKNOWN}
    assert any(cell.verdict is Verdict.HOLDS and "stable" in cell.guarantee for cell in cells)
    assert BY_ID["no-data"] is NO_DATA

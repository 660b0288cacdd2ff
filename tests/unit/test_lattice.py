"""The equivalence lattice: its order, what programs promise, and what a broken engine loses."""

import pytest

from conformance import checking
from conformance.engine import EngineInfo
from conformance.equivalence import IMPLIES, Equivalence, alike, maximal
from conformance.generation import draw_cases
from conformance.guarantees import programs_of, promise
from conformance.lattice import survey
from conformance.packing import packs_of
from conformance.perturbation import PERTURBATIONS, REORDER_KEY, REORDERINGS, RETRY, REVERSE
from conformance.registry import load_engine, load_scenarios
from conformance.runner import exercised_by_any_reading, reference_traces

SCENARIOS = load_scenarios()
PROGRAMS = programs_of(SCENARIOS)


@pytest.fixture(scope="module")
def cases():
    return draw_cases(SCENARIOS, 20, 3, exercised_by_any_reading(SCENARIOS))


def _runs(engine, cases):
    runs = checking.Runs()
    for pack in packs_of(cases, 1_000):
        runs.add(pack, engine.run(pack, PROGRAMS))
    return runs


def _survey(name, cases, runs=None):
    engine = load_engine(name)
    info = EngineInfo(engine.id, engine.title, engine.capabilities)
    reference = reference_traces(PROGRAMS, engine.capabilities.lateness)
    found = survey(SCENARIOS, cases, _runs(engine, cases) if runs is None else runs, info, reference)
    return {(s.scenario, s.program, s.perturbation): s for s in found}


def test_the_order_is_partial():
    """The same multiset does not imply the same last value, nor the other way round."""
    assert maximal(Equivalence) == [Equivalence.IDENTICAL]
    both = [Equivalence.SAME_MULTISET, Equivalence.SAME_FINAL_VALUE]
    assert maximal([*both, Equivalence.SAME_UP_TO_RELABELLING]) == both
    assert maximal([]) == []
    for stronger, weaker in IMPLIES.items():
        assert stronger not in weaker
        assert all(IMPLIES[w] <= weaker for w in weaker)


def test_every_promise_is_kept_by_the_reference_on_every_pair(cases):
    """So that calling pairs inapplicable can hide nothing that was promised."""
    promised = 0
    for survival in _survey("reference", cases).values():
        for grade in survival.grades:
            assert grade.refuted == 0
            if grade.equivalence is survival.promised:
                promised += 1
                assert (grade.counted, grade.inapplicable) == (survival.pairs, 0)
    assert promised == sum(len(kept) for s in SCENARIOS for kept in s.survives.values())


def test_a_promise_names_perturbations():
    assert promise([REORDER_KEY, REVERSE], Equivalence.IDENTICAL) == {
        "reorder-key": Equivalence.IDENTICAL,
        "reverse": Equivalence.IDENTICAL,
    }


def test_every_program_is_surveyed_under_every_perturbation(cases):
    surveyed = _survey("reference", cases)
    assert surveyed.keys() == {(s.id, name, p.id) for s in SCENARIOS for name in s.programs for p in PERTURBATIONS}
    assert sum(survival.pairs for survival in surveyed.values()) == sum(bool(case.base) for case in cases)


def test_a_broken_engine_loses_its_equivalence(cases):
    """Dropping what is out of order breaks the counts of reordered twins; the smallest pair is kept."""
    runs, program = _runs(load_engine("mutant:out-of-order-dropped"), cases), PROGRAMS["per-key-counting/count"]
    surveyed = _survey("mutant:out-of-order-dropped", cases, runs)
    seen = {case.id: (case.schedule, runs.traces[case.id]) for case in cases}
    reordered = [case for case in cases if case.program == "count" and case.perturbation in {p.id for p in REORDERINGS}]
    refuting = [c for c in reordered if Equivalence.IDENTICAL not in alike(program, seen[c.base], seen[c.id])]
    assert refuting
    for perturbation in {case.perturbation for case in refuting}:
        survival = surveyed["per-key-counting", "count", perturbation]
        assert survival.promised is Equivalence.IDENTICAL
        assert Equivalence.IDENTICAL not in survival.observed
        base, twin = survival.grades[0].smallest
        assert base.id == twin.base
        assert twin.size == min(case.size for case in refuting if case.perturbation == perturbation)
        assert all(survival.traces[case.id] == runs.traces[case.id] for case in (base, twin))


def test_a_case_that_a_failure_did_not_reach_says_nothing_of_it(cases):
    runs = _runs(load_engine("reference"), cases)
    retried = [case for case in cases if case.perturbation == RETRY.id]
    before = sum(s.pairs for key, s in _survey("reference", cases, runs).items() if key[2] == RETRY.id)
    runs.untouched = {retried[0].id}
    after = sum(s.pairs for key, s in _survey("reference", cases, runs).items() if key[2] == RETRY.id)
    assert (before, after) == (len(retried), len(retried) - 1)


@pytest.mark.parametrize("perturbation", PERTURBATIONS, ids=lambda p: p.id)
def test_an_engine_of_one_bundle_and_no_watermark_cannot_be_asked_all(perturbation):
    """What is missing is named: something that the perturbation needs."""
    survival = _survey("beam-fnapi", [], checking.Runs())["per-key-counting", "count", perturbation.id]
    named = {survival.unsupported.partition(":")[0]}
    assert named <= ({need.value for need in perturbation.needs} or {""})
    assert survival.observed == []

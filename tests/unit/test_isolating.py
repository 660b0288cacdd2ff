"""Which of the changes of a failing twin it takes to fail."""

import itertools
from dataclasses import replace

import pytest
from drawn import suite_of
from isolated import judged

from conformance.confirmation.isolation import smallest
from conformance.judgement.cell import AS_DRAWN, Verdict
from conformance.model.perturbation import NO_DATA, RESTART, RESUME, RETRY, factors_of
from conformance.plugins.registry import load_engine, load_scenarios

FIVE = ("finer", "shift", "no-data", "restart.2", "retry.1")
PAIRS = [*itertools.combinations(FIVE, 2)]


def searched(parts, fails, known=frozenset()):
    """(the smallest sets, how many rounds it took)"""
    search, rounds = smallest(parts, known), 0
    try:
        asked = next(search)
        while True:
            rounds += 1
            asked = search.send(frozenset(found for found in asked if fails(set(found))))
    except StopIteration as end:
        return [set(found) for found in end.value], rounds


@pytest.mark.parametrize("cause", FIVE)
def test_one_cause_is_found_by_halves(cause):
    found, rounds = searched(FIVE, lambda parts: cause in parts)
    assert found == [{cause}]
    assert rounds <= 4, "three to find it, and one for the others"


@pytest.mark.parametrize("causes", PAIRS, ids="+".join)
def test_two_causes_that_need_each_other_are_one_set(causes):
    found, _ = searched(FIVE, lambda parts: set(causes) <= parts)
    assert found == [set(causes)]


@pytest.mark.parametrize("causes", PAIRS, ids="+".join)
def test_two_causes_that_fail_by_themselves_are_both_found(causes):
    found, _ = searched(FIVE, lambda parts: parts & set(causes))
    assert sorted(found, key=min) == sorted(({cause} for cause in causes), key=min)


def test_a_cause_hides_neither_another_one_nor_a_pair():
    found, _ = searched(FIVE, lambda parts: "shift" in parts or {"finer", "retry.1"} <= parts)
    assert sorted(found, key=len) == [{"shift"}, {"finer", "retry.1"}]


def test_three_causes_that_need_each_other_are_one_set():
    assert searched(FIVE, lambda parts: len(parts) >= 5)[0] == [set(FIVE)]
    assert searched(FIVE, lambda parts: {"finer", "no-data", "retry.1"} <= parts)[0] == [
        {"finer", "no-data", "retry.1"}
    ]


def test_what_does_not_fail_again_ends_the_search():
    """An engine may answer otherwise each time."""
    found, rounds = searched(FIVE, lambda parts: False)
    assert found == [set(FIVE)]
    assert rounds <= 2


@pytest.mark.parametrize("known", [{"restart"}, {"restart", "shift"}, set(FIVE) | {"restart", "retry"}])
def test_what_a_stored_witness_shows_to_fail_is_asked_once(known):
    """Without it, at its level or another one, the twin does not fail: nothing else is asked."""
    found, rounds = searched(FIVE, lambda parts: "restart.2" in parts, frozenset(known))
    [explained] = found
    assert "restart.2" in explained
    assert {factors_of(part)[0] for part in explained} <= known
    assert rounds <= 1


def test_beside_what_is_known_another_cause_is_found():
    found, _ = searched(FIVE, lambda parts: parts & {"restart.2", "shift"}, frozenset({"restart"}))
    assert found == [{"restart.2"}, {"shift"}]


SCENARIOS = load_scenarios(["per-key-counting"])


@pytest.fixture(scope="module")
def cases():
    return suite_of(SCENARIOS, 1, 1).cases


def violated(judgement):
    return {cell.perturbation for cell, _, _ in judgement.cells() if cell.verdict is Verdict.VIOLATED}


@pytest.mark.parametrize(
    ("mutant", "causes"),
    [
        ("state-lost-on-restart", {RESTART}),
        ("retry-loses-its-writes", {RETRY, RESUME}),
        ("state-lost-without-data", {NO_DATA}),
    ],
)
def test_a_bug_under_one_change_is_taken_apart_to_that_change(mutant, causes, cases):
    """Though each of its cases has others beside it."""
    engine = load_engine(f"mutant:{mutant}")
    judgement, isolated = judged(SCENARIOS, engine, cases, 1)
    assert violated(judgement) == {cause.id for cause in causes}
    assert isolated.explained
    assert isolated.smallest == set()
    for cell, _, against in judgement.cells():
        if cell.verdict is Verdict.VIOLATED:
            assert {factors_of(a.case.perturbation) for a in against} == {(cell.perturbation,)}


def test_what_the_changes_beside_a_cause_do_is_evidence_too(cases):
    """The twins without the cause ran, and hold."""
    judgement, _ = judged(SCENARIOS, load_engine("mutant:state-lost-on-restart"), cases, 1)
    beside = {factors_of(case.perturbation)[0] for case in cases if RESTART.id in factors_of(case.perturbation)}
    whole = {c.perturbation: c.verdict for c, g, _ in judgement.cells() if g.complete}
    assert whole[AS_DRAWN] is Verdict.HOLDS
    assert {whole[name] for name in beside - {RESTART.id}} == {Verdict.HOLDS}


def test_a_bug_that_needs_two_changes_has_a_cell_of_both(cases):
    reference = load_engine("reference")
    both = {"restart", "shift"}

    class Both:
        """Puts out nothing where a job is restarted and its times are shifted."""

        id, title, capabilities = "both", "", reference.capabilities

        def run(self, pack, programs):
            run = reference.run(pack, programs)
            name = {p for case in pack.cases for p in factors_of(case.perturbation)}
            traces = {n: replace(t, emissions=()) if both <= name else t for n, t in run.traces.items()}
            return replace(run, traces=traces)

    asked = [case for case in cases if not case.base or both <= {*factors_of(case.perturbation)}]
    assert any(case.base for case in asked)
    judgement, isolated = judged(SCENARIOS, Both(), asked, 1)
    assert violated(judgement) == {"shift+restart"}
    assert isolated.smallest
    cells = [cell for cell, _, _ in judgement.cells() if cell.perturbation == "shift+restart"]
    assert all(cell.cases and cell.violations == cell.cases for cell in cells)


def test_a_bug_that_cases_as_drawn_show_is_not_taken_apart(cases):
    engine = load_engine("mutant:output-twice")
    asked = []

    class Watched:
        id, title, capabilities = engine.id, engine.title, engine.capabilities

        def run(self, pack, programs):
            asked.extend(pack.cases)
            return engine.run(pack, programs)

    judgement, isolated = judged(SCENARIOS, Watched(), cases, 1)
    assert AS_DRAWN in violated(judgement)
    fails = {case.base for _, _, case in isolated.explained}
    assert not fails

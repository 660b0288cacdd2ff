"""What a program promises under perturbations is a guarantee: with cells, verdicts, a witness, and the gate's
attention."""

import datetime
from dataclasses import replace

import pytest
from drawn import SEED, suite_of
from inprocess import PROGRAMS, InProcess
from isolated import judged

from conformance.comparison.gate import Outcome, gate
from conformance.confirmation.confirmer import Confirmer
from conformance.confirmation.targets import Violation
from conformance.judgement.cell import Verdict
from conformance.judgement.evidence import puts_to_test
from conformance.judgement.reference import reference_traces
from conformance.judgement.verdict import fold
from conformance.model.engine import EngineInfo
from conformance.model.equivalence import IMPLIES, Equivalence
from conformance.model.perturbation import BY_ID, INTERLEAVE, RESTART, REVERSE, SPLIT
from conformance.model.program import Program
from conformance.model.scenario import Domain, Guarantee, Scenario, programs_of, promise
from conformance.plugins.loading import narrowed
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.results.baseline import Baseline, Standing
from conformance.results.changes import Kind, changes
from conformance.run.drawing import batches

SCENARIOS = load_scenarios()
COUNTING = next(s for s in SCENARIOS if s.id == "per-key-counting")
STABLE = "the-output-is-stable-under-perturbations-identical"
BROKEN = "mutant:out-of-order-dropped"


def test_every_promise_is_asked_once_by_a_guarantee_at_least_as_strong():
    for scenario in [scenario for scenario in SCENARIOS if scenario.complete]:
        for name, promised in scenario.stable_under.items():
            for perturbation, up_to in promised.items():
                asking = [
                    g
                    for g in scenario.guarantees
                    if g.program == name
                    and not g.needs
                    and BY_ID[perturbation] in g.same_under
                    and up_to in {g.alike, *IMPLIES[g.alike]}
                ]
                promised_here = [g for g in asking if g.promised]
                assert len(promised_here) == (len(asking) == len(promised_here)), (scenario.id, name, perturbation)


def test_a_promise_that_a_guarantee_makes_in_its_own_words_is_not_asked_twice():
    stated = Guarantee("order does not matter", "p", same_under=(REVERSE,))
    promised = promise([REVERSE, SPLIT], Equivalence.SAME_MULTISET) | promise([RESTART], Equivalence.IDENTICAL)
    scenario = Scenario("s", "", {"p": Program()}, {"p": Domain((0,))}, (stated,), {"p": promised})
    found = {g.id: (g.alike, g.same_under) for g in scenario.guarantees if g.promised}
    assert found == {
        "the-output-is-stable-under-perturbations-identical": (Equivalence.IDENTICAL, (RESTART,)),
        "the-output-is-stable-under-perturbations-same-multiset": (Equivalence.SAME_MULTISET, (SPLIT,)),
    }


def test_no_case_is_an_occasion_for_a_guarantee_where_it_says_so():
    vacuous = [(s, g) for s in SCENARIOS for g in s.guarantees if g.vacuous_under]
    assert vacuous
    for scenario, guarantee in vacuous:
        program = scenario.programs[guarantee.program]
        asked = [replace(guarantee, vacuous_under=())]
        reference = reference_traces(programs_of([scenario]))
        mine = [c for batch in batches([scenario], 4, SEED) for c in batch if c.program == guarantee.program]
        twins = [(case, twin) for case in mine for p in guarantee.vacuous_under if (twin := p.twin(case, SEED))]
        tested = {goal for case, twin in twins for goal in puts_to_test(program, asked, case, twin, reference)}
        assert twins
        assert not tested, (guarantee.id, tested)
        assert any(puts_to_test(program, asked, case, case, reference) for case in mine)


def test_promises_stay_as_they_are_when_a_scenario_is_narrowed():
    scenario = next(s for s in SCENARIOS if len(s.programs) > 1 and s.stable_under)
    name = next(iter(scenario.stable_under))
    mine = [g.id for g in scenario.guarantees if g.promised and g.program == name]
    assert [g.id for g in narrowed(scenario, [name]).guarantees if g.promised] == mine


def test_promises_draw_no_cases():
    """So that the same seed gives the same cases as drawn, whatever a program promises."""
    nothing = replace(COUNTING, stable_under={}, guarantees=tuple(g for g in COUNTING.guarantees if not g.promised))
    bases = [[case for case in suite_of([s], 4, SEED).cases if not case.base] for s in (COUNTING, nothing)]
    assert bases[0] == bases[1]


@pytest.fixture(scope="module")
def drawn():
    """A suite, and each of its cases as drawn in reverse: a suite is content with elements of several keys that change
    places."""
    cases = suite_of([COUNTING], 4, SEED).cases
    reversed_ = (REVERSE.twin(case, SEED) for case in cases if not case.base)
    return [*{case.id: case for case in (*cases, *filter(None, reversed_))}.values()]


def _judged(name, cases):
    engine = load_engine(name)
    info = EngineInfo("engine", engine.title, engine.capabilities, environment={"fake": "1"})
    return info, judged([COUNTING], engine, cases, SEED, info)[0]


@pytest.fixture(scope="module")
def broken(drawn):
    """The confirmed cells of an engine that breaks promises, and their witnesses."""
    info, judgement = _judged(BROKEN, drawn)
    cells = list(judgement.cells())
    violations = [Violation(c, g, tuple(against)) for c, g, against in cells if c.verdict is Verdict.VIOLATED]
    reference = reference_traces(PROGRAMS)
    process = InProcess(load_engine(BROKEN))
    confirmer = Confirmer(info, [COUNTING], references=lambda lateness: reference, process=process)
    confirmed = confirmer.confirm(violations, judgement.runs, judgement.cases, [])
    by_cell = {id(v.cell): cell for v, cell in zip(violations, confirmed, strict=True)}
    return [by_cell.get(id(cell), cell) for cell, _, _ in cells], confirmer.witnesses


def test_a_broken_promise_is_a_violated_cell_with_a_reduced_witness(broken):
    cells, witnesses = broken
    mine = {cell.perturbation: cell for cell in cells if cell.guarantee == STABLE}
    (promised,) = [g for g in COUNTING.guarantees if g.id == STABLE]
    assert list(mine) == [p.id for p in promised.same_under]
    assert RESTART.id not in mine
    cell = mine[REVERSE.id]
    assert cell.verdict is Verdict.VIOLATED
    witness = witnesses[cell.witness]
    assert witness.guarantee == STABLE
    assert witness.base is not None
    assert len(witness.case.schedule.arrivals) == 2, "one element out of order, and one before it"
    of_each = {w.id: [(c.failed, c.runs) for c in w.confirmations] for w in witnesses.values() if w.guarantee == STABLE}
    assert sorted(of_each.values()) == [[(1, 1)]] * (len(of_each) - 1) + [[(3, 3)]], "the first runs alone three times"
    assert mine[INTERLEAVE.id].verdict is Verdict.HOLDS, "interleaved keys keep their order"
    assert fold(mine.values()).verdict is Verdict.VIOLATED


def test_the_reference_keeps_the_promise_in_every_cell(drawn):
    _, judgement = _judged("reference", drawn)
    mine = [cell for cell, _, _ in judgement.cells() if cell.guarantee == STABLE]
    assert {cell.verdict for cell in mine} == {Verdict.HOLDS}


def _baseline(cells):
    standings = {
        (c.engine, c.scenario, c.guarantee, c.perturbation): Standing(c.verdict, c.cases, c.witness)
        for c in cells
        if c.guarantee == STABLE
    }
    return Baseline("1", "cases", {"engine": {"fake": "1"}}, standings)


def test_the_gate_and_the_changes_see_a_promise_break_and_come_back(drawn, broken):
    kept = _baseline(cell for cell, _, _ in _judged("reference", drawn)[1].cells())
    lost = _baseline(broken[0])
    report = gate(lost, kept, (), today=datetime.date(2026, 1, 1))
    blocked = {(r.guarantee, r.ruling.why) for r in report.of(Outcome.BLOCKS)}
    assert (STABLE, "held, is violated") in blocked
    assert REVERSE.id in {p for r in report.of(Outcome.BLOCKS) for p in r.perturbations}
    assert {(c.about, c.kind) for c in changes(lost, kept)} >= {(STABLE, Kind.FIX)}
    assert {(c.about, c.kind) for c in changes(kept, lost)} >= {(STABLE, Kind.REGRESSION)}
    assert gate(kept, lost, (), today=datetime.date(2026, 1, 1)).open

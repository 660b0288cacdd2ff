"""Judgement of twins under several perturbations at once: what they are evidence for, and what is left once they are
taken apart."""

from dataclasses import replace

import pytest

from conformance.engines.reference import SPECIFIED
from conformance.judgement.batches import Isolated, Judgement, check
from conformance.judgement.cell import AS_DRAWN, Verdict
from conformance.judgement.evidence import Runs, about_of, gather, puts_to_test
from conformance.model.case import Case
from conformance.model.engine import Capabilities, EngineInfo
from conformance.model.feature import NATIVE, Feature
from conformance.model.perturbation import RESTART, RETRY, REVERSE, SHIFT_TIMES
from conformance.model.program import Program
from conformance.model.scenario import Guarantee, Scenario
from conformance.model.schedule import Advance, Deliver, Event, FailOnce, Schedule, renumbered
from conformance.model.trace import Emission, Trace

PROGRAM = Program()


def no_wrong(run):
    for value in (emission.value for emission in run.emissions):
        yield value != "wrong" or f"{value} in {run.case.schedule.arrivals[0].event.id}"


CHECKED = Guarantee("nothing is wrong", "p", no_wrong)
RELATED = Guarantee("twins agree", "p", same_under=(RESTART, RETRY))
SCENARIO = Scenario("s", "", {"p": PROGRAM}, {"p": None}, (CHECKED, RELATED), complete=False)
INFO = EngineInfo("e", "", Capabilities(dict.fromkeys(Feature, NATIVE), SPECIFIED))


def case(name, **more):
    steps = (Advance(0, 10), Deliver(1, (Event(name, "a", None, 20),)), Advance(2, 30))
    return Case("s", "p", Schedule(steps), **more)


def trace(*values):
    return Trace(tuple(Emission("a", value, 1) for value in values))


def twin(perturbation, base=None):
    base = base or BASE
    return replace(base, perturbation=perturbation, base=base.id)


BASE, OTHER = case("e1"), case("e2")
BOTH = twin("shift+restart.2")
FAILED = replace(
    twin("shift+retry"), schedule=renumbered([BASE.schedule.steps[0], FailOnce(0), *BASE.schedule.steps[1:]])
)


def right(cases):
    """A reference that gives the same for every case."""
    return {case.id: trace(1) for case in cases}


def checked(answers, untouched=()):
    """What a check finds for cases with these answers; each other case answered as the reference does."""
    cases = [BASE, OTHER, *answers]
    runs = Runs({c.id: answers.get(c, trace(1)) for c in cases}, untouched={c.id for c in untouched})
    return check([SCENARIO], cases, runs, INFO, right), cases, runs


def cells(found, cases, runs):
    judgement = Judgement([SCENARIO], INFO)
    judgement.add(found, {case.id: case for case in cases}, runs.traces, {})
    return {(g.id, cell.perturbation): cell for cell, g, _ in judgement.cells()}


def test_a_twin_is_evidence_for_each_of_its_perturbations():
    runs = Runs({c.id: trace(1) for c in (BASE, BOTH)})
    found = gather(PROGRAM, CHECKED, [BASE, BOTH], runs, right)
    assert {name: evidence.exercised for name, evidence in found.items()} == {
        "": [BASE],
        "shift": [BOTH],
        "restart": [BOTH],
    }
    found = gather(PROGRAM, RELATED, [BASE, BOTH], runs, right)
    assert {name: evidence.exercised for name, evidence in found.items()} == {"restart": [BOTH]}


def test_what_a_case_can_be_evidence_for():
    assert about_of(CHECKED, BASE) == [""]
    assert about_of(CHECKED, BOTH) == ["shift", "restart"]
    assert about_of(RELATED, BASE) == []
    assert about_of(RELATED, BOTH) == ["restart"]
    assert about_of(CHECKED, FAILED) == ["shift", "retry"]
    assert about_of(CHECKED, FAILED, {FAILED.id}) == ["shift"], "the failure did not reach it"
    assert about_of(RELATED, FAILED, {FAILED.id}) == []


def test_a_failure_that_did_not_reach_a_case_leaves_what_else_changes():
    found, _, _ = checked({FAILED: trace("wrong")}, untouched=[FAILED])
    assert found.evidence["s", CHECKED.id, "shift"].exercised == [FAILED]
    assert found.evidence["s", CHECKED.id, "retry"].exercised == []
    assert found.evidence["s", RELATED.id, "retry"].exercised == []


def test_a_twin_puts_guarantees_to_the_test_under_each_perturbation():
    found = puts_to_test(PROGRAM, [CHECKED, RELATED], BASE, BOTH, right)
    assert found == {(CHECKED.id, "shift"), (CHECKED.id, "restart"), (RELATED.id, "restart")}
    assert puts_to_test(PROGRAM, [CHECKED, RELATED], BASE, BASE, right) == {(CHECKED.id, "")}
    empty = replace(FAILED, schedule=FAILED.schedule.with_bundles({2: ()}))
    assert (RELATED.id, "retry") in puts_to_test(PROGRAM, [RELATED], BASE, FAILED, right)
    assert puts_to_test(PROGRAM, [RELATED], BASE, empty, right) == set(), "the bundle that fails is empty"


def test_failures_under_several_perturbations_are_entangled():
    found, _, _ = checked({BOTH: trace("wrong"), twin("shift"): trace("wrong")})
    assert {(guarantee, name) for _, guarantee, name in found.entangled} == {
        (CHECKED.id, BOTH.id),
        (RELATED.id, BOTH.id),
    }


def test_what_fails_as_drawn_is_not_entangled():
    """The perturbations are not its cause. A relation says that they are."""
    found, cases, runs = checked({BOTH: trace("wrong")})
    runs.traces[BASE.id] = trace("wrong")
    found = check([SCENARIO], cases, runs, INFO, right)
    assert found.entangled == {}
    of_another = twin("shift+restart", OTHER)
    found, _, _ = checked({BOTH: trace(1), of_another: trace("wrong")})
    assert {name for _, _, name in found.entangled} == {of_another.id}


def test_what_is_explained_speaks_neither_for_nor_against_anything():
    alone = twin("restart.2")
    found, cases, runs = checked({BOTH: trace("wrong"), alone: trace("wrong")})
    settled = found.settled(Isolated(explained={("s", g.id, BOTH.id) for g in (CHECKED, RELATED)}))
    found = cells(settled, cases, runs)
    assert found[CHECKED.id, "restart"].verdict is Verdict.VIOLATED
    assert found[CHECKED.id, "restart"].violations == 1
    assert found[RELATED.id, "restart"].verdict is Verdict.VIOLATED
    assert found[CHECKED.id, "shift"].verdict is Verdict.UNKNOWN, "nothing else put it to the test"
    assert found[CHECKED.id, AS_DRAWN].verdict is Verdict.HOLDS
    assert not any("+" in name for _, name in found)


def test_what_needs_two_perturbations_has_a_cell_of_both():
    found, cases, runs = checked({BOTH: trace("wrong"), twin("shift"): trace(1), twin("restart.2"): trace(1)})
    settled = found.settled(Isolated(smallest={("s", CHECKED.id, BOTH.id)}, explained={("s", RELATED.id, BOTH.id)}))
    found = cells(settled, cases, runs)
    both = found[CHECKED.id, "shift+restart"]
    assert (both.verdict, both.cases, both.violations) == (Verdict.VIOLATED, 1, 1)
    assert both.reason == "wrong in e1"
    for name in ("shift", "restart"):
        assert found[CHECKED.id, name].verdict is Verdict.HOLDS
    assert (RELATED.id, "shift+restart") not in found


@pytest.mark.parametrize("perturbation", [SHIFT_TIMES, RESTART], ids=lambda p: p.id)
def test_without_isolation_a_failure_speaks_against_each_perturbation(perturbation):
    found = cells(*checked({BOTH: trace("wrong")}))
    assert found[CHECKED.id, perturbation.id].verdict is Verdict.VIOLATED
    assert found[CHECKED.id, REVERSE.id].verdict is Verdict.UNKNOWN

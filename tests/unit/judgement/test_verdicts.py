"""Verdicts are decided in one place, and each step of the chain changes what it says and nothing else."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.judgement.cell import Grade, MatrixCell, Verdict
from conformance.judgement.evidence import Unjudgeable
from conformance.judgement.verdict import (
    confirmed,
    fold,
    not_run_alone,
    of_a_restart,
    replayed,
    replayed_once,
    still_violated,
    unanswered_alone,
)
from conformance.model.engine import NotDriven

ROOT = Path(__file__).parents[3]
DECIDES = ROOT / "conformance" / "judgement" / "verdict.py"

HOLDS = MatrixCell("s", "p", "g", "as drawn", "e", Verdict.HOLDS, "none against", cases=9)
VIOLATED = replace(HOLDS, verdict=Verdict.VIOLATED, reason="e2 was dropped", violations=3)
UNSUPPORTED = replace(HOLDS, verdict=Verdict.UNSUPPORTED, reason="it has none", cases=0)


def deciding(source):
    """The lines of a module that make a cell or change a verdict."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("MatrixCell", "Folded") or (
                called in ("replace", "_replace") and any(k.arg == "verdict" for k in node.keywords)
            ):
                yield node.lineno
        elif isinstance(node, ast.Attribute) and node.attr == "verdict" and isinstance(node.ctx, ast.Store):
            yield node.lineno


def test_no_other_module_makes_a_cell_or_changes_its_verdict():
    """A subject has verdicts of its own, on questions and not on cells."""
    modules = [
        path for folder in ("conformance", "engines", "scenarios", "reports") for path in (ROOT / folder).rglob("*.py")
    ]
    modules = [path for path in modules if "subjects" not in path.parts]
    found = {path: list(deciding(path.read_text(encoding="utf-8"))) for path in modules}
    assert found.pop(DECIDES), "the test sees what it looks for"
    assert {str(path.relative_to(ROOT)): lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "MatrixCell(*place, verdict, why)",
        "Folded(*place, verdict, why)",
        "cell.MatrixCell(**data)",
        "replace(cell, verdict=v)",
        "cell.verdict = v",
    ],
)
def test_each_way_to_decide_is_seen(line):
    assert list(deciding(line)) == [1]


def test_a_stored_witness_that_still_fails_overrules_what_this_run_saw():
    cell = replayed(HOLDS, "w1", "e2 was dropped")
    assert (cell.verdict, cell.witness, cell.violations, cell.cases) == (Verdict.VIOLATED, "w1", 1, 10)
    assert cell.reason == "e2 was dropped"
    assert replayed(VIOLATED, "w1", "another way") == VIOLATED
    assert replayed(UNSUPPORTED, "w1", "another way") == UNSUPPORTED


COUNTS = st.integers(0, 9).flatmap(lambda cases: st.tuples(st.just(cases), st.integers(0, cases)))
CELLS = st.builds(
    lambda verdict, counts: replace(HOLDS, verdict=verdict, cases=counts[0], violations=counts[1]),
    st.sampled_from(Verdict),
    COUNTS,
)


@given(st.lists(st.tuples(CELLS, st.sampled_from([None, True, False])), min_size=1))
def test_no_more_cases_speak_against_a_guarantee_than_put_it_to_the_test(drawn):
    """A stored witness that fails again is one of them."""
    cells = [cell if again is None else replayed(cell, "w1", "e2 was dropped", again) for cell, again in drawn]
    for cell in (*cells, fold(cells)):
        assert cell.violations <= cell.cases


@pytest.mark.parametrize(
    ("failed", "verdict", "intermittent", "reason"),
    [
        (3, Verdict.VIOLATED, "", "e9 was dropped"),
        (2, Verdict.VIOLATED, "2/3", "intermittent, 2/3 of its runs alone: e9 was dropped"),
        (0, Verdict.UNKNOWN, "", "fails only in a pack, not alone (0 of 3 runs): e2 was dropped"),
    ],
)
def test_runs_alone_decide_about_a_violated_cell(failed, verdict, intermittent, reason):
    cell = confirmed(VIOLATED, "w1", "e9 was dropped", failed, 3)
    assert (cell.verdict, cell.intermittent, cell.reason, cell.witness) == (verdict, intermittent, reason, "w1")


@pytest.mark.parametrize(
    ("error", "verdict"),
    [(Unjudgeable("x"), Verdict.ERROR), (NotDriven("x"), Verdict.ERROR), (RuntimeError("x"), Verdict.UNKNOWN)],
)
def test_what_gave_nothing_alone_convicts_nobody(error, verdict):
    cell = unanswered_alone(VIOLATED, error)
    assert cell.verdict is verdict
    assert cell.reason.endswith(": x: e2 was dropped")


def test_a_plan_whose_query_does_not_keep_to_the_schedule_alone_is_unknown():
    """The query is the engine's: its plain one was driven."""
    cell = unanswered_alone(replace(VIOLATED, perturbation="plan:x"), NotDriven("a micro-batch came twice"))
    assert cell.verdict is Verdict.UNKNOWN
    assert "alone it was not driven: a micro-batch came twice" in cell.reason


def test_how_well_a_witness_is_confirmed_is_a_grade_and_never_in_the_sentence():
    seen = "e2 was dropped"
    again, stands = replayed(HOLDS, "w1", seen), replayed(HOLDS, "w1", seen, again=False)
    alone = confirmed(again, "w1", seen, 3, 3)
    found = {
        Grade.REPLAYED: (again, replayed_once(alone)),
        Grade.STANDS: (stands, confirmed(stands, "w1", seen, 3, 3)),
        Grade.CONFIRMED: (alone, confirmed(VIOLATED, "w1", seen, 3, 3)),
    }
    for grade, cells in found.items():
        assert [(cell.grade, cell.reason) for cell in cells] == [(grade, seen)] * len(cells)
    assert confirmed(VIOLATED, "w1", seen, 0, 3).grade is Grade.PACK


def test_stored_traces_alone_never_convict():
    assert not_run_alone(HOLDS, "w1", "e2 was dropped").verdict is Verdict.UNKNOWN
    before = replace(VIOLATED, witness="w1", intermittent="2/3")
    cell = still_violated(HOLDS, before)
    assert (cell.verdict, cell.witness, cell.intermittent, cell.cases) == (Verdict.VIOLATED, "w1", "2/3", HOLDS.cases)


def test_an_upgrade_is_not_blamed_for_what_a_restart_does_alone():
    cell = of_a_restart(VIOLATED, "4.3.0")
    assert cell.verdict is Verdict.UNKNOWN
    assert cell.reason == "a restart within 4.3.0 does it, too: e2 was dropped"

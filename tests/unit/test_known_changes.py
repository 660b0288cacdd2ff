"""The known changes between releases name what there is, and are decided by the cells of a run."""

import sys
from pathlib import Path

import pytest

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.results.record import EngineRecord, RunRecord
from conformance.results.results import Results

HERE = Path(__file__).parents[2]

sys.path.append(str(HERE))  # no part of the package

from benchmarks.known_changes import Change, changes, main, told, verdicts  # noqa: E402

PAGE = HERE / "docs" / "moving.md"


def test_changes_name_engines_guarantees_and_plans_that_there_are():
    guarantees = {f"{s.id}/{g.id}" for s in load_scenarios() for g in s.guarantees}
    for change in changes():
        engine = load_engine(change.engine)
        plans = {f"plan:{plan.id}" for plan in engine.capabilities.plans}
        if change.question:
            assert change.question.split("/")[1] in engine.questions, change.id
        else:
            assert change.guarantee in guarantees, change.id
        assert not change.under or change.under in plans, change.id
        assert f"`{change.id}`" in PAGE.read_text(encoding="utf-8"), change.id


@pytest.mark.parametrize(
    ("bad", "good", "under", "found"),
    [
        (Verdict.VIOLATED, Verdict.HOLDS, "plan:x", ["violated", "holds"]),
        (Verdict.VIOLATED, Verdict.HOLDS, "plan:y", ["unknown", "unknown"]),
        (Verdict.HOLDS, Verdict.ERROR, "", ["holds", "error"]),
    ],
)
def test_a_change_is_told_by_the_worst_cell_of_each_release(bad, good, under, found):
    change = Change("T-1", "e", "1", "2", "it fails", "s/g", under=under)
    cells = [
        MatrixCell("s", "p", "g", "plan:x", engine, verdict, "")
        for engine, verdict in zip(change.engines, (bad, good), strict=True)
    ]
    assert verdicts(change, Results(RunRecord(), {}, {}, cells)) == found


@pytest.mark.parametrize(
    ("bad", "good", "shown"),
    [
        ({"q": "refused: A"}, {"q": "refused: B"}, True),
        ({"q": "accepted"}, {"q": "accepted"}, False),
        ({}, {"q": "accepted"}, False),
    ],
)
def test_a_change_of_a_question_is_shown_by_two_answers(bad, good, shown):
    change = Change("T-1", "e", "1", "2", "another condition", question="s/q")
    records = {name: EngineRecord(answers=given) for name, given in zip(change.engines, (bad, good), strict=True)}
    assert told(change, Results(RunRecord(), records, {}, []))[2] is shown


def test_an_unknown_change_is_one_line(capsys):
    with pytest.raises(SystemExit):
        main(["T-0"])
    assert "no change 'T-0'; there are: " in capsys.readouterr().err

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

from benchmarks.known_changes import Change, changes, main, verdicts  # noqa: E402

PAGE = HERE / "docs" / "upgrade.md"


def test_changes_name_engines_guarantees_and_plans_that_there_are():
    guarantees = {f"{s.id}/{g.id}" for s in load_scenarios() for g in s.guarantees}
    for change in changes():
        plans = {f"plan:{plan.id}" for plan in load_engine(change.engine).capabilities.plans}
        assert change.guarantee in guarantees or change.query in load_engine(change.engine).questions, change.id
        assert not change.under or change.under in plans, change.id
        assert f"`{change.id}`" in PAGE.read_text(encoding="utf-8"), change.id


@pytest.mark.parametrize(
    ("bad", "good", "under", "told"),
    [
        (Verdict.VIOLATED, Verdict.HOLDS, "plan:x", ["violated", "holds"]),
        (Verdict.VIOLATED, Verdict.HOLDS, "plan:y", ["unknown", "unknown"]),
        (Verdict.HOLDS, Verdict.ERROR, "", ["holds", "error"]),
    ],
)
def test_a_change_is_told_by_the_worst_cell_of_each_release(bad, good, under, told):
    change = Change("T-1", "e", "1", "2", "s/g", "it fails", under)
    cells = [
        MatrixCell("s", "p", "g", "plan:x", engine, verdict, "")
        for engine, verdict in zip(change.engines, (bad, good), strict=True)
    ]
    assert verdicts(change, Results(RunRecord(), {}, {}, cells)) == told


def test_a_change_is_told_by_the_answers_to_its_query():
    change = Change("T-1", "e", "1", "2", "s/", "it is refused", query="q")
    records = {
        engine: EngineRecord(shown_as=engine, answers=answers)
        for engine, answers in zip(change.engines, ({"q": "refused: KeyError"}, {"q": "accepted"}), strict=True)
    }
    assert verdicts(change, Results(RunRecord(), records, {}, [])) == ["violated", "holds"]
    records[change.engines[1]] = EngineRecord(shown_as="e@2")
    assert verdicts(change, Results(RunRecord(), records, {}, [])) == ["violated", "unknown"]


def test_an_unknown_change_is_one_line(capsys):
    with pytest.raises(SystemExit):
        main(["T-0"])
    assert "no change 'T-0'; there are: " in capsys.readouterr().err

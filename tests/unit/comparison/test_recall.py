"""The known changes between releases name what there is, and the cells of a run on both releases decide them."""

import pytest
from click.testing import CliRunner
from site_pages.inserted import history

from conformance.cli.commands import history as commands
from conformance.cli.main import main
from conformance.comparison.recall import Change, UnusableCatalogue, answered, read_catalogue
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.reports.own import known_history
from conformance.results.record import EngineRecord, RunRecord
from conformance.results.results import Results


def test_changes_name_engines_guarantees_and_plans_that_there_are():
    scenarios = load_scenarios()
    guarantees = {f"{s.id}/{g.id}" for s in scenarios for g in s.guarantees}
    for change in known_history():
        engine = load_engine(change.engine)
        plans = {f"plan:{plan.id}" for plan in engine.capabilities.plans}
        if change.question:
            assert change.question.split("/")[1] in engine.questions, change.id
        elif change.quiet:
            assert change.scenario in {scenario.id for scenario in scenarios}
        else:
            assert change.guarantee in guarantees, change.id
        assert not change.under or change.under in plans, change.id
        assert change.quiet or f"`{change.id}`" in history(), change.id


def cell(engine, verdict, perturbation="plan:x"):
    return MatrixCell("s", "p", "g", perturbation, engine, verdict, "")


@pytest.mark.parametrize(
    ("bad", "good", "under", "found", "right"),
    [
        (Verdict.VIOLATED, Verdict.HOLDS, "plan:x", ("violated", "holds"), True),
        (Verdict.VIOLATED, Verdict.HOLDS, "plan:y", ("unknown", "unknown"), False),
        (Verdict.HOLDS, Verdict.ERROR, "", ("holds", "error"), False),
    ],
)
def test_a_change_is_told_by_a_cell_of_both_releases(bad, good, under, found, right):
    change = Change("T-1", "e", "1", "2", "it fails", "s/g", under=under)
    cells = [cell(engine, verdict) for engine, verdict in zip(change.engines, (bad, good), strict=True)]
    answer = answered(change, Results(RunRecord(), {}, {}, cells))
    assert ((answer.bad, answer.good), answer.right) == (found, right)


@pytest.mark.parametrize(("good", "shown"), [(["plan:x", "plan:y"], True), (["plan:x"], False)])
def test_several_changes_that_one_release_needs_to_fail_must_each_hold_in_the_other(good, shown):
    change = Change("T-1", "e", "1", "2", "it fails", "s/g", under="plan:y")
    old, new = change.engines
    cells = [cell(old, Verdict.VIOLATED, "plan:x+plan:y"), *(cell(new, Verdict.HOLDS, name) for name in good)]
    assert answered(change, Results(RunRecord(), {}, {}, cells)).right is shown


@pytest.mark.parametrize(("good", "shown"), [("plan:x", True), ("plan:y", False)])
def test_what_is_broken_in_both_releases_under_another_perturbation_hides_no_change(good, shown):
    change = Change("T-1", "e", "1", "2", "it fails", "s/g")
    old, new = change.engines
    cells = [cell(old, Verdict.VIOLATED), *(cell(name, Verdict.VIOLATED, "crash") for name in (old, new))]
    answer = answered(change, Results(RunRecord(), {}, {}, [*cells, cell(new, Verdict.HOLDS, good)]))
    assert answer.right is shown


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
    assert answered(change, Results(RunRecord(), records, {}, [])).right is shown


@pytest.mark.parametrize(
    ("old", "new", "questions", "quiet"),
    [
        ([Verdict.HOLDS], [Verdict.HOLDS], ("a", "a"), True),
        ([Verdict.HOLDS], [Verdict.VIOLATED], ("a", "a"), False),
        ([Verdict.HOLDS], [Verdict.HOLDS], ("a", "b"), False),
        ([Verdict.HOLDS], [Verdict.UNSUPPORTED], ("a", "a"), False),  # the newer release answered nothing
        ([Verdict.HOLDS, Verdict.HOLDS], [Verdict.HOLDS, Verdict.UNKNOWN], ("a", "a"), True),
    ],
)
def test_a_quiet_pair_is_quiet_if_both_releases_answer_and_no_decided_cell_differs(old, new, questions, quiet):
    change = Change("p-1-2", "e", "1", "2", "alike", scenario="s")
    cells = [
        cell(engine, verdict, f"plan:{number}")
        for engine, there in zip(change.engines, (old, new), strict=True)
        for number, verdict in enumerate(there)
    ]
    records = {e: EngineRecord(answers={"q": said}) for e, said in zip(change.engines, questions, strict=True)}
    answer = answered(change, Results(RunRecord(), records, {}, cells))
    assert answer.right is quiet
    assert ("quiet" if quiet else "FALSE ALARM") in answer.line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[change]]\nid = 'T'", "change 1: engine is missing"),
        ("[[change]]\nod = 1", "there is no field 'od'"),
        ("[[change]]\nid='T'\nengine='e'\nbad='1'\ngood='2'\nsays=''", "give one of guarantee, question and scenario"),
        (
            "[[quiet]]\nid='T'\nengine='e'\nbad='1'\ngood='2'\nsays=''\nguarantee='s/g'",
            "a quiet pair has a scenario",
        ),
    ],
)
def test_a_catalogue_that_is_none_is_refused_in_a_line(text, said, tmp_path):
    path = tmp_path / "history.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UnusableCatalogue, match=said):
        read_catalogue(path)


def test_the_runs_are_listed_and_an_unknown_change_is_one_line():
    listed = CliRunner().invoke(main, ["history", "--list", "SPARK-44464"])
    assert listed.exit_code == 0
    assert "--engine=spark-fmgws-pandas@3.4.1 --engine=spark-fmgws-pandas@3.5.9" in listed.output
    odd = CliRunner().invoke(main, ["history", "T-0"])
    assert (odd.exit_code, odd.output.count("\n")) == (2, 1)
    assert "unknown change 'T-0'" in odd.output


def test_changes_that_one_run_shows_share_it(monkeypatch, tmp_path):
    ran = []
    monkeypatch.setattr(commands, "_results", lambda run: ran.append(run) or Results(RunRecord(), {}, {}, []))
    catalogue = tmp_path / "history.toml"
    changes = [("T-1", "s/q", "1", "2"), ("T-2", "s/r", "2", "3"), ("T-3", "t/q", "1", "2")]
    catalogue.write_text(
        "\n".join(
            f"[[change]]\nid='{name}'\nengine='e'\nbad='{bad}'\ngood='{good}'\nsays=''\nquestion='{question}'"
            for name, question, bad, good in changes
        ),
        encoding="utf-8",
    )
    said = CliRunner().invoke(main, ["history", f"--catalogue={catalogue}"])
    asked = [[word for word in run.arguments(tmp_path) if word.startswith("--engine")] for run in ran]
    assert asked == [["--engine=e@1", "--engine=e@2", "--engine=e@3"], ["--engine=e@1", "--engine=e@2"]]
    assert said.output.count("NOT SHOWN") == 3

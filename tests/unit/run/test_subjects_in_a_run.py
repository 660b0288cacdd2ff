"""Subjects in a run: what earlier runs kept, time that is over, processes that end early, and what results tell."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.execution.kept import Kept
from conformance.judgement.cell import Verdict
from conformance.model.engine import CannotRun
from conformance.results.baseline import Baseline
from conformance.results.changes import Kind, changes
from conformance.results.record import RunRecord
from conformance.results.results import Results
from conformance.results.subject import AnswerRecord, SubjectRecord
from conformance.run import subjects
from conformance.run.hosts import Hosts
from conformance.run.subjects import SubjectsTurn
from conformance.subjects.processes.process import Told
from conformance.subjects.verdicts import Finding, Report
from conformance.subjects.verdicts import Verdict as Said

ANSWERS = (
    AnswerRecord("order", Verdict.HOLDS, "Another order.", cases=24, rows=60),
    AnswerRecord("restart", Verdict.VIOLATED, "A restart.", 24, 60, "a=1 is lost", "print('lost')\n"),
    AnswerRecord("late", Verdict.UNSUPPORTED, "Late rows.", why="no watermark"),
)
VISITS = SubjectRecord("toy-subjects", "visits", "How many.", {"toy": "1.2"}, "24 cases in a run", ANSWERS)


class Driver:
    package, foreign, heavy = "pytest", (), False

    def __init__(self, folder, java="17"):
        self.guide, self.java = folder / "guide.py", java
        self.guide.write_text("@subject(schema='a int')\ndef visits(rows): ...\n")
        self.lacks = ""

    def roots(self):
        return {"java": self.java}

    def check(self):
        if self.lacks:
            raise CannotRun(self.lacks)


@pytest.fixture
def turn(tmp_path, monkeypatch):
    """A function that makes a turn; ``turn.asked`` counts how often the toy was asked."""
    driver = Driver(tmp_path)
    monkeypatch.setattr(subjects, "drivers", lambda: {"toy": driver})

    def ask(request, log, say, seen, started):
        make.asked += 1
        say("visits on Toy 1.2")
        script = Path(request.out) / "visits-restart.py"
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text("print('lost')\n")
        findings = (
            Finding("order", "Another order.", Said.HOLDS, 24, 60),
            Finding("restart", "A restart.", Said.VIOLATED, 24, 60, "a=1 is lost", str(script)),
            Finding("late", "Late rows.", Said.NOT_ASKED, why="no watermark"),
        )
        report = Report("visits", "Toy 1.2", findings, "24 cases in a run", summary="How many.")
        seen(report)
        return make.told or Told((report,))

    monkeypatch.setattr(subjects, "ask_all", ask)

    def make(fresh=False, spent=False):
        out = tmp_path / "out"
        out.mkdir(exist_ok=True)
        shared = SimpleNamespace(
            options=SimpleNamespace(out=out, traces=SimpleNamespace(fresh=fresh), seed=1),
            kept=Kept(tmp_path / "kept"),
            hosts=Hosts(out, 1),
            spent=lambda: spent,
            on_event=make.events.append,
        )
        return SubjectsTurn("toy", shared)

    make.asked, make.told, make.events, make.driver, make.out = 0, None, [], driver, tmp_path / "out"
    return make


def test_a_run_asks_the_subjects_once_and_keeps_their_answers(turn):
    for expected in (1, 1):
        made = turn()
        made.run()
        assert turn.asked == expected
        assert [record.subject for record in made.records] == ["visits"]
        assert made.records[0].answers == ANSWERS
        script = turn.out / made.records[0].script_of(ANSWERS[1])
        assert script.read_text() == "print('lost')\n"
        script.unlink()
    turn(fresh=True).run()
    assert turn.asked == 2
    assert all(event.failure == "" for event in turn.events if hasattr(event, "failure"))


@pytest.mark.parametrize("other", ["file", "ground"])
def test_another_file_or_ground_is_asked_anew(turn, other):
    turn().run()
    if other == "file":
        turn.driver.guide.write_text("@subject(schema='b int')\ndef visits(rows): ...\n")
    else:
        turn.driver.java = "21"
    turn().run()
    assert turn.asked == 2


def test_a_spent_budget_leaves_them_out(turn):
    made = turn(spent=True)
    made.run()
    assert (turn.asked, made.records, made.left_out) == (0, [], True)
    assert turn.events[-1].failure.startswith("left out")


def test_what_cannot_run_is_said(turn):
    turn.driver.lacks = "there is no Java"
    turn().run()
    assert turn.events[-1].failure == "there is no Java"
    assert not turn.events[-1].available


def test_what_ended_early_is_not_kept(turn):
    turn.told = Told(cannot=("the process ended",))
    turn().run()
    assert turn.events[-1].failure == "the process ended"
    turn().run()
    assert turn.asked == 2


def test_an_interrupt_ends_their_process(tmp_path):
    hosts = Hosts(tmp_path, 1)
    process = subprocess.Popen(["sleep", "60"], start_new_session=True, text=True)
    hosts.adopt(process)
    hosts.interrupt()
    assert process.wait(10) != 0


@pytest.fixture
def results():
    return Results(RunRecord(), {}, {}, [], subjects=[VISITS])


def test_results_give_back_what_they_keep_of_subjects(results, tmp_path):
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json").subjects == [VISITS]


def test_a_baseline_tells_where_an_answer_of_a_subject_changes(results, tmp_path):
    Baseline.of(results).write(tmp_path / "baseline.jsonl")
    before = Baseline.read(tmp_path / "baseline.jsonl")
    assert before.engines["toy-subjects"] == {"toy": "1.2"}
    worse = SubjectRecord.from_json(json.loads(json.dumps(VISITS.to_json()).replace('"holds"', '"violated"')))
    results.subjects = [worse]
    [change] = changes(before, Baseline.of(results)).found[Kind.REGRESSION]
    assert (change.engine, change.scenario, change.about) == ("toy-subjects", "visits", "order")

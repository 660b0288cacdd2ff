"""Users' queries on Spark, without a run: scripts, and what may be refused."""

import ast
import importlib
import sys
import threading
from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from conformance import subject
from conformance.engines.failing import INJECTED
from conformance.engines.spark.jobs.connected import Client
from conformance.engines.spark.subjects import driver
from conformance.engines.spark.subjects.anew import begun_anew
from conformance.engines.spark.subjects.driver import SparkSubjects
from conformance.engines.spark.subjects.files import write
from conformance.engines.spark.subjects.questions import CONNECT, QUESTIONS
from conformance.engines.spark.subjects.sinks import ATTEMPT, SINKS, UNTRIED
from conformance.engines.spark.subjects.table import Table, table_of
from conformance.subjects.answers import Ran
from conformance.subjects.asking import ask
from conformance.subjects.driver import Facts
from conformance.subjects.judging import Judging
from conformance.subjects.questions import Asked, NotAsked, Pair, Run, pairs, together
from conformance.subjects.rows import START, Row, span_of
from conformance.subjects.runs import Runs
from conformance.subjects.schema import InvalidSubject
from conformance.subjects.setup import NOBODY, SHOWING, Setup
from conformance.subjects.verdicts import Options, Verdict

RUN = Run(((Row({"user": "a"}, START),),))


@subject(schema="user string", key="user")
def itself(rows):
    return rows


@subject(schema={"one": "user string", "two": "user string"}, key="user")
def both(one, two):
    return one.union(two)


@pytest.mark.parametrize("sink", list(filter(None, SINKS)))
def test_a_script_has_what_the_sink_does(tmp_path, sink):
    varied = Run(RUN.delivery, Setup(sink=sink))
    text = script_of(varied, tmp_path)
    assert f"def {SINKS[sink].__name__}(frame):" in text
    assert f"SETUP = Setup(sink={SINKS[sink].__name__})" in text
    assert f"WHAT = {sink!r}" in text
    both = script_of(Run(RUN.delivery, Setup(sink=sink, retries=True)), tmp_path)
    assert f"SETUP = Setup(sink=lambda frame: {SINKS[sink].__name__}(retried(frame)))" in both


def script_of(varied, folder):
    text = SparkSubjects().script(itself, Pair(RUN, varied), "title", Path("mine.py"), folder / "script.py")
    ast.parse(text)
    return text


def test_a_script_has_tasks_that_are_tried_again_and_a_query_that_goes_on(tmp_path):
    text = script_of(Run(RUN.delivery, Setup(retries=True)), tmp_path)
    assert "def retried(frame):" in text
    assert "SETUP = Setup(sink=retried)" in text
    both = Setup(retries=True).beside(Setup(goes_on=True))
    assert both == Setup(retries=True, goes_on=True)
    assert both.of_settings
    assert not both.beside(Setup(passed=1)).of_settings
    assert "SETUP = Setup(goes_on=True)" in script_of(Run(RUN.delivery, Setup(goes_on=True)), tmp_path)


def test_tasks_are_tried_again_with_the_users_own_settings():
    by_id = {question.id: question for question in QUESTIONS}
    asked = Asked(itself, span_of((), 0), RUN.delivery, Random(1))
    first, last = (together([by_id["store"], by_id["retry"]], asked, 0.5, last).varied.setup for last in (False, True))
    assert (bool(first.settings), first.retries) == (True, False)
    assert last == Setup(retries=True)


class Toy:
    """An engine whose function is told how a run is made."""

    batch, packs, closes, parallel, version = "batch", 6, False, 1, "Toy 1.0"
    questions = tuple(question for question in QUESTIONS if question.id in ("retry", "trigger"))

    def look(self, subject):
        return Facts(columns=("user", "n"))

    def run(self, subject, given, setup):
        return subject.function([row["user"] for batch in given for row in batch[""]], setup)


def counts(users, factor=1):
    return Ran({0: tuple({"user": user, "n": n * factor} for user, n in Counter(users).items())})


@pytest.mark.parametrize(
    ("function", "verdicts"),
    [
        (lambda users, setup: counts(users), (Verdict.HOLDS, Verdict.HOLDS)),
        (lambda users, setup: counts(users, 1 + setup.retries), (Verdict.VIOLATED, Verdict.HOLDS)),
        (lambda users, setup: counts(users[setup.goes_on :]), (Verdict.HOLDS, Verdict.VIOLATED)),
        (
            lambda users, setup: Ran(error=UNTRIED, refused=True) if setup.retries else counts(users),
            (Verdict.NOT_ASKED, Verdict.HOLDS),
        ),
    ],
)
def test_what_a_second_attempt_or_a_query_that_goes_on_changes_is_found(function, verdicts):
    report, failing = ask(Toy(), subject(schema="user string", key="user")(function), Options())
    assert not report.error
    assert tuple(finding.verdict for finding in report.findings) == verdicts
    assert all(pair.varied.setup in (Setup(retries=True), Setup(goes_on=True)) for pair, _ in failing.values())


@pytest.mark.parametrize(("attempt", "error"), [(1, ""), (0, UNTRIED)])
def test_each_row_comes_from_a_second_attempt(monkeypatch, tmp_path, attempt, error):
    found = {0: [{"user": "a", ATTEMPT: attempt}]}
    monkeypatch.setattr(SparkSubjects, "_output", lambda *given, **more: None)
    monkeypatch.setattr(driver.running, "run_query", lambda *given: (found, [], None))
    rows = {}
    assert SparkSubjects()._query(itself, None, tmp_path, Setup(retries=True), (rows, [])) == error
    assert rows == {0: [{"user": "a"}]}


def test_a_query_that_is_started_for_each_micro_batch_has_a_file_of_rows_alone(tmp_path):
    delivery = tuple((Row({"user": "a"}, START, input=of),) for of in ("one", "two"))
    [scheduled] = [question for question in QUESTIONS if question.id == "scheduled"]
    [pair] = pairs(scheduled, Asked(both, span_of((), 0), delivery, Random(1)))
    assert (pair.plain, pair.varied) == (Run(delivery), Run(delivery, Setup(restarts=(1,), sparse=True)))
    given = [{"one": [{"user": "a"}], "two": []}, {"one": [], "two": [{"user": "a"}]}]
    write(both, tmp_path, given, range(2), pair.varied.setup)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("*/*")) == [
        "input-one/00000-0.json",
        "input-two/00001-0.json",
    ]
    text = SparkSubjects().script(both, pair, "title", Path("mine.py"), tmp_path / "script.py")
    ast.parse(text)
    assert "SETUP = Setup(restarts=(1,), sparse=True)" in text


@pytest.mark.parametrize(("begun", "refused"), [(0, True), (1, False)])
def test_spark_connect_may_refuse_a_query_but_not_one_that_it_takes_once_its_checkpoint_is_another_ones(begun, refused):
    judging = Judging(Runs(SparkSubjects(), itself, ()))
    [connect] = [question for question in QUESTIONS if question.id == "connect"]
    pair = Pair(RUN, Run(RUN.delivery, Setup(where=CONNECT, begun=begun)))
    plain, varied = Ran({0: ({"user": "a"},)}), Ran(error="[KEY_SCHEMA] another schema")
    if refused:
        with pytest.raises(NotAsked, match="refused: "):
            judging.judged(connect, pair, plain, varied, packed=False)
    else:
        wrong, _, _ = judging.judged(connect, pair, plain, varied, packed=False)
        assert wrong == {0: "the query fails: [KEY_SCHEMA] another schema"}


def test_what_no_other_process_can_take_is_told_in_one_line(tmp_path):
    """Such as a UDF of the user's file that a classic session has used."""
    with pytest.raises(RuntimeError, match=r"\Ano other process can take it: cannot pickle[^\n]*\Z"):
        Client.__new__(Client).call(itself, (threading.RLock(),), tmp_path)


def test_a_client_of_spark_connect_goes_on_where_another_session_began(monkeypatch, tmp_path):
    where = []
    for name in ("open", "close", "_session"):
        monkeypatch.setattr(SparkSubjects, name, lambda *given: None)
    monkeypatch.setattr(SparkSubjects, "_streamed", lambda self, mine, spark, folder, *given: where.append(folder))
    driver._as_a_client(tmp_path, itself, [], Setup(begun=1, by=NOBODY))
    assert where == [tmp_path]


@pytest.mark.parametrize(("again", "hindered"), [("", False), ("Python worker failed to connect back.", True)])
def test_what_the_machine_hinders_runs_once_more(monkeypatch, again, hindered):
    left = ["Python worker failed to connect back.", again]
    monkeypatch.setattr(SparkSubjects, "_ran", lambda *given: Ran(error=left.pop(0)))
    ran = SparkSubjects().run(itself, [], Setup())
    assert (ran.hindered, left) == (hindered, [])


@pytest.mark.parametrize("more", [{"sink": print}, {"table": print}, {"sink": "delta", "table": print}])
def test_a_sink_of_its_own_is_two_functions(more, tmp_path):
    mine = subject(schema="user string", key="user", **more)(lambda rows: rows)
    with pytest.raises(InvalidSubject, match="give two functions: sink"):
        table_of(mine, tmp_path)


def test_the_answer_of_a_sink_is_what_its_table_has(tmp_path):
    rows = [{"user": "a", "at": datetime(2020, 1, 1)}]
    (tmp_path / "table").touch()
    for given, found in ((rows, [1_577_836_800_000_000]), ([], [])):
        mine = subject(schema="user string", key="user", sink=print, table=lambda spark, folder, g=given: g)(len)
        assert [row["at"]["$timestamp"] for row in table_of(mine, tmp_path).rows(None)] == found
    odd = subject(schema="user string", key="user", sink=print, table=lambda spark, folder: [("a", 1)])(len)
    with pytest.raises(TypeError, match="gives a DataFrame or dicts, not"):
        table_of(odd, tmp_path).rows(None)
    assert table_of(odd, tmp_path / "nothing").rows(None) == ()
    assert table_of(subject(schema="user string", key="user")(len), tmp_path) is None


SINK = """
from beside import done
from conformance import subject

def once(rows, batch_id, folder):
    if batch_id not in done:
        done.append(batch_id)
        open(folder, "a").write(str(batch_id))

def table(spark, folder):
    return [{"user": each} for each in open(folder).read()]

def made(sink):
    @subject(schema="user string", key="user", sink=sink, table=table)
    def counted(rows):
        return rows
    return counted

visits = made(once)
other = made(print)
"""


@pytest.fixture
def with_memory(tmp_path, monkeypatch):
    """A subject whose sink goes by what a module beside its file keeps, and the module of that file."""
    (tmp_path / "beside.py").write_text("done = []\n")
    (tmp_path / "with_memory.py").write_text(SINK)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("with_memory")
    yield module.visits, module
    sys.modules.pop("with_memory")
    sys.modules.pop("beside")


def test_a_query_that_begins_anew_finds_nothing_in_the_memory_of_modules(with_memory, tmp_path):
    mine, module = with_memory
    Table(**functions(mine), folder=str(tmp_path / "table")).take(None, 0)
    anew = begun_anew(mine, [module])
    assert (anew.name, anew.function is mine.function) == (mine.name, False)
    assert sys.modules["beside"].done == [0], "what is loaded stays so"
    for subject_, number in ((mine, 1), (anew, 2)):
        table = Table(**functions(subject_), folder=str(tmp_path / "table"))
        table.take(None, 0)
        assert len(table.rows(None)) == number
    other = begun_anew(module.other, [module])
    assert (other.options["sink"], other.function is module.other.function) == (print, False)
    odd = replace(mine, function=len)
    assert begun_anew(odd, [module]) is odd


def functions(subject):
    return {"write": subject.options["sink"], "read": subject.options["table"]}


def test_a_sink_fails_once_before_a_line_of_it(with_memory, tmp_path):
    mine, _ = with_memory
    [question] = [question for question in QUESTIONS if question.id == "midway"]
    rows = tuple((Row({"user": user}, None, nr=nr),) for nr, user in enumerate("ab"))
    asked = Asked(mine, span_of([], None), rows, Random(1))
    lines = sorted(run.setup.breaks for run in question.make(asked))
    assert [SINK.splitlines()[line - 1].strip()[:4] for line in lines] == ["done", "open"]
    empty, full = (SimpleNamespace(isEmpty=lambda e=e: e) for e in (True, False))
    table = Table(**functions(mine), folder=str(tmp_path / "table"))
    take = table.failing(lines[1], 1)
    take(full, 0)
    take(empty, 1)
    with pytest.raises(RuntimeError, match=INJECTED):
        take(full, 2)
    assert take(full, 2) == []
    assert [row["user"] for row in table.rows(None)] == ["0", "1"], "2 was noted, and never written"
    take = table.failing(SHOWING, 0)
    with pytest.raises(RuntimeError, match=INJECTED):
        take(full, 3)
    assert [row["user"] for row in table.rows(None)] == ["0", "1", "3"]
    with pytest.raises(NotAsked, match="no sink of its own"):
        next(question.make(replace(asked, subject=itself)))

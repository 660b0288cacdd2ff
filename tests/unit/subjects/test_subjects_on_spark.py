"""Users' queries on Spark, without a run: scripts, and what may be refused."""

import ast
from pathlib import Path
from random import Random

import pytest

from conformance import subject
from conformance.engines.spark.subjects import driver
from conformance.engines.spark.subjects.driver import SparkSubjects
from conformance.engines.spark.subjects.files import write
from conformance.engines.spark.subjects.questions import CONNECT, QUESTIONS
from conformance.engines.spark.subjects.sinks import SINKS
from conformance.subjects.answers import Ran
from conformance.subjects.judging import Judging
from conformance.subjects.questions import Asked, NotAsked, Pair, Run, pairs
from conformance.subjects.rows import START, Row, span_of
from conformance.subjects.runs import Runs
from conformance.subjects.setup import NOBODY, Setup

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
    text = SparkSubjects().script(itself, Pair(RUN, varied), "title", Path("mine.py"), tmp_path / "script.py")
    ast.parse(text)
    assert f"def {SINKS[sink].__name__}(frame):" in text
    assert f"SETUP = {{'sink': {SINKS[sink].__name__}}}" in text
    assert f"The same rows, where this is said of them: {sink}" in text


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
    assert "SETUP = {'restarts': (1,), 'sparse': True}" in text


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

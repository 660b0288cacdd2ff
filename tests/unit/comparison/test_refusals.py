"""What an engine refuses: how an answer is named, kept in results, and compared between releases."""

import pytest

from conformance.comparison.gate import Outcome
from conformance.comparison.upgrade import refusals_changed
from conformance.engines import answering
from conformance.engines.beam.refused import refusals as beam
from conformance.engines.spark.native.engine import QUERIES
from conformance.engines.spark.refused import queries, refusals
from conformance.engines.spark.refused.ended import condition, innermost, kind
from conformance.engines.spark.refused.refusals import REFUSALS
from conformance.model.engine import ACCEPTED, EngineInfo, Questioned, is_accepted
from conformance.plugins.registry import load_engine
from conformance.results.record import EngineRecord
from conformance.support.release import IN_RELEASE


class Side:
    def __init__(self, engine, **answers):
        self.environment = {engine: EngineRecord(answers=answers)}


def ruled(old, new):
    return [
        (found.engine, found.ruling.outcome, found.ruling.why)
        for found in refusals_changed(Side("x@1", q=old), Side("x@2", q=new))
    ]


def test_what_is_refused_now_blocks_and_other_changes_are_told():
    assert ruled(ACCEPTED, ACCEPTED) == []
    assert ruled(ACCEPTED, "refused: A") == [("x", Outcome.BLOCKS, "q: accepted → refused: A")]
    assert ruled("refused: A", ACCEPTED) == [("x", Outcome.TOLD, "q: refused: A → accepted")]
    two, one = (f"{ACCEPTED}: {number} micro-batches" for number in (2, 1))
    assert ruled(two, one) == [("x", Outcome.TOLD, "q: accepted: 2 micro-batches → accepted: 1 micro-batches")]
    assert ruled(two, "refused: A") == [("x", Outcome.BLOCKS, "q: accepted: 2 micro-batches → refused: A")]
    assert ruled("refused: A", "refused: B") == [("x", Outcome.TOLD, "q: refused: A → refused: B")]


def test_a_sqlstate_counts_where_both_sides_tell_it():
    assert ruled("refused: A", "refused: A, SQLSTATE 42K03") == []
    assert ruled("refused: A, SQLSTATE 42K03", "refused: B") == [
        ("x", Outcome.TOLD, "q: refused: A, SQLSTATE 42K03 → refused: B")
    ]
    assert ruled("refused: A, SQLSTATE 42K03", "refused: A, SQLSTATE XXKST") == [
        ("x", Outcome.TOLD, "q: refused: A, SQLSTATE 42K03 → refused: A, SQLSTATE XXKST")
    ]


def test_a_question_that_one_side_was_not_asked_is_no_change():
    assert list(refusals_changed(Side("x@1", q=ACCEPTED), Side("x@2"))) == []


def test_an_answer_has_what_the_engine_did():
    def ask(name):
        if name == "no":
            raise KeyError
        return "twice" if name == "told" else None

    told = answering.answers(["yes", "told", "no"], ask, lambda error: type(error).__name__)
    assert told == {"yes": ACCEPTED, "told": "accepted: twice", "no": "refused: KeyError"}
    assert [is_accepted(answer) for answer in told.values()] == [True, True, False]


def test_answers_are_kept_in_results():
    engine = load_engine("reference")
    info = EngineInfo("reference", engine.title, engine.capabilities, answers={"q": "refused: A"})
    record = EngineRecord.of(info)
    assert EngineRecord.from_json(record.to_json()) == record


def test_every_pipeline_is_asked_of_an_engine():
    engines = [load_engine(name) for name in ("beam-direct", "beam-fnapi", "beam-auto", "beam-prism")]
    assert all(isinstance(engine, Questioned) for engine in engines)
    assert {name for engine in engines for name in engine.questions} == set(beam.REFUSALS)
    assert not load_engine("beam-native:count").questions


def test_what_tells_releases_apart_is_asked_in_the_environment_of_a_release(monkeypatch):
    monkeypatch.setattr(beam, "answers", lambda names, finish: dict.fromkeys(names, ACCEPTED))
    engine = load_engine("beam-direct")
    monkeypatch.delenv(IN_RELEASE, raising=False)
    assert set(engine.answers()) == set(beam.USUAL)
    monkeypatch.setenv(IN_RELEASE, "apache-beam 2.77.0")
    assert set(engine.answers()) == set(engine.questions) == set(beam.REFUSALS)


def test_an_error_that_a_job_service_tells_of_is_named_by_its_class():
    told = (
        "bundle failed:Traceback (most recent call last):\n  File x\nKeyError: 1\n\nDuring ...\nTypeError: an "
        "integer is required"
    )
    assert beam.kind(RuntimeError(told)) == "TypeError"
    assert beam.kind(RuntimeError("no class")) == "RuntimeError"
    assert beam.kind(ValueError("KeyError: in its text")) == "ValueError"


def test_every_query_is_asked_of_an_engine():
    apis = ("spark-tws", "spark-tws-pandas", "spark-fmgws-pandas")
    engines = [load_engine(name) for name in (*apis, *(f"spark-native:{name}" for name in QUERIES))]
    assert all(isinstance(engine, Questioned) for engine in engines)
    assert {name for engine in engines for name in engine.questions} == set(REFUSALS)


class Legacy(Exception):
    def getErrorClass(self):
        return "_LEGACY_ERROR_TEMP_1"


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (Exception("[STREAM_FAILED] Query terminated: [STATEFUL_X.NOT_Y] no"), "STATEFUL_X.NOT_Y"),
        (Legacy("no condition in its text"), "_LEGACY_ERROR_TEMP_1"),
        (
            Exception("org.apache.spark.SparkException: java.util.NoSuchElementException: None.get"),
            "NoSuchElementException",
        ),
        (ValueError("nothing"), "ValueError"),
    ],
)
def test_an_answer_is_the_condition_of_an_error(error, name):
    assert condition(error) == name


def test_an_answer_has_the_sqlstate_of_its_condition():
    told = "[STREAM_FAILED] Query failed: [STATE_X.NOT_Y] no state of this name. SQLSTATE: 42K06\nat SQLSTATE: XXKST"
    assert kind(Exception(told)) == "STATE_X.NOT_Y, SQLSTATE 42K06"
    assert kind(ValueError("nothing")) == "ValueError"


def test_the_ids_of_a_query_are_no_part_of_how_it_failed():
    said = "[STREAM_FAILED] Query [id = 6f54, runId = fa75] terminated with exception: None.get"
    assert innermost(RuntimeError(said)) == "None.get"
    assert innermost(RuntimeError("no such column")) == "no such column"
    assert innermost(RuntimeError("error while calling o431.collect")) == "error while calling collect"


def test_a_query_that_is_taken_back_goes_on_behind_the_one_that_took_its_place(monkeypatch):
    ran = []
    monkeypatch.setattr(refusals, "_run", lambda refusal, query, *others: ran.append(query) or [])
    assert refusals.answers(["filter-taken-back", "key-changed"], lambda settings: None) == {
        "filter-taken-back": ACCEPTED,
        "key-changed": ACCEPTED,
    }
    back, changed = REFUSALS["filter-taken-back"], REFUSALS["key-changed"]
    assert ran == [back.query, back.again, back.query, changed.query, changed.again]


def test_an_answer_may_tell_what_the_runs_reported(monkeypatch):
    reports = [{"observedMetrics": {"observed": {"observed": 2}}}, {}]
    monkeypatch.setattr(refusals, "_run", lambda *given: reports)
    told = refusals.answers(["observed-before-a-filter", "rate-available-now"], lambda settings: None)
    assert told["observed-before-a-filter"] == f"{ACCEPTED}: rows observed: 2"
    assert told["rate-available-now"] == f"{ACCEPTED}: micro-batches in run 2: 2"
    assert queries.number_observed([]) == 0

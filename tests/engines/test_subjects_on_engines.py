"""Users' own queries and pipelines on the real engines: what holds, seeded bugs that are found, and what cannot be
tested."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from conformance.engines.beam.subjects.late import STATE, UNKNOWN
from conformance.engines.spark.subjects.driver import CONNECT
from conformance.subjects.asking import ask
from conformance.subjects.found import drivers, subjects_in
from conformance.subjects.processes.elsewhere import Beginner, Place
from conformance.subjects.questions import Asked, NotAsked, Seen, pairs
from conformance.subjects.rows import START, Row, span_of
from conformance.subjects.runs import Runs
from conformance.subjects.schema import InvalidSubject, moment
from conformance.subjects.setup import SHOWING, Setup
from conformance.subjects.subject import answering_like, next_version
from conformance.subjects.verdicts import Options, Verdict

pytestmark = pytest.mark.engine

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "docs" / "examples"


def loaded(path):
    """(name -> subject, module) of a file."""
    spec = importlib.util.spec_from_file_location(f"subjects_of_{path.stem}", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {found.name: found for found in subjects_in(module)}, module


@pytest.fixture(scope="module")
def spark_subjects(spark, tmp_path_factory):
    found, module = loaded(HERE / "subjects" / "seeded_spark.py")
    driver = drivers()["spark"]
    driver.open(tmp_path_factory.mktemp("subjects"), [module])
    yield driver, found
    driver.close()


@pytest.fixture(scope="module")
def beam_subjects(tmp_path_factory):
    found, module = loaded(HERE / "subjects" / "seeded_beam.py")
    driver = drivers()["beam"]
    driver.open(tmp_path_factory.mktemp("subjects"), [module])
    yield driver, found
    driver.close()


def asked(driver, subject, *questions):
    report, failing = ask(driver, subject, Options(questions))
    assert not report.error
    return {finding.question: finding for finding in report.findings}, failing, report


def data(pair, side="plain"):
    return [row for batch in getattr(pair, side).delivery for row in batch if not row.closing]


def shown(driver, subject, failing, file, folder):
    """The rows of the violated pair, once its script has shown on its own that the answers differ."""
    pair, why = failing
    script = folder / "script.py"
    script.write_text(driver.script(subject, pair, why, file, script))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "THE ANSWERS DIFFER" in done.stdout
    return data(pair, "varied")


def test_a_windowed_count_holds_on_spark(spark_subjects):
    driver, _ = spark_subjects
    visits = loaded(EXAMPLES / "my_query.py")[0]["visits"]
    found, _, report = asked(driver, visits, "order", "failure", "late", "once", "state", "bounded")
    assert {question: finding.verdict for question, finding in found.items()} == dict.fromkeys(found, Verdict.HOLDS)
    assert report.packed.startswith("24 cases in a run")
    assert found["order"].rows > 24


@pytest.mark.slow
def test_a_first_that_depends_on_the_order_is_found_and_its_script_shows_it(spark_subjects, tmp_path):
    driver, _ = spark_subjects
    entry_pages = loaded(EXAMPLES / "my_query.py")[0]["entry_pages"]
    found, failing, _ = asked(driver, entry_pages, "order")
    assert found["order"].verdict is Verdict.VIOLATED
    assert len(data(failing["order"][0])) == 2
    shown(driver, entry_pages, failing["order"], EXAMPLES / "my_query.py", tmp_path)


def judged(driver, subject, question, rows):
    """The first pair of a question about these rows, one a micro-batch, that a judge finds a difference in, with the
    difference. A unit test shows that rows are drawn, and pairs made smaller, until it is such a pair."""
    [mine] = [one for one in driver.questions if one.id == question]
    runs, span = Runs(driver, subject, ()), span_of((300_000,), 10_000)
    for pair in pairs(mine, Asked(subject, span, tuple((row,) for row in rows), Random(1))):
        ran = [runs.run(each, False) for each in (pair.plain, pair.varied)]
        if why := mine.judge(pair, *(Seen(runs.answer(each), each) for each in ran)):
            return pair, why
    raise AssertionError(f"no pair of {question} differs")


CLICKS = [Row({"user": "a", "page": "/"}, START + 60_000 * minute, nr=minute) for minute in (0, 1, 60)]
PLAYS = [Row({"team": "a", "points": 1}, START + 60_000 * minute, nr=minute) for minute in (0, 1)]


@pytest.mark.parametrize(("name", "question"), [("recent", "time"), ("computed_once", "retry")])
def test_what_the_clock_decides_and_what_is_computed_once_is_found_on_spark(spark_subjects, name, question):
    driver, there = spark_subjects
    assert judged(driver, there[name], question, CLICKS)


@pytest.mark.slow
def test_where_the_clock_decides_no_case_may_have_an_answer(spark_subjects):
    driver, there = spark_subjects
    found, failing, _ = asked(driver, there["recent"], "time", "order")
    assert found["time"].verdict is Verdict.VIOLATED
    assert found["order"].why == "no case has an answer: nothing was compared"
    assert len(data(failing["time"][0])) == 1


def test_a_query_runs_through_spark_connect_and_may_answer_otherwise_there(spark_subjects):
    driver, there = spark_subjects
    rows = [{"user": "a", "page": page, "at": f"2020-03-01T00:0{minute}:00Z"} for minute, page in enumerate("bxy")]
    given = [{"": rows}, {"": [{"user": "a", "page": "z", "at": "2020-03-01T01:00:00Z"}]}]
    visits = loaded(EXAMPLES / "my_query.py")[0]["visits"]
    for subject, alike in ((visits, True), (there["classic_alone"], False)):
        classic, connected = (driver.run(subject, given, Setup(where=where)) for where in ("", CONNECT))
        assert not classic.error + connected.error
        assert any(connected.outputs.values())
        assert (classic.outputs == connected.outputs) is alike
    classic, connected = (driver.run(visits, given, Setup(where=where, begun=1)) for where in ("", CONNECT))
    assert connected.outputs == classic.outputs
    assert [row["count"] for rows in connected.outputs.values() for row in rows] == [3], "it goes on from the state"


def clicks(*minutes):
    """A micro-batch with a row of a user for each of some minutes."""
    return {"": [{"user": "a", "page": "/", "at": f"2020-03-01T{n // 60:02}:{n % 60:02}:00Z"} for n in minutes]}


def test_a_sink_of_its_own_may_take_a_micro_batch_twice(spark_subjects):
    driver, _ = spark_subjects
    given, mine = [clicks(0, 1), clicks(60)], loaded(EXAMPLES / "my_sink.py")[0]
    counts = {
        name: [[row["count"] for row in driver.run(mine[name], given, setup).outputs[0]] for setup in setups]
        for setups in [(Setup(), Setup(fails=1, breaks=SHOWING), Setup(bounded=True))]
        for name in ("appended", "overwritten")
    }
    assert counts == {"appended": [[2], [2, 2], [2, 1]], "overwritten": [[2], [2], [2, 1]]}


@pytest.mark.slow
def test_a_sink_that_takes_a_micro_batch_twice_is_found_and_its_script_shows_it(spark_subjects, tmp_path):
    driver, _ = spark_subjects
    mine = loaded(EXAMPLES / "my_sink.py")[0]
    found, failing, _ = asked(driver, mine["appended"], "failure", "retry")
    assert (found["failure"].verdict, found["retry"].verdict) == (Verdict.VIOLATED, Verdict.NOT_ASKED)
    assert shown(driver, mine["appended"], failing["failure"], EXAMPLES / "my_sink.py", tmp_path)
    assert asked(driver, mine["overwritten"], "failure")[0]["failure"].verdict is Verdict.HOLDS


def test_a_row_that_comes_a_micro_batch_too_late_meets_a_timeout_behind_the_watermark(spark_subjects):
    driver, there = spark_subjects
    given = [clicks(0), clicks(60, 61), clicks(30), clicks(120)]
    assert not driver.run(there["with_timeout"], [*given[:2], clicks(), given[3]], Setup()).error
    ran = driver.run(there["with_timeout"], given[:1] + given[2:3] + given[3:], Setup())
    assert not ran.error
    assert "cannot be earlier than the current watermark" in driver.run(there["with_timeout"], given, Setup()).error


@pytest.mark.slow
def test_what_depends_on_when_rows_come_and_on_rows_of_others_is_found(spark_subjects):
    driver, there = spark_subjects
    found, _, _ = asked(driver, there["with_timeout"], "order", "admitted")
    assert found["order"].verdict is Verdict.HOLDS
    assert found["admitted"].verdict is Verdict.VIOLATED
    found, _, _ = asked(driver, there["by_page"], "others")
    assert found["others"].verdict is Verdict.VIOLATED


@pytest.mark.slow
def test_a_windowed_count_may_be_computed_again_on_spark(spark_subjects):
    driver, _ = spark_subjects
    visits = loaded(EXAMPLES / "my_query.py")[0]["visits"]
    found, _, _ = asked(driver, visits, "sink", "retry", "trigger")
    assert {question: finding.verdict for question, finding in found.items()} == dict.fromkeys(found, Verdict.HOLDS)
    assert found["retry"].rows


@pytest.mark.slow
@pytest.mark.parametrize("question", ["retry", "sink"])
def test_what_is_computed_once_is_found_on_spark(spark_subjects, question):
    driver, there = spark_subjects
    found, _, _ = asked(driver, there["computed_once"], question)
    assert found[question].verdict is Verdict.VIOLATED


@pytest.mark.slow
def test_a_query_is_started_for_each_micro_batch_on_spark(spark_subjects):
    driver, _ = spark_subjects
    clicks_on_ads = loaded(EXAMPLES / "subjects_spark.py")[0]["clicks_on_ads"]
    found, _, _ = asked(driver, clicks_on_ads, "scheduled")
    assert found["scheduled"].verdict is Verdict.HOLDS
    assert found["scheduled"].rows


@pytest.mark.parametrize("rows", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_port_to_beam_answers_alike_but_for_sessions_that_touch(spark_subjects, beam_subjects, rows):
    if rows:
        found = loaded(EXAMPLES / "my_sessions.py")[0]
        mine, port = found["sessions"], found["sessions_on_beam"]
    else:
        mine, port = (loaded(EXAMPLES / file)[0]["visits"] for file in ("my_query.py", "my_query_on_beam.py"))
    report, failing = ask(spark_subjects[0], answering_like(mine, port), Options(), other=beam_subjects[0])
    [finding] = report.findings
    assert finding.verdict is (Verdict.VIOLATED if rows else Verdict.HOLDS)
    assert finding.rows
    apart = [row.at for row in data(failing["same"][0])] if failing else []
    assert len(apart) == rows
    assert max(apart, default=0) - min(apart, default=0) == (5 * 60_000 if rows else 0)


@pytest.mark.slow
def test_state_in_an_attribute_is_found_on_spark(spark_subjects):
    driver, there = spark_subjects
    found, failing, report = asked(driver, there["numbered"], "batches")
    assert "a case answers otherwise among others than alone" in report.packed
    assert found["batches"].verdict is Verdict.VIOLATED
    assert len(data(failing["batches"][0])) == 2


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("without_a_bound", "Spark refuses the query in append mode: [STREAMING_OUTPUT_MODE"),
        ("raising", "the function raised AnalysisException: [UNRESOLVED_COLUMN"),
        ("of_no_frame", "the function gave a list, not a DataFrame"),
        ("of_its_own_stream", "it reads a stream itself ("),
    ],
)
def test_what_cannot_be_tested_gets_one_line_on_spark(spark_subjects, name, says):
    driver, there = spark_subjects
    with pytest.raises(InvalidSubject, match=rf"\Asubject {name}: [^\n]*\Z") as error:
        driver.look(there[name])
    assert says in str(error.value)


def test_what_rows_are_grouped_by_is_known_by_its_name_in_the_output(spark_subjects):
    driver, there = spark_subjects
    facts = driver.look(there["by_local_day"])
    assert facts.output_key == ("local_day", "user")
    assert (facts.timed, facts.zones, facts.timeless) == (("at",), ("Asia/Tokyo",), False)


def test_an_output_without_its_key_gets_one_line_on_spark(spark_subjects):
    driver, there = spark_subjects
    report, _ = ask(driver, there["without_its_key"], Options())
    assert "the output has no column 'user' (it has window, count)" in report.error


def test_hourly_scores_hold_on_beam(beam_subjects):
    driver, _ = beam_subjects
    scores = loaded(EXAMPLES / "subjects_beam.py")[0]["hourly_team_scores"]
    found, _, _ = asked(driver, scores, "order", "batches", "empty", "time", "late", "bounded", "fnapi")
    assert {question: finding.verdict for question, finding in found.items()} == dict.fromkeys(found, Verdict.HOLDS)
    assert found["order"].rows > 24


def test_state_in_an_attribute_is_found_on_beam_and_its_script_shows_it(beam_subjects, tmp_path):
    driver, there = beam_subjects
    found, failing, _ = asked(driver, there["totals"], "batches")
    assert found["batches"].verdict is Verdict.VIOLATED
    assert len(shown(driver, there["totals"], failing["batches"], HERE / "subjects" / "seeded_beam.py", tmp_path)) == 2


def test_a_filter_by_the_clock_is_found_on_beam_and_its_script_shows_it(beam_subjects, tmp_path):
    driver, there = beam_subjects
    failing = judged(driver, there["recent"], "time", PLAYS)
    shown(driver, there["recent"], failing, HERE / "subjects" / "seeded_beam.py", tmp_path)


@pytest.mark.slow
def test_prism_cuts_the_sessions_of_a_users_pipeline(beam_subjects, prism):
    """As docs/findings/prism_sessions.py shows it (Beam 2.77.0), found without an oracle."""
    driver, _ = beam_subjects
    play_sessions = loaded(EXAMPLES / "subjects_beam.py")[0]["play_sessions"]
    found, failing, _ = asked(driver, play_sessions, "bounded", "prism")
    assert found["bounded"].verdict is Verdict.HOLDS
    assert found["prism"].verdict is Verdict.VIOLATED
    assert len(data(failing["prism"][0])) <= 4


@pytest.mark.slow
def test_a_batch_that_is_not_full_is_lost_before_a_grouping(beam_subjects):
    """On the bundle-based DirectRunner (Beam 2.77.0), as docs/examples/subjects_beam.py says."""
    driver, _ = beam_subjects
    in_batches = loaded(EXAMPLES / "subjects_beam.py")[0]["points_in_batches"]
    found, failing, _ = asked(driver, in_batches, "bounded")
    assert found["bounded"].verdict is Verdict.VIOLATED
    assert "is new" in failing["bounded"][1]


def test_late_rows_are_known_to_be_late_and_come_out_of_a_dofn_with_state(beam_subjects, tmp_path):
    driver, there = beam_subjects
    values = {"team": "a", "points": 1, "stored": moment(START)}
    rows = tuple((Row(values, START + nr, nr=nr),) for nr in range(3))
    [late] = [question for question in driver.questions if question.id == "late"]
    [pair] = pairs(late, Asked(there["once"], span_of((600_000,), 60_000), rows, Random(1)))
    seen = {}
    for name in ("once", "by_another_time"):
        runs = Runs(driver, there[name], ())
        seen[name] = [
            Seen(runs.answer(ran), ran) for ran in (runs.run(each, False) for each in (pair.plain, pair.varied))
        ]
    assert late.judge(pair, *seen["once"]).endswith(STATE)
    shown(driver, there["once"], (pair, ""), HERE / "subjects" / "seeded_beam.py", tmp_path)
    assert seen["by_another_time"][1].rows
    with pytest.raises(NotAsked, match=UNKNOWN):
        late.judge(pair, *seen["by_another_time"])


def test_two_inputs_share_a_stream(beam_subjects, prism):
    driver, there = beam_subjects
    found, _, report = asked(driver, there["balance"], "again", "order", "batches", "empty", "bounded", "prism")
    assert {question: finding.verdict for question, finding in found.items()} == dict.fromkeys(found, Verdict.HOLDS)
    assert report.packed.startswith("24 cases in a run")


def test_the_last_pane_of_each_output_and_pair_counts(beam_subjects):
    driver, there = beam_subjects
    found, _, report = asked(driver, there["bests"], "order", "bounded")
    assert {question: finding.verdict for question, finding in found.items()} == dict.fromkeys(found, Verdict.HOLDS)
    answers = [row for rows in report.answers.values() for row in rows]
    assert {row["output"] for row in answers} == {"high", "low"}
    assert len({(row["output"], row["key"]) for row in answers}) > 2


def test_what_cannot_be_tested_gets_one_line_on_beam(beam_subjects):
    driver, there = beam_subjects
    report, _ = ask(driver, there["without_its_key"], Options())
    assert "the output has no 'team' (it has value); put the key out" in report.error
    report, _ = ask(driver, there["of_no_collection"], Options())
    assert "the function gave a list, not a PCollection" in report.error
    report, _ = ask(driver, there["of_no_column"], Options())
    assert "the query failed over drawn rows: KeyError: " in report.error
    assert "(seeded_beam.py, line " in report.error


@pytest.mark.slow
def test_a_count_of_rows_is_silently_taken_for_a_count_of_pages(spark_subjects, tmp_path):
    driver, _ = spark_subjects
    before = loaded(EXAMPLES / "my_query.py")[0]["visits"]
    behind = next_version(before, loaded(EXAMPLES / "my_query_next.py")[0]["visits"])
    found, failing, _ = asked(driver, behind)
    assert found["next"].verdict is Verdict.VIOLATED
    assert "silently gone" not in found["next"].why
    rows = shown(driver, behind, failing["next"], EXAMPLES / "my_query_next.py", tmp_path)
    assert any(row.values["page"] is None for row in rows)


@pytest.mark.parametrize("behind", ["totals", pytest.param("first_of_each", marks=pytest.mark.slow)])
def test_a_query_goes_on_from_the_checkpoint_of_another_process_and_not_of_another_operator(spark_subjects, behind):
    driver, there = spark_subjects
    file = str(HERE / "subjects" / "seeded_spark.py")
    driver.before = Beginner(Place(sys.executable, dict(os.environ), file, "spark", "this release"))
    try:
        found = asked(driver, next_version(there["totals"], there[behind]))[0]["next"]
    finally:
        driver.before.close()
        driver.before = None
    assert found.verdict is (Verdict.HOLDS if behind == "totals" else Verdict.REFUSED)
    assert ("STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA" in found.why) is (behind != "totals")

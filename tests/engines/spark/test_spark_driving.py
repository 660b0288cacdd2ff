"""How schedules are driven on the real Spark, whatever the API: exactly, or it is an error. On the API that is fastest
to run."""

import itertools
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from common import COUNTED, PROGRAMS, failing_and_idle, run, specified, with_steps
from marks import quick

from conformance.engines.spark.driving import micro_batches, proof
from conformance.engines.spark.driving.layouts import Layout
from conformance.engines.spark.plans.around import Changes, SparkPlan
from conformance.engines.spark.runtime import running, session
from conformance.model.case import Case
from conformance.model.engine import NotDriven
from conformance.model.runs import Pack
from conformance.model.schedule import (
    Advance,
    Deliver,
    Event,
    FailOnce,
    NoData,
    Partitions,
    Plan,
    Restart,
    Schedule,
    renumbered,
)
from conformance.model.values import canonical
from conformance.plugins.registry import load_engine
from conformance.testing import CALLS, T, calls_case

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_heartbeat_off_by_one_is_an_error(spark, monkeypatch, shift):
    """Never a verdict."""
    true = micro_batches.heartbeat
    monkeypatch.setattr(micro_batches, "heartbeat", lambda watermark, *delay: true(watermark + shift, *delay))
    with pytest.raises(NotDriven, match="at watermark"):
        spark.run(Pack((COUNTED,)), PROGRAMS)


def test_a_query_between_two_restarts_that_has_nothing_to_do_is_driven(spark):
    """It reports a micro-batch that it does not run, which is the first one of the next query (Spark 4.3.0)."""
    restarted = with_steps(Restart(0), Restart(0))
    assert run(spark, [restarted]) == specified(spark, [restarted])


@pytest.mark.parametrize("left_out", [1, 3, 5])
def test_a_settling_batch_left_out_is_an_error(spark, monkeypatch, left_out):
    true = micro_batches.plan
    planned = true(COUNTED.schedule.timeline)
    assert not planned[left_out].bundle
    sabotaged = [batch for i, batch in enumerate(planned) if i != left_out]
    calls = iter([sabotaged])
    monkeypatch.setattr(micro_batches, "plan", lambda *args: next(calls, None) or true(*args))
    with pytest.raises(NotDriven):
        spark.run(Pack((COUNTED,)), PROGRAMS)


def test_a_lost_or_doubled_row_is_an_error(spark, monkeypatch):
    true = micro_batches.rows_of

    def sabotage(batch, events, *delay):
        return true(batch, events[1:], *delay)

    monkeypatch.setattr(micro_batches, "rows_of", sabotage)
    with pytest.raises(NotDriven, match="read 2 rows, not 3"):
        spark.run(Pack((COUNTED,)), PROGRAMS)


def test_rows_of_a_step_in_two_partitions_are_an_error(spark, monkeypatch):
    """They would arrive in an order that nobody chose."""
    true = Layout.read

    def sabotage(*args):
        from pyspark.sql.functions import pmod, xxhash64

        return true(*args).withColumn("partition", pmod(xxhash64("id"), 7).cast("int"))

    monkeypatch.setattr(Layout, "read", sabotage)
    with pytest.raises(NotDriven, match="read in several partitions"):
        spark.run(Pack((COUNTED,)), PROGRAMS)


def test_output_that_comes_out_twice_does_so_in_the_trace_and_counts_once_as_received(spark, monkeypatch):
    right = spark.run(Pack((COUNTED,)), PROGRAMS)
    true = running.run_query

    def sabotage(*args):
        rows, progress, failure = true(*args)
        return {number: found * 2 for number, found in rows.items()}, progress, failure

    monkeypatch.setattr(running, "run_query", sabotage)
    doubled = spark.run(Pack((COUNTED,)), PROGRAMS)
    assert sorted(doubled.traces[COUNTED.id].emissions, key=repr) == sorted(
        right.traces[COUNTED.id].emissions * 2, key=repr
    )
    assert doubled.counts == right.counts


@pytest.mark.parametrize("resume", [False, True])
def test_a_failed_attempt_leaves_nothing_and_touched_what_it_says(spark, resume):
    """The case whose bundle fails is not called untouched; one that has no element in that bundle is."""
    failing, idle = failing_and_idle(FailOnce(0, resume))
    result = spark.run(Pack((failing, idle)), PROGRAMS)
    assert result.traces == specified(spark, [failing, idle])
    assert result.untouched == {idle.id}


def test_a_failure_that_does_not_happen_is_an_error(spark, monkeypatch):
    monkeypatch.setattr(micro_batches, "SENTINELS", 0)
    with pytest.raises(NotDriven, match="was to fail"):
        spark.run(Pack((with_steps(FailOnce(0)),)), PROGRAMS)
    with pytest.raises(NotDriven, match="the query was to fail"):
        spark.run(Pack((with_steps(FailOnce(0, resume=True)),)), PROGRAMS)


def test_a_bundle_after_a_coalesced_advance_is_filtered_by_the_watermark_before(spark):
    schedule = Schedule(
        (
            Advance(0, T),
            Deliver(1, (Event("e1", "a", None, T + 1),)),
            Advance(2, T + 5, coalesced=True),
            Deliver(3, (Event("e2", "a", None, T), Event("e3", "a", None, T + 3), Event("e4", "a", None, T + 6))),
            Deliver(4, (Event("e5", "a", None, T + 5),)),
            Advance(5, T + 90),
        )
    )
    case = Case("late-data", "global", schedule)
    traces = run(spark, [case])
    assert [e.value["processed"] for e in traces[case.id].emissions] == ["e1", "e3", "e4"]
    assert traces == specified(spark, [case])


def test_the_state_is_kept_in_as_many_partitions_as_asked_for(spark, monkeypatch):
    case = replace(COUNTED, schedule=renumbered([Partitions(0, 5), *COUNTED.schedule.steps]))
    assert run(spark, [case]) == specified(spark, [case])
    monkeypatch.setattr(session, "PARTITIONS", 3)
    monkeypatch.setattr(proof, "partitions_of", _then(lambda pack: 2, proof.partitions_of))
    with pytest.raises(NotDriven, match=re.escape("kept its state in {2} partitions, not 3")):
        spark.run(Pack((COUNTED,)), PROGRAMS)


def _then(first, rest):
    """A function that is ``first`` when it is called for the first time."""
    functions = itertools.chain([first], itertools.repeat(rest))
    return lambda *args: next(functions)(*args)


def test_two_packs_at_a_time_give_what_one_gives(spark):
    cases = [replace(COUNTED, schedule=s) for s in (COUNTED.schedule, with_steps(Restart(0)).schedule)]
    with ThreadPoolExecutor(max_workers=2) as pool:
        together = list(pool.map(lambda case: spark.run(Pack((case,)), PROGRAMS).traces, cases))
    assert together == [specified(spark, [case]) for case in cases]


def _shifted(monkeypatch, by):
    """What comes out of a query, so many micro-batches later."""
    true = running.run_query

    def sabotage(*args):
        rows, progress, failure = true(*args)
        return {number + by: found for number, found in rows.items()}, progress, failure

    monkeypatch.setattr(running, "run_query", sabotage)


def test_output_in_an_earlier_batch_is_an_error(spark, monkeypatch):
    _shifted(monkeypatch, -1)
    with pytest.raises(NotDriven, match="came out in micro-batch"):
        spark.run(Pack((COUNTED,)), PROGRAMS)


def test_output_in_a_later_batch_is_in_the_trace_where_it_came_out(spark, monkeypatch):
    right = spark.run(Pack((COUNTED,)), PROGRAMS)
    _shifted(monkeypatch, 1)
    late = spark.run(Pack((COUNTED,)), PROGRAMS)
    assert [e.value for e in late.traces[COUNTED.id].emissions] == [e.value for e in right.traces[COUNTED.id].emissions]
    assert late.traces != right.traces
    assert late.counts == right.counts


def test_the_cause_of_a_failed_query_is_its_innermost_exception():
    text = """[STREAM_FAILED] Query failed: Job aborted
Traceback (most recent call last):
  File "worker.py", line 1, in main
ValueError: the cause
pyspark.errors.PythonException: wrapped"""
    assert session.cause(Exception(text)) == "ValueError: the cause"
    assert session.cause(Exception("first\nsecond")) == "first"
    chained = (
        "KeyError: 'x'\nThe above exception was ...\nconformance.model.program.EngineFault: [case c1] get: "
        "KeyError: 'x'"
    )
    assert session.cause(Exception(chained)) == "EngineFault: [case c1] get: KeyError: 'x'"
    query = "[STREAM_FAILED] Query [id = 1f-a, runId = 2e-b] terminated with exception: None.get"
    assert session.cause(Exception(query)) == "[STREAM_FAILED] the query failed: None.get"
    assert session.cause(Exception("An error occurred while calling o49.compile.\n: the cause")) == "the cause"
    crossed = (
        "[STREAM_FAILED] Reason: raised by the Python Proxy: Traceback (most recent call last):\n"
        "py4j.protocol.Py4JJavaError: An error occurred while calling o4.getResult.\n"
        ": org.apache.spark.SparkException: Exception thrown in awaitResult: \n\tat org.Scala.awaitResult\n"
        "Caused by: org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE] the cause\n\tat org.Scala.load\n"
    )
    assert session.cause(Exception(crossed)) == "SparkException: [CANNOT_LOAD_STATE_STORE] the cause"
    assert session.cause(Exception("")) == "Exception"


def test_timers_beyond_the_last_advance_do_not_come_out(spark):
    case = replace(calls_case([[("a", [["timers", "set", "one", T + 900_000]])]]))
    assert run(spark, [case], CALLS)[case.id].emissions == ()


PLANS = [
    "union-of-halves",
    "union-by-turns",
    "no-data-batch",
    "several-files",
    "sink-twice",
    "side-by-side",
    "sink-files",
    "sink-memory",
    "duplicates-behind",
]


@pytest.mark.parametrize("plan", quick(["no-data-batch", "side-by-side", "sink-files"], PLANS))
def test_a_plan_answers_as_the_plain_query_does(spark, plan):
    assert_alike(spark, COUNTED, plan)


def assert_alike(spark, plain, plan):
    """A case comes out of a plan as it comes out of the plain query."""
    planned = replace(plain, schedule=renumbered([Plan(0, plan), *plain.schedule.steps]))
    right = spark.run(Pack((plain,)), PROGRAMS).traces[plain.id]
    found = spark.run(Pack((planned,)), PROGRAMS).traces[planned.id]
    # The output of a key keeps its order, also where another operator behind has none.
    assert by_key(found, 1) == by_key(right)


def by_key(trace, steps=0):
    found = {}
    for e in trace.emissions:
        found.setdefault(e.key, []).append((e.step - steps, canonical(e.value)))
    return found


@pytest.mark.slow
def test_windows_behind_have_every_row_of_the_operator(spark, tmp_path):
    """In the step that it left the operator in; so has the last watermark."""
    engine = load_engine("spark-tws")
    engine.open(tmp_path)
    planned = replace(COUNTED, schedule=renumbered([Plan(0, "windows-behind"), *COUNTED.schedule.steps]))
    right = engine.run(Pack((COUNTED,)), PROGRAMS).traces[COUNTED.id]
    found = engine.run(Pack((planned,)), PROGRAMS).traces[planned.id]
    engine.close()
    assert by_key(found, 1) == by_key(right)


def test_the_jvm_refuses_event_time_in_a_batch_query(spark):
    """Finding 50."""
    planned = replace(COUNTED, schedule=renumbered([Plan(0, "batch"), *COUNTED.schedule.steps]))
    assert "INTERNAL_ERROR_TWS" in spark.run(Pack((planned,)), PROGRAMS).traces[planned.id].error


@pytest.mark.parametrize(
    ("plan", "steps"),
    [
        pytest.param("union-by-turns", [FailOnce(0, resume=True)], marks=pytest.mark.slow),
        ("union-later", [FailOnce(0, resume=True)]),
        pytest.param("union-empty", [NoData(0)], marks=pytest.mark.slow),
    ],
)
def test_a_plan_of_two_sources_is_driven_through_what_comes_between_bundles(spark, plan, steps):
    """Each micro-batch is read in its turn: the one that fails, and the one without any row."""
    assert_alike(spark, with_steps(*steps), plan)


def test_a_query_of_a_plan_that_fails_is_an_answer(spark, monkeypatch):
    def refuse(frame):
        raise ValueError("no such plan")

    monkeypatch.setitem(spark.plans, "columns-unused", SparkPlan(changes=Changes(before=refuse)))
    planned = replace(COUNTED, schedule=renumbered([Plan(0, "columns-unused"), *COUNTED.schedule.steps]))
    assert "no such plan" in spark.run(Pack((planned,)), PROGRAMS).traces[planned.id].error

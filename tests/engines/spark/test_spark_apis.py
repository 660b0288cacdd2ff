"""The Spark engines on the real Spark: each is a true adapter, in every configuration, and hides nothing."""

import os
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from common import AROUND_THE_WATERMARK, COUNTED, PROGRAMS, beside, drawn, run, specified
from marks import quick

from conformance.model.case import Case
from conformance.model.feature import Feature
from conformance.model.program import Cell, Program
from conformance.model.runs import Pack
from conformance.model.schedule import Advance, Deliver, Event, Plan, Schedule, renumbered
from conformance.plugins.registry import load_engine
from conformance.testing import CALLS, T, calls_case, check_engine
from conformance.testing.trials import ROWS_AND_TIMER

pytestmark = pytest.mark.engine

APIS = ["spark-tws", "spark-tws-pandas", "spark-fmgws-pandas", "spark-mgws-jvm", "spark-fmgws-jvm", "spark-tws-jvm"]
VARIANTS = ["spark-fmgws-jvm:rocksdb-changelog", "spark-fmgws-jvm:processing-time"]
LACKING = {"every output of a call", ROWS_AND_TIMER}
NO_EVENT_TIME = "event-time timers: with a processing-time timeout"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


@pytest.fixture
def api(request, spark, tmp_path):
    engine = load_engine(request.param)
    engine.open(tmp_path)
    yield engine
    engine.close()


LACKED_BY_SOME = (
    "a time to live of state: GroupState",
    f"{Feature.ROW_COUNT.value}: a query reports one count for all its state variables",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*APIS, *VARIANTS])
def test_the_adapter_is_certified(spark, name):
    report = check_engine(load_engine(name))
    print(report)
    allowed = (
        *LACKED_BY_SOME,
        f"{Feature.CONTAINERS.value}: ",
        f"{Feature.MISFITS.value}: ",
        f"{Feature.NULL_KEYS.value}: ",
        f"{Feature.OUTPUT_TIME.value}: ",
        *([NO_EVENT_TIME] if name.endswith(":processing-time") else []),
    )
    assert not {what for what, why in report.skipped.items() if what not in LACKING and not why.startswith(allowed)}


def test_a_configuration_is_what_it_says(spark, tmp_path):
    engine = load_engine("spark-tws:rocksdb-changelog")
    engine.open(tmp_path)
    assert engine.environment()[CHANGELOG] == "true"
    assert load_engine("spark-fmgws-jvm:rocksdb").store == "rocksdb"
    engine.close()


@pytest.mark.parametrize("api", APIS, indirect=True)
def test_late_rows_are_dropped_and_counted(api):
    result = api.run(Pack((AROUND_THE_WATERMARK,)), PROGRAMS)
    assert [e.value["processed"] for e in result.traces[AROUND_THE_WATERMARK.id].emissions] == ["e1", "e8"]
    assert [(c.step, c.delivered, c.received, c.reported_late) for c in result.counts] == [(1, 3, 1, 2), (3, 2, 1, 1)]


@pytest.mark.parametrize("api", quick(["spark-tws"], APIS), indirect=True)
def test_packed_and_alone_give_the_same_traces(api):
    """The isolation that packing relies on, with many scenarios in one pack."""
    cases = drawn(api)
    scenarios = {}
    for case in cases:
        if len(case.schedule.bundles) > 1:
            scenarios.setdefault(case.schedule.timeline, set()).add(case.scenario)
    timeline = min((t for t, found in scenarios.items() if len(found) > 10), key=len)
    cases = [case for case in cases if case.schedule.timeline == timeline]
    few = cases[0], cases[-1]
    packed = run(api, beside(few, cases))
    for case in few:
        assert api.run(Pack((case,)), PROGRAMS).traces[case.id] == packed[case.id], case.schedule.to_json()


def test_map_groups_with_state_puts_out_the_last_emission_of_a_call(spark, tmp_path):
    engine = load_engine("spark-mgws-jvm")
    engine.open(tmp_path)
    counts = [e.value["count"] for e in run(engine, [COUNTED])[COUNTED.id].emissions]
    assert [e.value["count"] for e in specified(engine, [COUNTED])[COUNTED.id].emissions] == [1, 2, 3]
    assert counts == [2, 3]
    engine.close()


def test_a_batch_query_gives_what_the_stream_gives_and_fires_no_timer(spark, tmp_path):
    """Finding 50."""
    engine = load_engine("spark-tws")
    engine.open(tmp_path)
    timer = calls_case([[("a", [["timers", "set", "one", T + 10]])]])
    counted, timed = (
        replace(case, schedule=renumbered([Plan(0, "batch"), *case.schedule.steps])) for case in (COUNTED, timer)
    )
    assert [e.value["count"] for e in run(engine, [counted])[counted.id].emissions] == [1, 2, 3]
    assert specified(engine, [timer], CALLS)[timer.id].emissions
    assert engine.run(Pack((timed,)), PROGRAMS | CALLS).traces[timed.id].emissions == ()
    engine.close()


def test_a_processing_time_timeout_has_no_late_rows_and_no_timers_in_event_time(spark):
    can = load_engine("spark-fmgws-jvm:processing-time").capabilities
    assert can.features[Feature.EVENT_TIMERS].how == "unsupported"
    assert load_engine("spark-fmgws-jvm").capabilities.features[Feature.EVENT_TIMERS].how == "emulated"


class Misbehaves(Program):
    """Does to its process what the event's value says, when its key is "bad". A file that the value names exists from
    then on."""

    cells = {"count": Cell.COMBINING}

    def on_event(self, event, state, timers, emit):
        state.count.add(1)
        if event.key == "bad":
            what, _, file = event.value.partition(" ")
            if file:
                open(file, "w").close()
            if what == "crash":
                os._exit(7)
            while what == "hang":
                time.sleep(0.1)
            print("a flood " * 20_000)
        emit({"count": state.count.get()})


MISBEHAVES = {"test/misbehaves": Misbehaves()}


def misbehaving(key, value):
    steps = (Advance(0, T), Deliver(1, (Event("e1", key, value, T + 1),)), Advance(2, T + 9))
    return Case("test", "misbehaves", Schedule(steps))


@pytest.fixture(params=quick(["spark-tws-jvm"], ["spark-fmgws-jvm", "spark-tws-jvm"]))
def jvm(request, spark, tmp_path):
    from pyspark import cloudpickle

    module = __import__(__name__)
    cloudpickle.register_pickle_by_value(module)  # the processes of programs do not see the tests
    engine = load_engine(request.param)
    engine.open(tmp_path)
    yield engine
    engine.close()
    cloudpickle.unregister_pickle_by_value(module)


@pytest.mark.parametrize(
    ("what", "says"), [("crash", "ended in the middle"), ("hang", "gave no answer within 3000 ms")]
)
def test_a_program_that_takes_its_process_down_is_named(jvm, monkeypatch, what, says):
    """So that the pack can be run again without its case; the query does not hang, and the session lives on."""
    from conformance.engines.spark.jvm import bridge

    monkeypatch.setattr(bridge, "PATIENCE", 3_000)
    bad, good = misbehaving("bad", what), misbehaving("good", None)
    with pytest.raises(RuntimeError, match=f"case {bad.id}.*{says}"):
        jvm.run(Pack((bad, good)), MISBEHAVES)
    assert [e.value for e in jvm.run(Pack((good,)), MISBEHAVES).traces[good.id].emissions] == [{"count": 1}]


def test_what_a_program_prints_is_no_answer(jvm):
    loud = misbehaving("bad", "print")
    assert [e.value for e in jvm.run(Pack((loud,)), MISBEHAVES).traces[loud.id].emissions] == [{"count": 1}]


def test_no_process_of_a_program_outlives_its_session(tmp_path):
    """Not even one that never returns, when its JVM is killed."""
    script, hangs = tmp_path / "one.py", tmp_path / "hangs"
    script.write_text(
        "import os, signal, sys, threading, time\n"
        f"sys.path[:0] = {[str(folder) for folder in Path(__file__).parents[:3]]!r}\n"
        "from pathlib import Path\n"
        "from pyspark import SparkContext, cloudpickle\n"
        "import test_spark_apis as tests\n"
        "from conformance.model import Pack\n"
        "cloudpickle.register_pickle_by_value(tests)\n"
        "engine = tests.load_engine('spark-fmgws-jvm')\n"
        f"engine.open(Path({str(tmp_path)!r}))\n"
        f"bad = tests.misbehaving('bad', 'hang {hangs}')\n"
        "def wait(done, seconds):\n"
        "    end = time.monotonic() + seconds\n"
        "    while not done() and time.monotonic() < end: time.sleep(0.1)\n"
        "threading.Thread(target=lambda: engine.run(Pack((bad,)), tests.MISBEHAVES), daemon=True).start()\n"
        f"wait(Path({str(hangs)!r}).exists, 200)\n"
        f"assert tests._children({str(tmp_path)!r})\n"
        "print(SparkContext._gateway.proc.pid, flush=True)\n"
        "os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)\n"
        f"wait(lambda: not tests._children({str(tmp_path)!r}), 20)\n"
        "os._exit(0)\n"
    )
    import sys

    mine = os.environ | {"CONFORMANCE_TESTS_MARK": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False, env=mine
    )
    assert done.stdout.strip().isdigit(), done.stderr[-2000:]
    assert hangs.exists()
    assert not _children(str(tmp_path))


def _children(mark):
    """The processes of programs that have this mark in their environment."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            runs = b"conformance.engines.spark.jvm.child" in (process / "cmdline").read_bytes()
            found |= {process.name} if runs and mark.encode() in (process / "environ").read_bytes() else set()
    return found

"""The Spark engines on a cluster and through Spark Connect: the same cases give the same traces as embedded."""

import os
import socket
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

import pytest
from common import SCENARIOS, T, drawn, run, with_steps

from conformance.engines.spark.runtime import installation, session
from conformance.engines.spark.runtime.session import MASTER
from conformance.execution.host import Host
from conformance.execution.packing import packs_of
from conformance.model.engine import CannotRun
from conformance.model.runs import Pack
from conformance.model.schedule import Advance, Deliver, Event, FailOnce, Partitions, Restart, Schedule, renumbered
from conformance.plugins.registry import load_engine
from conformance.plugins.settings import configure

pytestmark = pytest.mark.engine

FIVE = {"dedup-within-watermark", "index-assignment", "late-data", "per-key-counting", "session-timeout"}


@pytest.fixture(scope="module")
def connect_server(tmp_path_factory):
    """The address of a Spark Connect server that this test starts."""
    pytest.importorskip("pyspark")
    home = installation.home(tmp_path_factory.mktemp("spark"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.python.authenticate.socketTimeout": "120s",  # as embedded: a busy machine starts workers slowly
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.python.daemon.module": "conformance.engines.spark.runtime.daemon",  # faster: see there
    }
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2,4]"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    log = tmp_path_factory.mktemp("connect") / "server.log"
    with log.open("wb") as out:
        server = subprocess.Popen([*command, "spark-internal"], stdout=out, stderr=out, env=environment)
    try:
        for _ in range(600):
            if b"Connect server started" in log.read_bytes():
                break
            assert server.poll() is None, log.read_text()[-2000:]
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=60)


@pytest.fixture(params=["local-cluster[2,1,1024]", "sc"])
def elsewhere(request, monkeypatch, tmp_path):
    """A process whose Spark is not embedded."""
    address = request.getfixturevalue("connect_server") if request.param == "sc" else request.param
    monkeypatch.setattr("conformance.plugins.settings._given", {})  # this process has an embedded one
    host = Host(tmp_path / "log", timeout=300)
    yield address, host
    host.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spark-tws", "spark-fmgws-pandas", "spark-tws-jvm"])
def test_the_five_scenarios_give_the_same_traces_elsewhere(spark, elsewhere, name, tmp_path):
    """Those that need most: several bundles, restarts, a failed attempt, a failed query, other partitions."""
    if name == "spark-tws-jvm" and elsewhere[0].startswith("sc://"):
        pytest.skip("Spark Connect gives no access to the JVM")
    cases = [case for case in drawn(spark) if case.scenario in FIVE]
    address, host = elsewhere
    wanted = NEEDED if address.startswith("sc://") else NEEDED | OF_EXECUTORS
    needed, packs = wanted, []
    packed = packs_of(cases, 2_000)
    # Each step takes a micro-batch or two, and a server takes a second for one.
    shortest = sorted(packed, key=lambda pack: (-len({c.scenario for c in pack.cases}), len(pack.timeline)))
    for pack in sorted(shortest, key=lambda pack: -len(needed & _needed(pack))):
        if wanted & _needed(pack):
            packs.append(_few(pack))
            wanted = wanted - _needed(pack)
    plain = [pack for pack in packed if not pack.cases[0].perturbation and len(Schedule(pack.timeline).bundles) > 1]
    packs.append(_few(max(plain, key=lambda pack: (len({c.scenario for c in pack.cases}), -len(pack.timeline)))))
    assert not wanted
    assert {case.scenario for pack in packs for case in pack.cases} == FIVE <= {s.id for s in SCENARIOS}
    embedded = load_engine(name)
    embedded.open(tmp_path)
    configure({MASTER: address})
    engine = host.start(name)
    configure({})
    assert engine.environment["master"] == address
    for pack in packs if name == "spark-tws" else packs[-1:]:
        assert engine.run(pack).traces == run(embedded, pack.cases), pack.timeline
    embedded.close()


MINUTES = 200_000
"""Long enough (ms) for a session to end."""


@pytest.mark.slow
def test_the_plan_connect_gives_the_same_traces(spark, tmp_path):
    """With several bundles, a query that fails, a restart and timers. Its client runs what ``sc://`` runs."""
    rows = load_engine("spark-tws")
    rows.open(tmp_path)
    connect = next(plan for plan in rows.capabilities.plans if plan.id == "connect")
    failing = with_steps(FailOnce(0, resume=True), Deliver(0, (Event("e4", "a", None, T + 5),)), Restart(0))
    failing = replace(failing, schedule=renumbered([*failing.schedule.steps, Advance(0, T + MINUTES)]))
    places = ("index-assignment", "global"), ("late-data", "global"), ("session-timeout", "sessions")
    cases = [failing, *(replace(failing, scenario=scenario, program=program) for scenario, program in places)]
    twins = [connect.perturbation.twin(case, 1) for case in cases]
    plain, through = run(rows, cases), run(rows, twins)
    for case, twin in zip(cases, twins, strict=True):
        mine = [replace(emission, step=emission.step + 1) for emission in plain[case.id].emissions]
        assert mine == list(through[twin.id].emissions), case
        assert mine
    rows.close()


NEEDED = {Restart, "resume"}
"""What a cluster or a server could do otherwise, besides several bundles."""

OF_EXECUTORS = {Partitions, "retry"}
"""What a cluster could do otherwise, too: a server has the executors of an embedded Spark."""


def _needed(pack):
    """What of NEEDED and OF_EXECUTORS a pack's timeline has."""
    kinds = {
        ("resume" if step.resume else "retry") if isinstance(step, FailOnce) else type(step) for step in pack.timeline
    }
    return kinds & (NEEDED | OF_EXECUTORS)


def _few(pack):
    """A pack with at most two cases of each scenario."""
    seen = Counter()
    kept = []
    for case in pack.cases:
        seen[case.scenario] += 1
        kept += [case] if seen[case.scenario] <= 2 else []
    return Pack(tuple(kept))


@pytest.fixture
def nowhere(monkeypatch):
    """A master that is not there, in this process as well."""
    monkeypatch.setattr("conformance.plugins.settings._given", {MASTER: "sc://127.0.0.1:1"})
    yield
    session.configure({})


@pytest.mark.usefixtures("nowhere")
def test_what_needs_the_jvm_says_so_through_connect():
    with pytest.raises(CannotRun, match="cannot be reached through Spark Connect"):
        load_engine("spark-mgws-jvm").check()


@pytest.mark.usefixtures("nowhere")
def test_a_master_that_is_not_there_is_one_line(tmp_path):
    host = Host(tmp_path / "log", timeout=120)
    with pytest.raises(CannotRun, match=r"no Spark session with the master sc://127\.0\.0\.1:1"):
        host.start("spark-tws")
    host.close()

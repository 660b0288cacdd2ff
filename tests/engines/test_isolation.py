"""An engine that crashes, hangs or prints floods takes nothing else down: it is started again, and what it did not
answer is unknown."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from common import smallest_run

from conformance.judgement.cell import Verdict
from conformance.results.results import Results
from conformance.results.store import write_cases

pytestmark = pytest.mark.engine

HOLDS_ON_SPARK = "per-key-counting"
"""To confirm a witness on Spark takes longer than all else."""


JVM = b"org.apache.spark.deploy.SparkSubmit"
"""What is in the command of each of Spark's JVMs."""


def started(tmp_path, scenarios, *options, **environment):
    """A run of few cases and few packs, in a process."""
    write_cases(tmp_path / "few.parquet", [case for name in scenarios for case in smallest_run(name, "restart")])
    asked = [f"--scenario={name}" for name in scenarios]
    asked += ["--cases-from=few.parquet", "--witnesses=none", "--verbose", "--out=out"]
    command = [sys.executable, "-m", "conformance.cli", "run", *asked, *options]
    return subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | environment,
    )


def below(runner, needle):
    """The processes of a runner's engines whose command has ``needle`` in it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            mine = f"CONFORMANCE_RUNNER={runner}\0".encode() in path.read_bytes()
            if mine and needle in path.with_name("cmdline").read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def jvms():
    """All of Spark's JVMs."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if JVM in path.read_bytes():
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


def command(process):
    """The words of a process's command."""
    return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8").rstrip("\0").split("\0")


def finished(process, printed=""):
    rest = process.communicate(timeout=540)[0]
    return printed + rest


def verdicts(results, engine):
    return {cell.verdict for cell in results.cells if cell.engine == engine}


def test_a_jvm_that_is_killed_is_started_again_and_all_columns_are_complete(tmp_path):
    pytest.importorskip("pyspark")
    engines = ["--engine", "spark-tws-jvm", "--engine", "beam-native:count", "--rows", "1"]
    process = started(tmp_path, [HOLDS_ON_SPARK], *engines)
    printed = ""
    for line in process.stdout:
        printed += line
        if line.startswith("spark-tws-jvm: up"):
            break
    (jvm,) = below(process.pid, JVM)
    os.kill(jvm, signal.SIGKILL)
    printed = finished(process, printed)
    results = Results.read(tmp_path / "out" / "results.json.gz")
    assert results.environment["spark-tws-jvm"].failure == "", printed
    assert Verdict.HOLDS in verdicts(results, "spark-tws-jvm")
    assert all(cell.lost == 0 for cell in results.cells)
    assert results.environment["beam-native:count"].failure == ""
    assert Verdict.HOLDS in verdicts(results, "beam-native:count")
    assert not results.run.partial
    assert "JVM ended with code -9" in (tmp_path / "out" / "logs" / "spark.log").read_text()
    assert below(process.pid, b"") == []


def test_an_engine_that_hangs_is_ended_and_the_next_gets_a_process_of_its_own(tmp_path):
    """SIGSTOP makes the process of the first engine hang; the second one, which would share it, runs."""
    pytest.importorskip("apache_beam")
    first, second = "beam-native:count", "beam-native:windows"
    scenarios = ["per-key-counting", "windowed-counting"]
    options = ["--engine", first, "--engine", second, "--timeout", "10", "--rows", "1"]
    process = started(tmp_path, scenarios, *options)
    printed = ""
    for line in process.stdout:
        printed += line
        if line.startswith(f"{first}: up"):
            break
    (worker,) = below(process.pid, b"conformance.execution.worker")
    os.kill(worker, signal.SIGSTOP)
    printed = finished(process, printed)
    assert process.returncode == 3, printed
    results = Results.read(tmp_path / "out" / "results.json.gz")
    assert results.environment[first].failure.startswith("no answer within 10 s; the full log is in")
    assert Verdict.UNKNOWN in verdicts(results, first)
    assert results.environment[second].failure == ""
    assert Verdict.HOLDS in verdicts(results, second)
    assert below(process.pid, b"") == []


@pytest.mark.slow
def test_nothing_is_left_of_an_interrupted_run(tmp_path):
    """No process, no temporary file."""
    pytest.importorskip("pyspark")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    before, others = set(Path("/tmp").iterdir()), jvms()
    process = started(tmp_path, [HOLDS_ON_SPARK], "--engine", "spark-fmgws-jvm", TMPDIR=str(temporary))
    for line in process.stdout:
        if line.startswith("spark-fmgws-jvm: up"):
            break
    time.sleep(3)
    scratch = [Path(command(worker)[-1]) for worker in below(process.pid, b"conformance.execution.worker")]
    assert scratch
    assert all(folder.is_dir() for folder in scratch)
    mine = below(process.pid, JVM)
    assert mine
    for jvm in mine:  # it does not read TMPDIR
        options = [option.partition("=")[2] for option in command(jvm) if option.startswith("-Djava.io.tmpdir=")]
        assert options
        assert all(Path(folder).parent in scratch or Path(folder) in scratch for folder in options)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 3
    process.communicate()
    time.sleep(2)
    assert below(process.pid, b"") == []
    assert [folder for folder in scratch if folder.exists()] == []
    assert list(temporary.iterdir()) == []
    left = {
        path
        for path in set(Path("/tmp").iterdir()) - before
        if path.name.startswith(("spark-", "artifacts-", "librocksdb"))
    }
    commands = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    left = {path for path in left if str(path) not in commands}
    assert not left or others | jvms(), "of no other run, for none is under way"

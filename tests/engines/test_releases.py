"""Engines in releases of their own, in environments that uv builds."""

import os
import re
import subprocess
import sys
from importlib.metadata import version

import pytest
from common import smallest_run

from conformance.comparison.bisect import CannotBisect, released
from conformance.judgement.cell import Verdict
from conformance.plugins.registry import load_engine
from conformance.results.results import Results
from conformance.results.store import write_cases

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module", autouse=True)
def index():
    """Releases come from the package index."""
    try:
        released("apache-beam")
    except CannotBisect as error:
        pytest.skip(str(error))


OLDEST = "3.4.1"
"""The oldest release of Spark that is tried. 3.4.0 and 3.4.1 lose rows whose first column is null (SPARK-44464)."""


OLDEST_BEAM = "2.60.0"
"""The oldest release of Beam that docs/moving.md names."""


def run(folder, *engines, scenario="per-key-counting"):
    write_cases(folder / "few.parquet", smallest_run(scenario))
    asked = [f"--engine={engine}" for engine in engines]
    asked += [f"--scenario={scenario}", "--cases-from=few.parquet", "--out=out", "--witnesses=none", "--budget=30m"]
    return subprocess.run(
        [sys.executable, "-m", "conformance.cli", "run", *asked],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ,
        check=False,
    )


def test_two_releases_run_side_by_side(tmp_path):
    """Each in an environment and a process of its own; both say which they are."""
    done = run(tmp_path, f"beam-direct@{OLDEST_BEAM}", "beam-direct")
    assert done.returncode == 0, done.stdout + done.stderr
    results = Results.read(tmp_path / "out" / "results.json.gz")
    versions = {name: record.versions["beam"] for name, record in results.environment.items()}
    assert versions == {f"beam-direct@{OLDEST_BEAM}": OLDEST_BEAM, "beam-direct": version("apache-beam")}
    assert {cell.engine for cell in results.cells if cell.verdict is Verdict.HOLDS} == set(versions)


def test_a_release_that_does_not_exist_is_one_line_and_exit_code_3(tmp_path):
    done = run(tmp_path, "reference", "beam-direct@9.9.9")
    assert done.returncode == 3
    assert "apache-beam 9.9.9 cannot be installed: the package index has no such release" in done.stdout
    results = Results.read(tmp_path / "out" / "results.json.gz")
    assert {cell.engine for cell in results.cells} == {"reference"}


@pytest.mark.slow
def test_the_oldest_release_runs_and_says_what_it_lacks(tmp_path):
    """Its own fault is seen: the API of pandas loses a null that is put out. That it runs, the upgrade from it shows,
    too."""
    lacking = [f"{engine}@{OLDEST}" for engine in ("spark-tws", "spark-tws-tester")]
    there = {f"spark-fmgws-pandas@{OLDEST}": Verdict.VIOLATED}
    done = run(tmp_path, *lacking, *there, scenario="null-output")
    assert done.returncode == 0, done.stdout + done.stderr
    results = Results.read(tmp_path / "out" / "results.json.gz")
    complete = {
        cell.engine: cell for cell in results.cells if cell.perturbation == "as drawn" and "lost" in cell.guarantee
    }
    assert {name: cell.verdict for name, cell in complete.items()} == there | dict.fromkeys(
        lacking, Verdict.UNSUPPORTED
    )
    assert f"PySpark {OLDEST} has no transformWithState" in done.stdout


def test_an_operator_that_a_release_lacks_is_named(monkeypatch):
    """PySpark 3.4 has none of that name."""
    engine = load_engine("spark-native:drop-duplicates-within-watermark")
    assert engine.lacks() == ""
    monkeypatch.delattr("pyspark.sql.DataFrame.dropDuplicatesWithinWatermark")
    assert engine.lacks() == f"PySpark {version('pyspark')} has no dropDuplicatesWithinWatermark"


def test_an_operator_that_a_release_refuses_is_named(monkeypatch):
    """PySpark 3.4.1 refuses an aggregation behind a join with a time range condition."""
    engine = load_engine("spark-native:join-then-window")
    assert engine.lacks() == ""
    monkeypatch.setattr("conformance.engines.spark.runtime.releases.released", lambda: (3, 4))
    assert engine.lacks().endswith(
        "refuses a stream-stream join with a time range condition and groupBy(window()).count() behind it"
    )


@pytest.mark.slow
def test_an_upgrade_of_spark(tmp_path):
    """What both releases have, on the same cases, with checkpoints carried from the old one to the new one. One query
    that the old one takes is refused later, and nothing else blocks."""
    write_cases(tmp_path / "few.parquet", smallest_run("per-key-counting", "restart"))
    asked = ["--scenario=per-key-counting", "--quick", "--cases-from=few.parquet", "--witnesses=none", "--out=out"]
    asked += ["--engine=spark-native:count", "--engine=spark-tws-tester"]
    command = [sys.executable, "-m", "conformance.cli", "upgrade", "pyspark", f"--from={OLDEST}", *asked]
    command.append(f"--to={version('pyspark')}")
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "spark-tws-tester: left out: PySpark before 4.2 has no TwsTester" in done.stdout
    assert "blocks: spark-native:count: sink-unread: accepted → refused: StreamingQueryException" in done.stdout
    assert "guarantees on engines: 0 blocked" in done.stdout
    assert re.search(r"besides: [1-9]\d* blocked", done.stdout)
    old, new = (Results.read(tmp_path / "out" / side / "results.json.gz") for side in ("old", "new"))
    assert old.run.cases_digest == new.run.cases_digest
    assert old.engines == [f"spark-native:count@{OLDEST}"]
    carried = {cell.engine: cell for cell in new.cells if cell.guarantee.endswith("survives-the-upgrade")}
    assert {name: cell.verdict for name, cell in carried.items()} == dict.fromkeys(new.engines, Verdict.HOLDS)
    assert all(cell.cases for cell in carried.values())

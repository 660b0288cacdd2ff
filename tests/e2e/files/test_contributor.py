"""A contributor's first scenario: one file more in ``scenarios/``, and no other edit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.judgement.cell import Verdict
from conformance.plugins.registry import load_scenarios
from conformance.results.results import Results

REPOSITORY = Path(__file__).parents[3]
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "venv", "*.egg-info")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout with the scenario of the documentation's example."""
    folder = tmp_path_factory.mktemp("contributor") / "checkout"
    shutil.copytree(REPOSITORY, folder, ignore=LEFT_OUT, symlinks=True)
    shutil.copy(folder / "docs" / "examples" / "my_first.py", folder / "scenarios")
    return folder


def python(checkout, *arguments):
    """Run a module of the checkout, not of what is installed."""
    path = os.pathsep.join(filter(None, [str(checkout), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )


def test_a_new_scenario_runs(checkout):
    arguments = ["--scenario", "my-first", "--engine", "reference", "--cases", 2, "--seed", 1, "--out", "build/mine"]
    done = python(checkout, "conformance.cli", "run", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    results = Results.read(checkout / "build" / "mine" / "results.json.gz")
    assert list(results.scenarios) == ["my-first"]
    drawn = {cell.guarantee: cell.verdict for cell in results.cells if cell.perturbation == "as drawn"}
    assert len(drawn) >= 2
    assert set(drawn.values()) == {Verdict.HOLDS}


def test_its_guarantees_catch_mutants(checkout):
    done = python(checkout, "conformance.cli", "selftest", "--scenario", "my-first", "--cases", 1, "--seeds", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    for guarantee in ("the-maximum-never-falls", "every-element-on-time-is-answered"):
        assert f"my-first/{guarantee}" in done.stdout
    assert "0 false accusations" in done.stdout


@pytest.mark.slow
def test_the_tests_that_ask_something_of_every_scenario_pass(checkout):
    """None of them demands a measurement on an engine, a claim, or another entry somewhere. Their names say that they
    ask it of all."""
    about = [path for path in sorted((checkout / "tests" / "unit").rglob("test_*.py")) if _asks_all(path.read_text())]
    assert len(about) > 10
    others = " or ".join(scenario.id for scenario in load_scenarios())
    # What is asked of each scenario is asked of the others by these very tests, and a bug of certain programs is no
    # question to all. Nor are the plans of an engine, or guarantees that the scenario's own run has put to the test.
    left_out = f"bug or catches_a_mutant or every_plan_of_an_engine or each_guarantee_is_put_to_the_test or {others}"
    mine = ["-k", f"my-first or (every or each or all or structure) and not ({left_out})"]
    done = python(checkout, "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *mine, *about)
    assert done.returncode == 0, done.stdout


def _asks_all(text):
    """Whether the tests of a file ask something of all scenarios, or of the files in their folder."""
    return "load_scenarios()" in text or '"scenarios"' in text

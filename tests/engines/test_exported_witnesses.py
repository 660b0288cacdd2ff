"""Exports of stored witnesses: files that need the engine's framework alone, and fail as the witness says."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from commands import conformance

from conformance.engines.beam.runners import prism_binary

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]

ALONE = """
import sys
sys.modules["conformance"] = None  # an import of it fails
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"))
"""

WITNESSES = [
    ("late-data/de43f08c32c5", "teststream", "apache_beam"),
    ("event-time-timers/83cb5253a51e", "pytest", "apache_beam"),
    ("windowed-counting/1dfe8b9b2b66", "teststream", "apache_beam"),
    ("timer-firing/c7417487fb0b", "twstester", "pyspark"),
    ("event-time-timers/45bff12a76ef", "spark", "pyspark"),
    pytest.param("stream-join/c93d2da5fc2d", "spark", "pyspark", marks=pytest.mark.slow),
    ("session-timeout/0596904754da", "bounded", "apache_beam"),
    ("value-state/d25065a598f8", "teststream", "apache_beam"),
    ("late-data/be461314654d", "teststream", "apache_beam"),
    ("typed-state/6a113ce6f997", "teststream", "apache_beam"),
    ("typed-state/0c550328c6bf", "twstester", "pyspark"),
    ("typed-keys/4287181ff0cd", "teststream", "apache_beam"),
    ("session-timeout/9977826ff1a9", "teststream", "apache_beam"),
    ("batching-per-key/4b69d828923c", "pytest", "apache_beam"),
    ("batching-per-key/d0e84e8f220b", "teststream", "apache_beam"),
]


@pytest.mark.parametrize(("witness", "form", "framework"), WITNESSES, ids=lambda value: value)
def test_an_export_fails_as_its_witness_says_without_this_project(witness, form, framework, tmp_path):
    if not find_spec(framework):
        pytest.skip(f"{framework} is not installed")
    stored = json.loads((ROOT / "witnesses" / f"{witness}.json").read_text(encoding="utf-8"))
    on_prism = stored["engine"].startswith("beam-prism")
    prism = prism_binary.find() if on_prism else None
    if on_prism and not prism:
        pytest.skip("no binary of Prism is here")
    done = conformance("replay", ROOT / "witnesses" / f"{witness}.json", "--export", form, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    file = tmp_path / f"test_witness_{stored['id']}.py"
    ran = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(file)],
        cwd=tmp_path,
        env=os.environ | ({"PRISM": str(prism)} if prism else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    said = ran.stderr.partition("AssertionError: ")[2].splitlines()
    assert said[0] == stored["sentence"], ran.stderr
    assert said[1].startswith("  expected: "), ran.stderr
    stepwise = "number of its step" in " ".join(file.read_text(encoding="utf-8").split())
    if not stored["base_schedule"] and not stepwise:  # of two schedules, either may be in the file
        assert said[1] == f"  expected: {[[key, value] for key, value, *_ in stored['specified']]}"
        assert said[2] == f"  observed: {[[key, value] for key, value, *_ in stored['seen']]}"


def test_what_does_not_fit_is_one_line_that_says_why(tmp_path):
    """A file that holds on the engine would be of no use: a case that fails beside its neighbours has none."""
    stored = (json.loads(file.read_text(encoding="utf-8")) for file in sorted((ROOT / "witnesses").glob("*/*.json")))
    found = next(witness["id"] for witness in stored if witness.get("neighbours"))
    done = conformance("replay", next((ROOT / "witnesses").glob(f"*/{found}.json")), "--export", "pytest", cwd=tmp_path)
    assert done.returncode == 2
    assert "is a case among its neighbours, and an export is one case alone" in done.stderr

"""Exports of stored witnesses: files that need the engine's framework alone, and fail as the witness says."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from commands import conformance

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]

ALONE = """
import sys
for name in ("conformance", "engines", "scenarios", "reports"):
    sys.modules[name] = None  # an import of it fails
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"))
"""

WITNESSES = [
    ("late-data/de43f08c32c5", "teststream", "apache_beam"),
    ("event-time-timers/83cb5253a51e", "pytest", "apache_beam"),
    ("windowed-counting/1dfe8b9b2b66", "teststream", "apache_beam"),
    ("timer-firing/c7417487fb0b", "twstester", "pyspark"),
    ("event-time-timers/45bff12a76ef", "spark", "pyspark"),
]


@pytest.mark.parametrize(("witness", "form", "framework"), WITNESSES, ids=lambda value: value)
def test_an_export_fails_as_its_witness_says_without_this_project(witness, form, framework, tmp_path):
    if not find_spec(framework):
        pytest.skip(f"{framework} is not installed")
    stored = json.loads((ROOT / "witnesses" / f"{witness}.json").read_text(encoding="utf-8"))
    done = conformance("replay", ROOT / "witnesses" / f"{witness}.json", "--export", form, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    file = tmp_path / f"test_witness_{stored['id']}.py"
    ran = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(file)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    said = ran.stderr.partition("AssertionError: ")[2].splitlines()
    assert said[:3] == [
        stored["sentence"],
        f"  expected: {[[key, value] for key, value, *_ in stored['specified']]}",
        f"  observed: {[[key, value] for key, value, *_ in stored['seen']]}, as when this file was written",
    ], ran.stderr

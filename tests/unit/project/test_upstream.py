"""The reports for upstream show what their scripts print."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.engines.beam.runners import prism_binary
from conformance.reports.findings import known_findings

DOCS = Path(__file__).parents[3] / "docs"
REPORTS = {Path(f.report.script).name: f.report.text for f in known_findings().values() if f.report}


def test_each_script_has_a_report():
    assert len(REPORTS) >= 10
    assert REPORTS.keys() == {path.name for path in (DOCS / "upstream").glob("*.py")}


def test_a_script_is_short():
    for path in (DOCS / "upstream").glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 30


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in REPORTS if name.startswith("beam_")])
def test_the_observed_output_is_what_beam_prints(name):
    pytest.importorskip("apache_beam")
    _prints_what_was_observed(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in REPORTS if name.startswith("prism_")])
def test_the_observed_output_is_what_prism_prints(name):
    pytest.importorskip("apache_beam")
    if not (binary := prism_binary.find()):
        pytest.skip("no binary of Prism is here")
    _prints_what_was_observed(name, f"--prism_location={binary}")


def _prints_what_was_observed(name, *arguments):
    command = [sys.executable, DOCS / "upstream" / name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    observed = REPORTS[name].partition("Observed")[2]
    assert done.stdout.splitlines() == re.findall(r"^    (.+)$", observed, re.MULTILINE)

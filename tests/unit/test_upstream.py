"""The reports for upstream show what their scripts print."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "upstream.md").read_text(encoding="utf-8")
REPORTS = {re.search(r"\(upstream/(\w+\.py)\)", part)[1]: part for part in PAGE.split("\n## ")[1:]}


def test_each_script_has_a_report():
    assert REPORTS.keys() == {path.name for path in (DOCS / "upstream").glob("*.py")}


def test_a_script_is_short():
    for path in (DOCS / "upstream").glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 30


@pytest.mark.parametrize("name", [name for name in REPORTS if name.startswith("beam_")])
def test_the_observed_output_is_what_beam_prints(name):
    pytest.importorskip("apache_beam")
    done = subprocess.run([sys.executable, DOCS / "upstream" / name], capture_output=True, text=True, check=True)
    observed = REPORTS[name].partition("Observed")[2]
    assert done.stdout.splitlines() == re.findall(r"^    (.+)$", observed, re.MULTILINE)

"""docs/power.md says what the measurements say."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_the_one_that_the_measurements_give(tmp_path):
    subprocess.run([sys.executable, "docs/draw_power.py", str(tmp_path / "power.md")], cwd=ROOT, check=True)
    assert (tmp_path / "power.md").read_text("utf-8") == (ROOT / "docs" / "power.md").read_text("utf-8")

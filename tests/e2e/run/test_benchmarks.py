"""The benchmarks end, whatever an engine does."""

import subprocess
import sys


def test_an_engine_that_takes_too_long_is_given_up_with_one_line():
    command = [sys.executable, "-m", "benchmarks.throughput", "--engine", "reference", "--limit", "0.05"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "reference: no answer within 0.05 s; given up" in done.stderr

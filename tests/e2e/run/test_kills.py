"""A run that is killed loses nothing that an engine answered: the next one goes on from there."""

import random
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3]))  # no part of the package

from benchmarks.kills import SIGNALS, Runs, found_in, killed


def test_runs_killed_at_random_moments_end_as_an_undisturbed_one(tmp_path):
    dice = random.Random(1)
    engines = ("mutant:last-of-a-bundle-dropped",)
    whole = Runs(tmp_path / "whole", engines, "rate-limit", rows=1)
    started = time.monotonic()
    assert whole.run() == 0, whole.said
    seconds = time.monotonic() - started
    moments = [(dice.uniform(0.3, 1), by) for by in SIGNALS]
    faults = killed(
        Runs(tmp_path / "killed", engines, "rate-limit", rows=1),
        found_in(whole.out / "results.json.gz"),
        seconds,
        moments,
    )
    assert not faults

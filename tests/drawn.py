"""Cases of all scenarios that tests share. Drawing them takes longer than any test of them, so one process draws them for all."""

import os
import pickle
from functools import cache
from pathlib import Path

from conformance.generation.cases import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.model.values import digest
from conformance.plugins.registry import load_scenarios

WANTED, SEED = 6, 7

FOLDER = "CONFORMANCE_TESTS_SHARE"
"""The environment variable with the folder that the processes of a test run share."""


@cache
def all_cases():
    """WANTED cases a guarantee, from SEED, with their twins."""
    scenarios = load_scenarios()
    file = Path(os.environ[FOLDER]) / f"{digest(sorted(scenario.id for scenario in scenarios))}.pickle"
    if not file.exists():
        mine = file.with_suffix(f".{os.getpid()}")
        mine.write_bytes(pickle.dumps(draw_cases(scenarios, WANTED, SEED, exercised_by_any_reading(scenarios))))
        mine.replace(file)
    return pickle.loads(file.read_bytes())

"""Cases of all scenarios that tests share. Drawing them takes longer than any test of them, so one process draws them for all.

Each scenario has a file of its own: a checkout with one more scenario draws the cases of that one alone.
"""

import os
import pickle
from functools import cache
from pathlib import Path

from conformance.generation.cases import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.plugins.registry import load_scenarios

WANTED, SEED = 4, 7

FOLDER = "CONFORMANCE_TESTS_SHARE"
"""The environment variable with the folder that the processes of a test run share."""


@cache
def all_cases():
    """WANTED cases a guarantee, from SEED, with their twins. Of two processes that draw at the same time, one begins with the first scenario
    and the other with the last."""
    scenarios = load_scenarios()
    backwards = os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0"
    found = {scenario.id: cases_of(scenario) for scenario in sorted(scenarios, key=lambda s: s.id, reverse=backwards)}
    return [case for scenario in scenarios for case in found[scenario.id]]


def cases_of(scenario):
    """Those of one scenario."""
    file = Path(os.environ[FOLDER]) / f"{scenario.id}.pickle"
    if not file.exists():
        mine = file.with_suffix(f".{os.getpid()}")
        mine.write_bytes(pickle.dumps(draw_cases([scenario], WANTED, SEED, exercised_by_any_reading([scenario]))))
        mine.replace(file)
    return pickle.loads(file.read_bytes())

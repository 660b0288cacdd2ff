"""Cases of all scenarios that tests share. Drawing them takes longer than any test of them, so one process draws them
for all.

Each scenario has a file of its own: a checkout with one more scenario draws the cases of that one alone.
"""

import os
import pickle
import time
from functools import cache
from pathlib import Path

from conformance.generation.pool import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.generation.suite import Scope, Suite
from conformance.judgement.reference import reference_traces
from conformance.model.scenario import programs_of
from conformance.plugins.registry import load_engine, load_scenarios

WANTED, SEED = 2, 1

FOLDER = "CONFORMANCE_TESTS_SHARE"
"""The environment variable with the folder that the processes of a test run share."""


PATIENCE = 120
"""Seconds after which another process that draws a scenario counts as dead."""


@cache
def all_cases():
    """The reference's suite of WANTED cases of each program on each timeline, from SEED. Processes that need it at the
    same time share the drawing: each takes the next scenario that no other one has taken."""
    scenarios = load_scenarios()
    for scenario in scenarios:
        if _is_mine(scenario):
            cases_of(scenario)
    return [case for scenario in scenarios for case in cases_of(scenario)]


def cases_of(scenario):
    """Those of one scenario."""
    file = _file(scenario)
    until = time.monotonic() + PATIENCE
    while not file.exists() and not _is_mine(scenario) and time.monotonic() < until:
        time.sleep(0.05)
    if not file.exists():
        mine = file.with_suffix(f".{os.getpid()}")
        mine.write_bytes(pickle.dumps(suite_of([scenario]).cases))
        mine.replace(file)
    return pickle.loads(file.read_bytes())


def suite_of(scenarios, wanted=WANTED, seed=SEED, can=None, every=True, most=0):
    """What an engine, the reference if none is named, is asked of freshly drawn cases: of one bundle, too, if
    ``every``; in ``most`` rows, if not in all."""
    scenarios = tuple(scenarios)
    bases = draw_cases(scenarios, wanted, seed, exercised_by_any_reading(scenarios))
    can = can or load_engine("reference").capabilities
    reference = reference_traces(programs_of(scenarios), can.lateness)
    return Suite(scenarios, can, bases, seed, reference, Scope(every, most=most))


def _file(scenario):
    return Path(os.environ[FOLDER]) / f"{scenario.id}.pickle"


def _is_mine(scenario):
    """Whether this process is to draw the cases of a scenario: it is the first to ask."""
    taken = _file(scenario).with_suffix(".taken")
    try:
        with taken.open("x") as out:
            out.write(str(os.getpid()))
    except FileExistsError:
        return taken.read_text() == str(os.getpid())
    return True

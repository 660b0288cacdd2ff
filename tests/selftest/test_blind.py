"""What an engine is asked depends on no mutant: the design knows nothing of them."""

import subprocess
import sys
from pathlib import Path

import pytest
from marks import quick

ROOT = Path(__file__).parents[2]

SUITE = """
import sys
if {hidden}:
    class Refusing:
        def find_spec(self, name, path=None, target=None):
            if name == "conformance.engines.mutants" or name.startswith("conformance.engines.mutants."):
                raise ModuleNotFoundError(f"{{name}} is hidden", name=name)
    sys.meta_path.insert(0, Refusing())
from conformance.generation.pool import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.generation.suite import Suite
from conformance.judgement.reference import reference_traces
from conformance.model.scenario import programs_of
from conformance.model.values import digest
from conformance.plugins.registry import load_engine, load_scenarios
scenarios = load_scenarios(["late-data", "state-ttl", "stream-join", "value-state"])
can = load_engine({engine!r}).capabilities
drawn = draw_cases(scenarios, 1, 5, exercised_by_any_reading(scenarios))
suite = Suite(scenarios, can, drawn, 5, reference_traces(programs_of(scenarios), can.lateness))
rows = [
    [[step.to_json() for step in row.timeline.steps], [[p.id, level] for p, level in row.parts]] for row in suite.rows
]
cases = [[case.id, case.digest, case.perturbation] for case in suite.cases]
if not {hidden}:
    import conformance.engines.mutants
print(digest(rows), digest(cases), len(suite.cases), "conformance.engines.mutants" in sys.modules)
"""


def said(engine, hidden):
    """The digests of a suite, the number of its cases, and whether the mutants were imported."""
    done = subprocess.run(
        [sys.executable, "-c", SUITE.format(hidden=hidden, engine=engine)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("engine", quick(["spark-tws"], ["reference", "spark-tws"]))
def test_a_suite_is_the_same_without_the_mutants(engine):
    *with_mutants, there = said(engine, hidden=False)
    *without, still_there = said(engine, hidden=True)
    assert (there, still_there) == ("True", "False")
    assert with_mutants == without
    assert int(without[-1]) > 100

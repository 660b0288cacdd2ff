"""Other seeds give other plans to an engine, and other cases to a plan: none of them accuses a plan that has no stored
witness."""

from pathlib import Path

import pytest
from commands import conformance

from conformance.judgement.cell import Verdict
from conformance.model.plan import is_plan
from conformance.results.results import Results
from conformance.results.witness import read_witnesses

pytestmark = [pytest.mark.engine, pytest.mark.slow]

WITNESSES = Path(__file__).parents[2] / "witnesses"

SCENARIOS = ("per-key-counting", "session-timeout")
"""Of counts and of timers; engines violate little of them, so that most of the time goes to plans, not to
confirmations."""

OF_BEAM = ("beam-direct", "beam-fnapi", "beam-native:count", "beam-native:sessions")
OF_SPARK = ("spark-tws", "spark-tws-jvm", "spark-fmgws-jvm", "spark-fmgws-pandas", "spark-tws-pandas")
OF_OPERATORS = ("spark-native:count", "spark-native:session-window")


@pytest.mark.parametrize("seed", range(20))
def test_no_seed_accuses_a_plan_without_a_stored_witness(seed, tmp_path):
    """A seed asks one engine of each kind, the next seed the next ones."""
    engines = {kind[seed % len(kind)] for kind in (OF_BEAM, OF_SPARK, OF_OPERATORS)}
    asked = [part for name in SCENARIOS for part in ("--scenario", name)]
    asked += [part for name in sorted(engines) for part in ("--engine", name)]
    size = ["--seed", seed, "--cases", 1, "--witnesses", "none", "--out", "out"]
    done = conformance("run", *asked, *size, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    results = Results.read(tmp_path / "out" / "results.json.gz")
    about_plans = [cell for cell in results.cells if is_plan(cell.perturbation) and cell.cases]
    assert {cell.engine for cell in about_plans} == engines
    accused = {(c.engine, c.perturbation) for c in about_plans if c.verdict not in (Verdict.HOLDS, Verdict.UNKNOWN)}
    assert accused <= {(witness.engine, witness.case.perturbation) for witness in read_witnesses(WITNESSES)}

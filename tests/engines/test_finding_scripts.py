"""The scripts of the findings still say what they said: a finding that is no longer so fails here."""

import check_findings
import pytest
from marks import quick

from conformance.model.engine import CannotRun

pytestmark = pytest.mark.engine

QUICK = {
    "beam_values_are_shared direct",
    "direct_runner_keeps_the_order",
    "pyspark_lacks",
    "spark_state_misfits tester",
}
"""Runs that start no JVM and no Prism; the others are marked ``slow``: they take some minutes together."""

RUNS = {check_findings.name_of(*run): run for run in check_findings.runs()}


@pytest.mark.parametrize("name", quick(QUICK, RUNS))
def test_a_finding_is_still_so(name):
    try:
        now = check_findings.said(*RUNS[name])
    except CannotRun as missing:
        pytest.skip(str(missing))
    assert check_findings.difference(check_findings.record()[name], now) == ""

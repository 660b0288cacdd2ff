"""The baselines of the repository: whole, and all of one file of cases, so that any two can be compared."""

from pathlib import Path

import pytest

from conformance.judgement.cell import Verdict
from conformance.plugins.registry import load_scenarios
from conformance.results.baseline import Baseline
from conformance.results.store import Digest, read_cases

FOLDER = Path(__file__).parents[3] / "baselines"
RELEASES = {
    "pyspark": ["3.4.4", "3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"],
    "apache-beam": ["2.60.0", "2.65.0", "2.67.0", "2.70.0", "2.75.0", "2.77.0"],
}


@pytest.fixture(scope="module")
def digest():
    found = Digest()
    for cases in read_cases(FOLDER / "cases.parquet", load_scenarios()):
        found.add(cases)
    return str(found)


@pytest.mark.parametrize(("package", "number"), [(p, number) for p, numbers in RELEASES.items() for number in numbers])
def test_a_release_has_a_baseline_of_the_same_cases(package, number, digest, tmp_path):
    path = FOLDER / f"{package}-{number}.jsonl"
    found = Baseline.read(path)
    assert found.cases_digest == digest
    mine = [engine for engine in found.engines if engine != "reference"]
    assert {found.version(engine) for engine in mine} == {number}
    counts = found.counts()
    assert all(counts[engine][Verdict.HOLDS] for engine in found.able)
    assert sum(counts[engine][Verdict.VIOLATED] for engine in mine)
    assert not [place for place, standing in found.cells.items() if standing.verdict is Verdict.ERROR]
    found.write(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == path.read_text()

"""What is said of an unknown name."""

import pytest

from conformance.comparison import expectations
from conformance.support.naming import nearest, unknown


def test_the_nearest_name_comes_before_all_of_them():
    there = ["reference", "spark-tws", "spark-tws-pandas"]
    assert unknown("engine", "spark-twss", there) == (
        "unknown engine 'spark-twss'; did you mean spark-tws? There are: reference, spark-tws, spark-tws-pandas"
    )
    assert nearest("SPARK-TWS", there) == "spark-tws"


def test_no_name_is_made_up_where_none_is_near():
    assert unknown("engine", "flink", ["reference"]) == "unknown engine 'flink'; there are: reference"
    assert unknown("engine", "flink", []) == "unknown engine 'flink'; there is none"


def test_expectations_name_the_perturbation_that_was_perhaps_meant(tmp_path):
    file = tmp_path / "expectations.toml"
    file.write_text(
        '[[divergence]]\nengine = "e"\nguarantee = "s/g"\nkind = "engine"\nreason = "r"\nsignature = '
        '"s"\nperturbation = "restrat"\n'
    )
    with pytest.raises(expectations.UnusableExpectations, match="unknown perturbation 'restrat'; did you mean restart"):
        expectations.read(file)


def test_of_many_names_those_that_begin_alike_come_first():
    there = [*(f"other-{number}" for number in range(40)), "dedup-then-count", "drop-dedup"]
    said = unknown("scenario", "deduplication", there)
    assert said.startswith("unknown scenario 'deduplication'; there are: dedup-then-count, drop-dedup, other-0, ")
    assert said.endswith(" and 30 more")

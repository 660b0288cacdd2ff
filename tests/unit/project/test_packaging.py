"""What is built of a checkout: one package to import, with everything that it needs, each file once."""

from importlib.metadata import distribution
from pathlib import Path

import pytest

from conformance.plugins.points import DISTRIBUTION

sdist = pytest.importorskip("hatchling.builders.sdist")
wheel = pytest.importorskip("hatchling.builders.wheel")

ROOT = Path(__file__).parents[3]
FOLDERS = ("conformance", "engines", "reports", "scenarios")
SHIPPED = (
    "conformance/engines/reference.py",
    "conformance/engines/spark/jvm/Bridge.java",
    "conformance/reports/advice.toml",
    "conformance/reports/baselines/pyspark-4.3.0.jsonl",
    "conformance/reports/templates/page.css",
    "conformance/results/claims.toml",
    "conformance/scenarios/stories/late_data.py",
    "conformance/witnesses/confirmations.jsonl",
)


def files_of(builder):
    return [file.distribution_path for file in builder(str(ROOT)).recurse_included_files()]


def test_a_wheel_has_one_package():
    found = files_of(wheel.WheelBuilder)
    assert {name.partition("/")[0] for name in found} == {"conformance"}
    assert {*SHIPPED} <= {*found}


@pytest.mark.parametrize("builder", [sdist.SdistBuilder, wheel.WheelBuilder])
def test_each_source_is_in_it_once(builder):
    found = sorted(name for name in files_of(builder) if name.endswith(".py") and name.startswith(FOLDERS))
    there = [path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    assert found == sorted(name if name.startswith("conformance/") else f"conformance/{name}" for name in there)


def test_what_is_installed_has_no_other_package():
    """Of an installed checkout, this is its metadata and a file that leads to it."""
    found = {file.parts[0] for file in distribution(DISTRIBUTION).files or () if file.suffix == ".py"}
    assert found <= {"conformance"}

"""Cases of all scenarios, drawn once for the tests that ask something of any cases."""

import pytest
from drawn import SEED, WANTED

from conformance.generation.cases import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.plugins.registry import load_scenarios


@pytest.fixture(scope="session")
def scenarios():
    return load_scenarios()


@pytest.fixture(scope="session")
def exercised(scenarios):
    return exercised_by_any_reading(scenarios)


@pytest.fixture(scope="session")
def cases(scenarios, exercised):
    """WANTED cases a guarantee, from SEED, with their twins. Drawing them takes longer than any test."""
    return draw_cases(scenarios, WANTED, SEED, exercised)


@pytest.fixture(scope="session")
def tested(cases, exercised):
    """For each of the cases, the guarantees that it puts to the test."""
    return exercised(cases)


def pytest_collection_modifyitems(items):
    """``--dist loadgroup`` keeps a file in one process, and the tests that share the cases, too."""
    for item in items:
        group = "cases" if "cases" in item.fixturenames else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))

"""Cases of all scenarios, drawn once for the tests that ask something of any cases."""

import pytest
from drawn import all_cases

from conformance.generation.readings import exercised_by_any_reading
from conformance.plugins.registry import load_scenarios


@pytest.fixture(scope="session")
def scenarios():
    return load_scenarios()


@pytest.fixture(scope="session")
def exercised(scenarios):
    return exercised_by_any_reading(scenarios)


@pytest.fixture(scope="session")
def cases():
    return all_cases()


@pytest.fixture(scope="session")
def tested(cases, exercised):
    """For each of the cases, the guarantees that it puts to the test."""
    return exercised(cases)

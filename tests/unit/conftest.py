"""Cases of all scenarios, drawn once for the tests that ask something of any cases."""

import pytest
from drawn import all_cases

from conformance.plugins.registry import load_scenarios


@pytest.fixture(scope="session")
def scenarios():
    return load_scenarios()


@pytest.fixture(scope="session")
def cases():
    return all_cases()

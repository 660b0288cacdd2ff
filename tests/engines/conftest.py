"""One engine of each kind for the whole session."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from conformance.model.engine import CannotRun
from conformance.plugins.registry import load_engine


def _opened(name, folder, optional=False):
    """What is not installed is skipped; what is and does not start is an error, unless it is ``optional``: has to be
    built first."""
    engine = load_engine(name)
    try:
        engine.check()
    except CannotRun as missing:
        pytest.skip(str(missing))
    try:
        engine.open(folder)
    except CannotRun as error:
        if optional:
            pytest.skip(str(error))
        # Spark's JVM was seen to end while it started, once (4.3.0).
        print(f"{name} did not start, and is started once more: {error}")
        engine.open(folder)
    return engine


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """The Spark engine that is fastest to run. While it is open, all others share its session."""
    engine = _opened("spark-tws-jvm", tmp_path_factory.mktemp("spark"))
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def beam(tmp_path_factory):
    return _opened("beam-direct", tmp_path_factory.mktemp("beam"))


@pytest.fixture(scope="session")
def fnapi(tmp_path_factory):
    return _opened("beam-fnapi", tmp_path_factory.mktemp("fnapi"))


@pytest.fixture(scope="session")
def prism(tmp_path_factory):
    engine = _opened("beam-prism", tmp_path_factory.mktemp("prism"), optional=True)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def auto(tmp_path_factory):
    engine = _opened("beam-auto", tmp_path_factory.mktemp("auto"))
    yield engine
    engine.close()

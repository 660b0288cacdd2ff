"""One engine of each kind for the whole session."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from conformance.engine import CannotRun
from conformance.registry import load_engine


def _opened(name, folder):
    engine = load_engine(name)
    try:
        engine.check()
    except CannotRun as missing:
        pytest.skip(str(missing))
    engine.open(folder)
    return engine


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    engine = _opened("spark-tws", folder)
    import interpreter
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(interpreter)  # Spark's Python workers do not see the tests
    yield engine
    engine.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def beam(tmp_path_factory):
    return _opened("beam-direct", tmp_path_factory.mktemp("beam"))


@pytest.fixture(scope="session")
def fnapi(tmp_path_factory):
    return _opened("beam-fnapi", tmp_path_factory.mktemp("fnapi"))

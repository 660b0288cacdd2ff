"""The order of the tests. With several processes, a file at a time each, what takes long begins first.

Tests ask engines themselves: no trace that an earlier run kept answers in their place, unless a test says so.
Nor do they replay the project's own witnesses in a folder that has none.
"""

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from drawn import FOLDER

from conformance.cli.main import SELDOM

gc.set_threshold(*SELDOM)

os.environ["CONFORMANCE_FRESH"] = "1"
SHARED = "" if FOLDER in os.environ else tempfile.mkdtemp(prefix="conformance-tests-")
"""The folder of ``drawn``, in the process that makes the others."""
os.environ.setdefault(FOLDER, SHARED)
os.environ["CONFORMANCE_WITNESSES"] = "witnesses"
os.environ["CONFORMANCE_TRACES"] = tempfile.mkdtemp(prefix="conformance-traces-")

HERE = Path(__file__).parent

LONGEST_FIRST = (
    "engines/spark/test_spark_apis.py",
    "selftest/test_mutants.py",
    "engines/native/test_native.py",
    "e2e/files/test_contributor.py",
    "engines/test_releases.py",
    "engines/test_isolation.py",
    "engines",
    "e2e",
    "selftest",
    "kit",
    "unit/model/test_capabilities.py",
    "unit",
)
"""Files and folders; what is not named comes last."""


def _place(item):
    """The file of a test, from this folder on."""
    return item.path.relative_to(HERE) if item.path.is_relative_to(HERE) else Path()


def _rank(item):
    name = _place(item).as_posix()
    return next((n for n, begin in enumerate(LONGEST_FIRST) if name.startswith(begin)), len(LONGEST_FIRST))


MANY = 5
"""From how many files with tests of engines on it pays to make what several of them need, while others run."""

MADE = (
    "from conformance.engines.spark.runtime.class_archive import make; make()",
    "from conformance.engines.beam.runners.prism_binary import obtain; obtain()",
)
"""An archive of Spark's classes, which each JVM starts from, and the binary of Prism."""

_making = []


def pytest_collection_modifyitems(items):
    items.sort(key=_rank)
    of_engines = {item.path for item in items if _place(item).parts[:1] == ("engines",)}
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0" and len(of_engines) >= MANY:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        _making.extend(subprocess.Popen([sys.executable, "-c", code], **quiet) for code in MADE)


def pytest_unconfigure():
    for process in _making:
        process.terminate()
    if SHARED:
        shutil.rmtree(SHARED, ignore_errors=True)
    shutil.rmtree(os.environ["CONFORMANCE_TRACES"], ignore_errors=True)

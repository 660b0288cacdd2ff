"""Tests ask engines themselves: no trace that an earlier run kept answers in their place, unless a test says so."""

import os
import tempfile

os.environ["CONFORMANCE_FRESH"] = "1"
os.environ["CONFORMANCE_TRACES"] = tempfile.mkdtemp(prefix="conformance-traces-")


def pytest_unconfigure():
    import shutil

    shutil.rmtree(os.environ["CONFORMANCE_TRACES"], ignore_errors=True)

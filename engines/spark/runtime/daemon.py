"""Spark's daemon of Python workers, with everything already imported that they import: a worker is a fork of it, and a
task of a stateful operator has one of its own (Spark 4.3.0)."""

import contextlib
import gc
import importlib
import os
import sys
from importlib.machinery import PathFinder

ALL = (
    "pandas",
    "pyarrow",
    "pyspark.testing.utils",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "conformance.engines.spark.operators.groups_operator",
    "conformance.engines.spark.operators.tws_operator",
)
"""The modules that take longest to import. A release that lacks one of them does without it."""


def unpacked() -> None:
    """Import from folders alone, where PySpark is installed in one, too. Spark puts itself on the path as two archives
    and a jar: the first are compiled anew in each daemon, and each worker of 4.0.5 reads the contents of all again,
    which takes longer than its task."""
    folders = [place for place in sys.path if not os.path.isfile(place)]
    if PathFinder.find_spec("pyspark", folders):
        sys.path[:] = folders
        for place in [name for name in sys.path_importer_cache if os.path.isfile(name)]:
            del sys.path_importer_cache[place]


if __name__ == "__main__":
    gc.disable()
    unpacked()
    from pyspark.daemon import manager

    for name in (*ALL, *sys.argv[1:]):  # the module of the workers, which 3.5.9 does not name
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    # What was imported stays: a worker that collects garbage need not look at it, which took most of its time.
    gc.freeze()
    gc.enable()
    manager()

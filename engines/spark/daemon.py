"""Spark's daemon of Python workers, with everything already imported that they import: a worker is a fork of it, and a task of a stateful
operator has one of its own (Spark 4.3.0)."""

import contextlib
import importlib
import sys

from pyspark.daemon import manager

ALL = (
    "pandas",
    "pyarrow",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "engines.spark.groups_operator",
    "engines.spark.tws_operator",
)
"""What takes the longest; a release that lacks one of them does without it."""

if __name__ == "__main__":
    for name in (*ALL, sys.argv[1]):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    manager()

"""PySpark's functions of columns. PySpark is imported when one of them is used."""

from typing import Any


def __getattr__(name: str) -> Any:
    from pyspark.sql import functions

    return getattr(functions, name)

"""What stands around a subject: a query before it that changes no row, and what users' ``foreachBatch`` does with the
rows of a micro-batch before it takes them. A script has the source of each function, which uses nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def unchanged(frame: DataFrame) -> DataFrame:
    """The rows of an input, each as it was: through a struct, an array, a join with one row and an empty union."""
    from pyspark.sql import functions as f

    nested = frame.select(f.struct("*").alias(" row")).select("` row`.*")
    exploded = nested.withColumn(" one", f.explode(f.array(f.lit(1))))
    one = frame.sparkSession.range(1).select(f.lit(1).alias(" one"))
    joined = exploded.join(f.broadcast(one), " one").drop(" one")
    return joined.union(frame.where("1 = 0"))


def itself(frame: DataFrame) -> DataFrame:
    return frame


def cached(frame: DataFrame) -> DataFrame:
    """The rows, computed once and kept."""
    frame = frame.persist()
    frame.count()
    return frame


def asked(frame: DataFrame) -> DataFrame:
    """The rows, computed in part first: whether there are any."""
    frame.isEmpty()
    return frame


PLAIN, CACHES, ASKS = "", "the sink caches its rows", "the sink first asks whether it has any rows"

SINKS: Mapping[str, Callable[[DataFrame], DataFrame]] = {PLAIN: itself, CACHES: cached, ASKS: asked}
"""In words -> what is done to a micro-batch."""

ATTEMPT = " attempt"
"""The column of a row that says which attempt of its task gave it."""

UNTRIED = "a task was to be tried again, and was not"


def retried(frame: DataFrame) -> DataFrame:
    """The rows, each of the second attempt of its task: the first one fails behind its last row. No plan of a query
    changes: what the function adds runs behind it, in its last tasks."""
    from collections.abc import Iterator

    from pandas import Series
    from pyspark import TaskContext
    from pyspark.sql.functions import pandas_udf, spark_partition_id

    def attempts(parts):  # type: ignore[no-untyped-def]
        attempt, rows = TaskContext.get().attemptNumber(), 0
        for part in parts:
            rows += len(part)
            yield 0 * part + attempt
        if rows and not attempt:
            raise RuntimeError("a task was to be tried again, and was not")

    attempts.__annotations__ = {"parts": Iterator[Series], "return": Iterator[Series]}
    of_a_row = pandas_udf(attempts, "int").asNondeterministic()
    return frame.withColumn(" attempt", of_a_row(spark_partition_id()))

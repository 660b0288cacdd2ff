"""A query before a subject that changes no row. A script has the source of the function, which uses nothing else."""

from __future__ import annotations

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

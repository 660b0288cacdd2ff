"""Two sinks for the same counts, each a function for ``foreachBatch``."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import window

from conformance import subject

CLICKS = "user string, page string, at timestamp"


def append(batch: DataFrame, batch_id: int, folder: str) -> None:
    batch.write.mode("append").parquet(folder)


def overwrite(batch: DataFrame, batch_id: int, folder: str) -> None:
    batch.write.mode("overwrite").parquet(f"{folder}/batch_id={batch_id}")


def table(spark: SparkSession, folder: str) -> DataFrame:
    return spark.read.parquet(folder)


def counted(rows: DataFrame) -> DataFrame:
    return rows.withWatermark("at", "10 seconds").groupBy(window("at", "5 minutes"), "user").count()


@subject(schema=CLICKS, key="user", time="at", delay="10 seconds", sink=append, table=table)
def appended(rows: DataFrame) -> DataFrame:
    """The bug: a micro-batch that is run again is appended again."""
    return counted(rows)


@subject(schema=CLICKS, key="user", time="at", delay="10 seconds", sink=overwrite, table=table, ignore="batch_id")
def overwritten(rows: DataFrame) -> DataFrame:
    """A micro-batch that is run again takes its own place."""
    return counted(rows)

"""What a plan does to the rows around an operator. None of these changes drops, adds or reorders the rows of a key, and
each is the same frame to a reader."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.engines.spark.runtime import functions as f

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame


def columns_reversed(frame: DataFrame) -> DataFrame:
    return frame.select(*reversed(frame.columns))


def unused(frame: DataFrame) -> DataFrame:
    return frame.withColumn("unused", f.concat("key", "value")).withColumn("more", f.array("step", "partition"))


def renamed(frame: DataFrame) -> DataFrame:
    return frame.withColumnRenamed("event_time", "time").withColumnRenamed("time", "event_time")


def derived(frame: DataFrame) -> DataFrame:
    return frame.selectExpr(*_others(frame), "timestamp_micros(unix_micros(event_time)) AS event_time")


def nested(frame: DataFrame) -> DataFrame:
    return frame.select(f.struct(*frame.columns).alias("row")).select("row.*")


def _others(frame: DataFrame) -> list[str]:
    return [f"`{name}`" for name in frame.columns if name != "event_time"]


def cast(frame: DataFrame) -> DataFrame:
    return frame.withColumn("key", frame.key.cast("string")).withColumn("step", frame.step.cast("long"))


def not_null(frame: DataFrame) -> DataFrame:
    return frame.withColumn("key", f.coalesce("key", f.lit(""))).withColumn("case", f.coalesce("case", f.lit("")))


def nullable(frame: DataFrame) -> DataFrame:
    return frame.withColumn("key", f.when(f.length("key") >= 0, f.col("key")))


def always_true(frame: DataFrame) -> DataFrame:
    return frame.where("length(`key`) >= 0 AND step + 1 > step")


def with_false_branch(frame: DataFrame) -> DataFrame:
    return frame.union(frame.where("length(`key`) < 0"))


HALF = "pmod(hash(program, `case`, `key`), 2)"


def two_halves(frame: DataFrame) -> list[DataFrame]:
    return [frame.where(f"{HALF} = {half}") for half in range(2)]


def halves(frame: DataFrame) -> DataFrame:
    one, two = two_halves(frame)
    return one.union(two)


def exploded(frame: DataFrame) -> DataFrame:
    return frame.withColumn("one", f.explode(f.array(f.lit(1)))).drop("one")


def _same_text(text: str) -> str:
    return text


def in_python(frame: DataFrame) -> DataFrame:
    return frame.withColumn("key", f.udf(_same_text, "string")("key"))


def _same_batches(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    return batches


def in_arrow(frame: DataFrame) -> DataFrame:
    return frame.mapInArrow(_same_batches, frame.schema)


def no_duplicates(frame: DataFrame) -> DataFrame:
    return frame.dropDuplicates(["nonce"])


def aggregated(frame: DataFrame) -> DataFrame:
    """Each row is a group of its own, which ends once the watermark is past the millisecond of the row."""
    rest = [f.first(name).alias(name) for name in frame.columns if name not in ("nonce", "time")]
    return frame.groupBy("nonce", f.window("time", "1 millisecond")).agg(*rest).drop("window")


def by_key(frame: DataFrame) -> DataFrame:
    return frame.repartition(3, "program", "case", "key")


def one_partition(frame: DataFrame) -> DataFrame:
    return frame.coalesce(1)


def joined(frame: DataFrame, how: str = "inner") -> DataFrame:
    one = frame.sparkSession.range(1).select(f.lit(1).alias("one"))
    return frame.withColumn("one", f.lit(1)).join(f.broadcast(one), "one", how).drop("one")


def joined_with_none(frame: DataFrame, how: str = "left_outer") -> DataFrame:
    none = frame.sparkSession.range(1).select(f.lit(1).alias("one"), f.lit(1).alias("nothing")).where("false")
    return frame.withColumn("one", f.lit(1)).join(none, "one", how).drop("one", "nothing")


def aliased(frame: DataFrame) -> DataFrame:
    return frame.alias("mine").select("mine.*")


def observed(frame: DataFrame) -> DataFrame:
    return frame.observe(f"rows_{uuid.uuid4().hex}", f.count(f.lit(1)))


def in_sql(frame: DataFrame, selected: str = "SELECT * FROM mine") -> DataFrame:
    view = f"rows_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(view)
    return frame.sparkSession.sql(f"WITH mine AS (SELECT * FROM {view}) {selected}")


def halves_in_sql(frame: DataFrame) -> DataFrame:
    return in_sql(frame, f"SELECT * FROM mine WHERE {HALF} = 0 UNION ALL SELECT * FROM mine WHERE {HALF} = 1")


def checkpointed(frame: DataFrame) -> DataFrame:
    return frame.localCheckpoint()


def cached(frame: DataFrame) -> DataFrame:
    frame = frame.persist()
    frame.count()
    return frame


def counted(frame: DataFrame) -> DataFrame:
    frame.select("case").collect()
    return frame

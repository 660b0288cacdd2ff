"""The queries of ``refusals``, each a function from a stream, and what is done to what reads or writes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.spark.runtime import functions as f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamReader, DataStreamWriter


def late(stream: DataFrame) -> DataFrame:
    return stream.withWatermark("event_time", "1 second")


def inner_join(stream: DataFrame) -> DataFrame:
    return stream.alias("one").join(stream.alias("two"), "key").select("key", "one.id")


def outer_join(stream: DataFrame) -> DataFrame:
    return stream.join(stream.withColumnRenamed("id", "other").select("key", "other"), "key", "left_outer")


def nested_time(stream: DataFrame) -> DataFrame:
    return stream.select(f.struct("event_time").alias("row")).withWatermark("row.event_time", "1 second")


def sessions(stream: DataFrame) -> DataFrame:
    return late(stream).groupBy(f.session_window("event_time", "5 seconds"), "key").count()


def counts(stream: DataFrame) -> DataFrame:
    return stream.groupBy("key").count()


def rate(stream: DataFrame) -> DataFrame:
    rows = stream.sparkSession.readStream.format("rate").load()
    return rows.withWatermark("timestamp", "1 second").dropDuplicates(["timestamp", "value"])


def windows(stream: DataFrame) -> DataFrame:
    return late(stream).groupBy(f.window("event_time", "5 seconds"), "key").count()


def windows_of_windows(stream: DataFrame) -> DataFrame:
    return windows(stream).groupBy(f.window("window", "10 seconds")).count()


def windows_joined(stream: DataFrame) -> DataFrame:
    return windows(stream).join(windows(stream).withColumnRenamed("count", "other"), ["window", "key"])


def joined_then_counted(times: str) -> Callable[[DataFrame], DataFrame]:
    """Windows counted behind a join by key and by these times."""

    def query(stream: DataFrame) -> DataFrame:
        one, two = late(stream).alias("one"), late(stream).withColumnRenamed("event_time", "time").alias("two")
        joined = one.join(two, f.expr(f"one.key = two.key AND two.time {times}"))
        return joined.groupBy(f.window("event_time", "5 seconds")).count()

    return query


def distinct(stream: DataFrame) -> DataFrame:
    return stream.groupBy("key").agg(f.count_distinct("id"))


def summed(stream: DataFrame) -> DataFrame:
    return stream.groupBy("key").agg(f.sum("step"), f.max("id"))


def groups(stream: DataFrame) -> DataFrame:
    from conformance.engines.spark.operators.frames import keeps_nothing

    return stream.groupBy("key").applyInPandasWithState(
        keeps_nothing, "key string", "v long", "append", "EventTimeTimeout"
    )


def shuffled_behind_groups(stream: DataFrame) -> DataFrame:
    from conformance.engines.spark.operators.frames import puts_out_its_key

    keys = stream.groupBy("key").applyInPandasWithState(puts_out_its_key, "key string", "v long", "append", "NoTimeout")
    return keys.repartition(2, "key")


def counted_behind_groups(stream: DataFrame) -> DataFrame:
    return groups(late(stream)).groupBy("key").count()


def stored(*variables: tuple[str, str], time_mode: str = "None", ttl: int = 0) -> Callable[[DataFrame], DataFrame]:
    """transformWithStateInPandas that writes into value states with these names and schemas."""

    def query(stream: DataFrame) -> DataFrame:
        from conformance.engines.spark.refused.processor import KeepsValues

        grouped = late(stream).groupBy("key")
        return grouped.transformWithStateInPandas(KeepsValues(variables, ttl), "key string", "Append", time_mode)

    return query


def unread(frame: DataFrame, batch: int) -> None:
    """A function of ``foreachBatch`` that reads no row."""


def processed(time_mode: str, times: bool = False) -> Callable[[DataFrame], DataFrame]:
    def query(stream: DataFrame) -> DataFrame:
        from conformance.engines.spark.refused.processor import SetsATimer

        return stream.groupBy("key").transformWithState(SetsATimer(times), "key string", "Append", time_mode)

    return query


def array_in_state(stream: DataFrame) -> DataFrame:
    from conformance.engines.spark.operators.frames import keeps_an_array

    return stream.groupBy("key").applyInPandasWithState(
        keeps_an_array, "key string", "v array<int>", "append", "NoTimeout"
    )


def kept_in_value_state(of: str, value: Callable[[], Any]) -> Callable[[DataFrame], DataFrame]:
    """transformWithStateInPandas that writes a value of a type into a ValueState, and reads it."""

    def query(stream: DataFrame) -> DataFrame:
        from conformance.engines.spark.refused.processor import KeepsOne

        grouped = stream.groupBy("key")
        return grouped.transformWithStateInPandas(KeepsOne(of, value), "key string", "Append", "None")

    return query


OBSERVED = "observed"


def observed(expression: str) -> Callable[[DataFrame], DataFrame]:
    """The rows of a stream, with a metric on their way."""

    def query(stream: DataFrame) -> DataFrame:
        return stream.observe(OBSERVED, f.expr(expression).alias(OBSERVED))

    return query


def number_observed(reports: Sequence[Mapping[str, Any]]) -> int:
    """The sum of the metric over the micro-batches of a run."""
    metrics = (report.get("observedMetrics", {}).get(OBSERVED, {}) for report in reports)
    return sum(metric.get(OBSERVED, 0) for metric in metrics)


def joined_with_two_times(stream: DataFrame) -> DataFrame:
    """A join whose output has the event times of both sides, and its duplicates dropped."""
    one = late(stream).select("key", "event_time")
    two = late(stream).select(f.col("key").alias("other"), f.col("event_time").alias("time"))
    return one.join(two, f.expr("key = other AND time = event_time")).dropDuplicates(["key"])


def duplicates_of_windows(stream: DataFrame) -> DataFrame:
    return windows(stream).dropDuplicates(["window", "key"])


def counted_by_map(stream: DataFrame) -> DataFrame:
    return stream.groupBy(f.create_map("key", "id").alias("map")).count()


def sql(text: str) -> Callable[[DataFrame], DataFrame]:
    """A query in SQL on ``rows``, the stream."""

    def query(stream: DataFrame) -> DataFrame:
        stream.createOrReplaceTempView("rows")
        return stream.sparkSession.sql(text)

    return query


def raising(*given: Any) -> None:
    """A function that raises."""
    raise ValueError("asked for")


def named(reader: DataStreamReader) -> DataStreamReader:
    return reader.name("rows")  # Spark 4.1.4 has no such method


def limited_twice(reader: DataStreamReader) -> DataStreamReader:
    return reader.option("maxFilesPerTrigger", "1").option("maxBytesPerTrigger", "1000")


def into_each(writer: DataStreamWriter, folder: Path) -> DataStreamWriter:
    return writer.foreach(raising)


def in_real_time(writer: DataStreamWriter, folder: Path) -> DataStreamWriter:
    return writer.trigger(realTime="5 minutes").format("noop")  # Spark 4.1.4 has no such trigger


def read_state(spark: SparkSession, checkpoint: Path) -> None:
    spark.read.format("statestore").load(str(checkpoint)).collect()


def read_changes(spark: SparkSession, checkpoint: Path) -> None:
    changes = spark.read.format("statestore").option("readChangeFeed", "true").option("changeStartBatchId", "0")
    changes.load(str(checkpoint)).collect()

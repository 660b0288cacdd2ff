"""The queries of ``refusals``. Each is a function from a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def late(stream: DataFrame) -> DataFrame:
    return stream.withWatermark("event_time", "1 second")


def inner_join(stream: DataFrame) -> DataFrame:
    return stream.alias("one").join(stream.alias("two"), "key").select("key", "one.id")


def outer_join(stream: DataFrame) -> DataFrame:
    return stream.join(stream.withColumnRenamed("id", "other").select("key", "other"), "key", "left_outer")


def nested_time(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return stream.select(f.struct("event_time").alias("row")).withWatermark("row.event_time", "1 second")


def sessions(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return late(stream).groupBy(f.session_window("event_time", "5 seconds"), "key").count()


def counts(stream: DataFrame) -> DataFrame:
    return stream.groupBy("key").count()


def rate(stream: DataFrame) -> DataFrame:
    rows = stream.sparkSession.readStream.format("rate").load()
    return rows.withWatermark("timestamp", "1 second").dropDuplicates(["timestamp", "value"])


def windows(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return late(stream).groupBy(f.window("event_time", "5 seconds"), "key").count()


def windows_of_windows(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return windows(stream).groupBy(f.window("window", "10 seconds")).count()


def windows_joined(stream: DataFrame) -> DataFrame:
    return windows(stream).join(windows(stream).withColumnRenamed("count", "other"), ["window", "key"])


def joined_then_counted(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    one, two = late(stream).alias("one"), late(stream).withColumnRenamed("event_time", "time").alias("two")
    joined = one.join(two, f.expr("one.key = two.key AND two.time = one.event_time"))
    return joined.groupBy(f.window("event_time", "5 seconds")).count()


def distinct(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return stream.groupBy("key").agg(f.count_distinct("id"))


def summed(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

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


def array_in_value_state(stream: DataFrame) -> DataFrame:
    from conformance.engines.spark.refused.processor import KeepsAnArray

    grouped = stream.groupBy("key")
    return grouped.transformWithStateInPandas(KeepsAnArray(), "key string", "Append", "None")

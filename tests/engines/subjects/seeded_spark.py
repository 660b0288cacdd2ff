"""Subjects with a bug each that shows in no test with one row, and subjects that cannot be tested."""

from pathlib import Path
from urllib.parse import unquote, urlparse
from zlib import crc32

import pandas as pd
from pyspark.sql import DataFrame, Row
from pyspark.sql.functions import col, from_utc_timestamp, input_file_name, to_date, udf, window
from pyspark.sql.streaming import StatefulProcessor

from conformance import subject

CLICKS = {"schema": "user string, page string, at timestamp", "key": "user", "time": "at", "delay": "10 seconds"}
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Numbering(StatefulProcessor):
    """The bug: the number is an attribute, which lives as long as the task, and is no state."""

    def init(self, handle):
        self.number = 0

    def handleInputRows(self, key, rows, timerValues):
        for _ in rows:
            self.number += 1
            yield Row(user=key[0], number=self.number)

    def close(self):
        pass


@subject(**CLICKS, settings={"spark.sql.streaming.stateStore.providerClass": ROCKSDB})
def numbered(rows: DataFrame) -> DataFrame:
    keyed = rows.withWatermark("at", "10 seconds").groupBy("user")
    return keyed.transformWithState(Numbering(), "user string, number long", "append", "eventTime")


@subject(**CLICKS)
def classic_alone(rows: DataFrame) -> DataFrame:
    """The bug: a branch for Spark Connect that leaves rows out."""
    rows = rows.where("page > 'm'") if "connect" in type(rows).__module__ else rows
    return rows.withWatermark("at", "10 seconds").groupBy(window("at", "5 minutes"), "user").count()


@udf("boolean")
def is_new(file, *row):
    """Whether a row of a file is computed for the first time. It leaves a mark beside the folder of the file."""
    path = Path(unquote(urlparse(file).path))
    mark = path.parents[1] / f"computed-{path.stem}-{crc32(repr(row).encode())}"
    new = not mark.exists()
    mark.touch()
    return new


@subject(**CLICKS)
def computed_once(rows: DataFrame) -> DataFrame:
    """The bug: each time that the rows of a micro-batch are computed, the answer is another one."""
    rows = rows.withWatermark("at", "10 seconds")
    return rows.select("user", is_new(input_file_name(), "user", "page", "at").alias("new"))


def last_seen(key, frames, state):
    """The bug: a timeout may be set behind the watermark, where a row comes a micro-batch too late for that."""
    if state.hasTimedOut:
        state.remove()
        return
    latest = max(frame["at"].max() for frame in frames)
    state.update((1,))
    state.setTimeoutTimestamp(int(latest.timestamp() * 1_000) + 1_000)
    yield pd.DataFrame({"user": [key[0]], "seen": [1]})


@subject(**CLICKS, output_mode="update", durations="1 second")
def with_timeout(rows: DataFrame) -> DataFrame:
    keyed = rows.withWatermark("at", "10 seconds").groupBy("user")
    return keyed.applyInPandasWithState(last_seen, "user string, seen int", "n int", "update", "EventTimeTimeout")


@subject(**CLICKS)
def by_page(rows: DataFrame) -> DataFrame:
    """The bug: rows of all users are counted for the first one."""
    pages = rows.withWatermark("at", "10 seconds").groupBy(window("at", "5 minutes"), "page")
    return pages.agg({"user": "min", "*": "count"}).withColumnRenamed("min(user)", "user")


@subject(**CLICKS)
def recent(rows: DataFrame) -> DataFrame:
    """The bug: the clock decides."""
    late = rows.withWatermark("at", "10 seconds").where("at > now() - INTERVAL 1 HOUR")
    return late.groupBy(window("at", "5 minutes"), "user").count()


@subject(**CLICKS)
def without_a_bound(rows: DataFrame) -> DataFrame:
    return rows.groupBy("user").count()


@subject(**CLICKS)
def without_its_key(rows: DataFrame) -> DataFrame:
    return rows.withWatermark("at", "10 seconds").groupBy(window("at", "5 minutes")).count()


@subject(**CLICKS)
def raising(rows: DataFrame) -> DataFrame:
    return rows.select("usr")


@subject(**CLICKS)
def of_no_frame(rows: DataFrame) -> DataFrame:
    return rows.columns


@subject(**CLICKS, output_mode="update")
def totals(rows: DataFrame) -> DataFrame:
    return rows.withWatermark("at", "10 seconds").groupBy("user").count()


@subject(**CLICKS)
def of_its_own_stream(rows: DataFrame) -> DataFrame:
    return rows.sparkSession.readStream.format("rate").load().selectExpr("'ann' AS user", "value")


@subject(**CLICKS, output_mode="update")
def by_local_day(rows: DataFrame) -> DataFrame:
    """What rows are grouped by has other names in the output."""
    day = to_date(from_utc_timestamp("at", "Asia/Tokyo"))
    counts = rows.withWatermark("at", "10 seconds").groupBy(day.alias("day"), "user").count()
    return counts.select("user", col("day").alias("local_day"), "count")


@subject(**CLICKS)
def first_of_each(rows: DataFrame) -> DataFrame:
    return rows.withWatermark("at", "10 seconds").dropDuplicates(["user"])

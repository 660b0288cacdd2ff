"""PySpark 4.3.0: transformWithState in a batch query tells a watermark of -1 and fires no timer; the JVM refuses such a
query by event time."""

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor


class SetsATimer(StatefulProcessor):
    def init(self, handle):
        self.handle = handle

    def handleInputRows(self, key, rows, timerValues):
        self.handle.registerTimer(1_000)
        yield Row(what=f"{key[0]}: {len(list(rows))} rows, the watermark is {timerValues.getCurrentWatermarkInMs()}")

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield Row(what=f"{key[0]}: the timer fired")


provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.sql.streaming.stateStore.providerClass", provider)
    .config("spark.ui.enabled", False)
    .getOrCreate()
)
rows = spark.sql("SELECT * FROM VALUES ('a', timestamp_millis(0)), ('a', timestamp_millis(9000)) AS rows(key, time)")
output = (
    rows.withWatermark("time", "1 second")
    .groupBy("key")
    .transformWithState(SetsATimer(), "what string", "Append", "EventTime")
)
print([row.what for row in output.collect()], "expected besides: the timer fired")
spark.stop()

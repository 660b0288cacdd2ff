"""Spark 4.3.0: an event-time timeout of applyInPandasWithState does not fire while the watermark is exactly at its
time.

A timer of transformWithState for the same time fires then.
"""

import json
import os
import tempfile

from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor

folder = tempfile.mkdtemp()
os.mkdir(f"{folder}/in")
# (key, event time in s); the delay is 0, so a row moves the watermark to its time for the next micro-batch
for number, (key, seconds) in enumerate([("sets a timeout for 10", 1), ("-", 10), ("-", 11), ("-", 12)]):
    with open(f"{folder}/in/{number}.json", "w") as file:
        file.write(json.dumps({"key": key, "seconds": seconds}) + "\n")
    os.utime(f"{folder}/in/{number}.json", (1_600_000_000 + number,) * 2)


class Timer(StatefulProcessor):
    def init(self, handle):
        self.handle = handle

    def handleInputRows(self, key, rows, timerValues):
        if key[0] != "-":
            self.handle.registerTimer(10_000)
        return iter(())

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield Row(fired=f"a timer at the watermark {timerValues.getCurrentWatermarkInMs()}")

    def close(self):
        pass


def timeout(key, frames, state):
    import pandas as pd

    if state.hasTimedOut:
        fired = f"a timeout at the watermark {state.getCurrentWatermarkMs()}"
        state.remove()
        yield pd.DataFrame({"fired": [fired]})
    elif key[0] != "-":
        state.update((1,))
        state.setTimeoutTimestamp(10_000)


spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.sql.shuffle.partitions", 1)
    .config("spark.ui.enabled", False)
    .config("spark.ui.showConsoleProgress", False)
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
spark.conf.set(
    "spark.sql.streaming.stateStore.providerClass",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
)
stream = (
    spark.readStream.schema("key string, seconds long")
    .option("maxFilesPerTrigger", 1)
    .json(f"{folder}/in")
    .selectExpr("key", "timestamp_seconds(seconds) as time")
    .withWatermark("time", "0 seconds")
    .groupBy("key")
)
for name, output in {
    "timer": stream.transformWithState(Timer(), "fired string", "append", "EventTime"),
    "timeout": stream.applyInPandasWithState(timeout, "fired string", "n long", "append", "EventTimeTimeout"),
}.items():
    query = (
        output.writeStream.option("checkpointLocation", f"{folder}/{name}")
        .foreachBatch(lambda frame, batch: [print("batch", batch, row.fired) for row in frame.collect()])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
spark.stop()

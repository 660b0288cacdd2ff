"""Spark 4.3.0: a timer that its own callback registers again for the time for which it fired is lost.

A timer that its callback registers for a millisecond later fires. So the one registered again is deleted with the one
that fired.
"""

import json
import os
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor


class SetsItselfAgain(StatefulProcessor):
    def init(self, handle):
        self.handle = handle
        self.fired = handle.getValueState("fired", "times int")

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            if row.what == "set a timer":
                self.handle.registerTimer(110_000)
        yield from ()

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        time, times = expiredTimerInfo.getExpiryTimeInMs(), self.fired.get()[0] if self.fired.exists() else 0
        self.fired.update((times + 1,))
        if times == 0:
            self.handle.registerTimer(time if key[0] == "same" else time + 1)
        yield Row(what=f"{key[0]}: the timer for {time} fired, timers then: {list(self.handle.listTimers())}")


folder = tempfile.mkdtemp()
# A delay of 100 s: the row at 300 s moves the watermark to 200 s, past both timers. Later rows give what is left time.
batches = [
    [("same", "set a timer", 200), ("later", "set a timer", 200)],
    *[[("same", "moves the watermark", seconds)] for seconds in (300, 301, 302, 303)],
]
os.mkdir(f"{folder}/in")
for number, rows in enumerate(batches):
    with open(f"{folder}/in/{number}.json", "w") as file:
        file.writelines(json.dumps({"key": k, "what": what, "seconds": seconds}) + "\n" for k, what, seconds in rows)
    os.utime(f"{folder}/in/{number}.json", (1_600_000_000 + number,) * 2)

provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.sql.streaming.stateStore.providerClass", provider)
    .config("spark.sql.shuffle.partitions", 1)
    .config("spark.ui.enabled", False)
    .getOrCreate()
)
source = spark.readStream.schema("key string, what string, seconds double").option("maxFilesPerTrigger", 1)
query = (
    source.json(f"{folder}/in")
    .selectExpr("key", "what", "timestamp_millis(cast(round(seconds * 1000) as long)) as time")
    .withWatermark("time", "100 seconds")
    .groupBy("key")
    .transformWithState(SetsItselfAgain(), "what string", "Append", "EventTime")
    .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    .foreachBatch(lambda frame, batch: print("batch", batch, sorted(row.what for row in frame.collect())))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
spark.stop()

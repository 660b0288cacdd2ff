"""Spark 4.3.0: a timer that another timer's callback deletes in the same micro-batch fires all the same."""

import json
import os
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor


class OneDeletesTheOther(StatefulProcessor):
    def init(self, handle):
        self.handle = handle

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            if row.what == "set timers":
                self.handle.registerTimer(110_000)
                self.handle.registerTimer(120_000)
        yield from ()

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        time = expiredTimerInfo.getExpiryTimeInMs()
        if time == 110_000:
            self.handle.deleteTimer(120_000)
        yield Row(what=f"the timer for {time} fired, timers left: {list(self.handle.listTimers())}")


folder = tempfile.mkdtemp()
# A delay of 100 s: the row at 300 s moves the watermark to 200 s, past both timers.
batches = [[("set timers", 200)], [("moves the watermark", 300)], [("lets them fire", 300)]]
os.mkdir(f"{folder}/in")
for number, rows in enumerate(batches):
    with open(f"{folder}/in/{number}.json", "w") as file:
        file.writelines(json.dumps({"key": "a", "what": what, "seconds": seconds}) + "\n" for what, seconds in rows)
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
    .transformWithState(OneDeletesTheOther(), "what string", "Append", "EventTime")
    .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    .foreachBatch(lambda frame, batch: print("batch", batch, [row.what for row in frame.collect()]))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
spark.stop()

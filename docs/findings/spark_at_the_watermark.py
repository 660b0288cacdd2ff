"""Spark 4.3.0: transformWithState in event-time mode drops a row whose event time is exactly the watermark."""

import json
import os
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor


class Pass(StatefulProcessor):
    def init(self, handle):
        pass

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            yield Row(what=row.what)


folder = tempfile.mkdtemp()
# A delay of 100 s: the row at 200 s moves the watermark to 100 s.
batches = [[("moves the watermark", 200)], [("settles it", 200)]]
batches += [[("1 ms before", 99.999), ("at the watermark", 100), ("1 ms after", 100.001)]]
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
    .transformWithState(Pass(), "what string", "Append", "EventTime")
    .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    .foreachBatch(lambda frame, batch: print("batch", batch, [row.what for row in frame.collect()]))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
print("dropped", [p.stateOperators[0].numRowsDroppedByWatermark for p in query.recentProgress])
spark.stop()

"""PySpark 4.3.0, applyInPandasWithState: a timeout stays set when a later call for its key sets none."""

import json
import os
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
import pandas as pd
from pyspark.sql import SparkSession


def first_call_sets(key, frames, state):
    """Only the first call for a key sets a timeout, for 150 s."""
    first = not state.exists
    if first:
        state.update((1,))
        state.setTimeoutTimestamp(150_000)
    what = "timed out" if state.hasTimedOut else "first call, sets 150 s" if first else "later call, sets none"
    yield pd.DataFrame({"seen": [f"{key[0]}: {what}"]})


folder = tempfile.mkdtemp()
# A delay of 100 s: key b moves the watermark to 100 s, and to 200 s in the end.
batches = [[("b", 200)], [("a", 200)], [("a", 200)], [("b", 300)], [("b", 300)]]
os.mkdir(f"{folder}/in")
for number, rows in enumerate(batches):
    with open(f"{folder}/in/{number}.json", "w") as file:
        file.writelines(json.dumps({"key": key, "seconds": seconds}) + "\n" for key, seconds in rows)
    os.utime(f"{folder}/in/{number}.json", (1_600_000_000 + number,) * 2)

spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
source = spark.readStream.schema("key string, seconds double").option("maxFilesPerTrigger", 1)
query = (
    source.json(f"{folder}/in")
    .selectExpr("key", "timestamp_seconds(seconds) as time")
    .withWatermark("time", "100 seconds")
    .groupBy("key")
    .applyInPandasWithState(first_call_sets, "seen string", "value long", "append", "EventTimeTimeout")
    .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    .foreachBatch(lambda frame, batch: print("batch", batch, [row.seen for row in frame.collect()]))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
spark.stop()

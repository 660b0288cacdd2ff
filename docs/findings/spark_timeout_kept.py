"""PySpark 4.3.0, applyInPandasWithState: what a later call for a key does to the key's timeout, if the call sets none.

A call that neither updates the state nor sets a timeout keeps the timeout of the first call, which then occurs. A call
that updates the state and sets no timeout drops that timeout. The key "alone" has no later call, and its timeout
occurs.
"""

import json
import os
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
import pandas as pd
from pyspark.sql import SparkSession


def first_call_sets(key, frames, state):
    """Only the first call for a key sets a timeout, for 150 s. Later calls for "updates" update the state."""
    if state.hasTimedOut:
        what = "timed out"
    elif not state.exists:
        state.update((1,))
        state.setTimeoutTimestamp(150_000)
        what = "first call, sets 150 s"
    elif key[0] == "updates":
        state.update((2,))
        what = "later call, updates the state and sets no timeout"
    else:
        what = "later call, does neither"
    yield pd.DataFrame({"seen": [f"{key[0]}: {what}"]})


folder = tempfile.mkdtemp()
# A delay of 100 s: the key "-" moves the watermark to 100 s, and to 200 s in the end.
both = [("reads", 200), ("updates", 200)]
batches = [[("-", 200)], [*both, ("alone", 200)], both, [("-", 300)], [("-", 300)]]
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
    .foreachBatch(lambda frame, batch: print("batch", batch, sorted(row.seen for row in frame.collect())))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
spark.stop()

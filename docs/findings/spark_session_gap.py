"""Spark 4.3.0: session_window() joins two events that are exactly the gap apart, although the first event's session
ends there."""

import json
import os
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql.functions import session_window

folder = tempfile.mkdtemp()
rows = [("exactly the gap", 1), ("exactly the gap", 11), ("1 ms more", 1), ("1 ms more", 11.001)]
os.mkdir(f"{folder}/in")
with open(f"{folder}/in/0.json", "w") as file:
    # The last row moves the watermark past all sessions.
    for key, seconds in [*rows, ("moves the watermark", 1_000)]:
        file.write(json.dumps({"key": key, "seconds": seconds}) + "\n")

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False).getOrCreate()
stream = (
    spark.readStream.schema("key string, seconds double")
    .json(f"{folder}/in")
    .selectExpr("key", "timestamp_millis(cast(round(seconds * 1000) as long)) as time")
    .withWatermark("time", "100 seconds")
)
query = (
    stream.groupBy(session_window("time", "10 seconds"), "key")
    .count()
    .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    .foreachBatch(lambda frame, batch: frame.show(truncate=False))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
spark.stop()

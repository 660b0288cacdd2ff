"""Spark 4.3.0: windows of a key that one micro-batch ends come out in no order of time with the default state store."""

import json
import os
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql.functions import window

folder = tempfile.mkdtemp()
os.mkdir(f"{folder}/in")
with open(f"{folder}/in/0.json", "w") as file:
    # The last row moves the watermark past all windows.
    for key, seconds in [*(("key", second) for second in range(5, 100, 10)), ("moves the watermark", 1_000)]:
        file.write(json.dumps({"key": key, "seconds": seconds}) + "\n")

spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.sql.shuffle.partitions", 1)
    .config("spark.ui.enabled", False)
    .getOrCreate()
)
stream = (
    spark.readStream.schema("key string, seconds long")
    .json(f"{folder}/in")
    .selectExpr("key", "timestamp_seconds(seconds) as time")
    .withWatermark("time", "100 seconds")
)
query = (
    stream.groupBy(window("time", "10 seconds").alias("window"), "key")
    .count()
    .selectExpr("unix_seconds(window.start) as start")
    .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    .foreachBatch(lambda frame, batch: print("batch", batch, [row.start for row in frame.collect()]))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
spark.stop()

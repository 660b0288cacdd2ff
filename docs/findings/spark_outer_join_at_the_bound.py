"""Spark 4.3.0: a stream-stream outer join holds an unmatched left row while the watermark stands exactly at its bound.

The row comes out when the watermark is 1 ms later. While the watermark stands at the bound, Spark drops the row that
could be its partner as late.
"""

import json
import os
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, expr

folder = tempfile.mkdtemp()
os.mkdir(f"{folder}/in")
# The delay is 0, so a file moves the watermark to its rows' time for the next micro-batch.
both = ("left", "right")
files = [[(side, "-", time) for side in both] for time in (1.0, 11.0, 11.0, 11.001, 11.002)]
files[0].append(("left", "k", 1.0))
files[3].append(("right", "k", 11.0))
for number, rows in enumerate(files):
    with open(f"{folder}/in/{number}.json", "w") as file:
        for side, key, seconds in rows:
            file.write(json.dumps({"side": side, "key": key, "seconds": seconds}) + "\n")
    os.utime(f"{folder}/in/{number}.json", (1_600_000_000 + number,) * 2)

spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.sql.shuffle.partitions", 1)
    .config("spark.ui.enabled", False)
    .config("spark.ui.showConsoleProgress", False)
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
stream = (
    spark.readStream.schema("side string, key string, seconds double")
    .option("maxFilesPerTrigger", 1)
    .json(f"{folder}/in")
    .selectExpr("side", "key", "timestamp_millis(cast(round(seconds * 1000) as long)) as time")
    .withWatermark("time", "0 seconds")
)
left, right = (
    stream.where(col("side").isin(side)).select(col("key").alias(f"{side}_key"), col("time").alias(f"{side}_time"))
    for side in both
)
in_time = expr("left_key = right_key and right_time >= left_time and right_time <= left_time + interval 10 seconds")


def show(frame, batch):
    for row in frame.where("left_key = 'k'").collect():
        print("batch", batch, row)


query = (
    left.join(right, in_time, "left_outer")
    .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    .foreachBatch(show)
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
for report in query.recentProgress:
    watermark, late = report.eventTime["watermark"], report.stateOperators[0].numRowsDroppedByWatermark
    print("batch", report.batchId, "ran at the watermark", watermark, "and dropped", late, "late rows")
spark.stop()

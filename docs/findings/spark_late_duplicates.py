"""Spark 4.3.0, dropDuplicatesWithinWatermark: once a key is forgotten, an on-time duplicate is accepted, a late one is
dropped."""

import json
import os
import tempfile

from pyspark.sql import SparkSession

folder = tempfile.mkdtemp()
# A delay of 100 s: key b moves the watermark to 400 s. By then key a is forgotten, 100 s after its first row.
batches = [[("a", "first", 200)], [("b", "moves the watermark", 500)], [("b", "settles it", 500)]]
batches += [[("a", "behind the watermark", 350)], [("a", "on time", 450)]]
os.mkdir(f"{folder}/in")
for number, rows in enumerate(batches):
    with open(f"{folder}/in/{number}.json", "w") as file:
        file.writelines(
            json.dumps({"key": key, "what": what, "seconds": seconds}) + "\n" for key, what, seconds in rows
        )
    os.utime(f"{folder}/in/{number}.json", (1_600_000_000 + number,) * 2)

spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
source = spark.readStream.schema("key string, what string, seconds double").option("maxFilesPerTrigger", 1)
query = (
    source.json(f"{folder}/in")
    .selectExpr("key", "what", "timestamp_seconds(seconds) as time")
    .withWatermark("time", "100 seconds")
    .dropDuplicatesWithinWatermark(["key"])
    .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    .foreachBatch(lambda frame, batch: print("batch", batch, [row.what for row in frame.collect()]))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
print("dropped as late", [p.stateOperators[0].numRowsDroppedByWatermark for p in query.recentProgress])
spark.stop()

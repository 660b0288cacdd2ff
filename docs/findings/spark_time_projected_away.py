"""Spark 4.3.0, dropDuplicates without the event time among its columns: a late row is dropped or let through, by what
is selected behind."""

import json
import os
import tempfile

from pyspark.sql import SparkSession

folder = tempfile.mkdtemp()
# A delay of 10 s: key b moves the watermark to 490 s, long after the time of key c.
batches = [[("a", 200)], [("b", 500)], [("b", 500)], [("c", 100)]]
os.mkdir(f"{folder}/in")
for number, rows in enumerate(batches):
    with open(f"{folder}/in/{number}.json", "w") as file:
        file.writelines(json.dumps({"key": key, "seconds": seconds}) + "\n" for key, seconds in rows)
    os.utime(f"{folder}/in/{number}.json", (1_600_000_000 + number,) * 2)

spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 1).getOrCreate()


def came_out(columns):
    """The keys that come out in each micro-batch where these columns are selected, and the rows dropped as late."""
    found = {}
    source = spark.readStream.schema("key string, seconds double").option("maxFilesPerTrigger", 1)
    query = (
        source.json(f"{folder}/in")
        .selectExpr("key", "timestamp_seconds(seconds) as time")
        .withWatermark("time", "10 seconds")
        .dropDuplicates(["key"])
        .select(*columns)
        .writeStream.option("checkpointLocation", f"{folder}/checkpoint-{len(columns)}")
        .foreachBatch(lambda frame, batch: found.update({batch: [row.key for row in frame.collect()]}))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    late = sum(p.stateOperators[0].numRowsDroppedByWatermark for p in query.recentProgress)
    return [found[batch] for batch in sorted(found)], late


print("key and time selected:", *came_out(["key", "time"]))
print("key alone selected:   ", *came_out(["key"]))
spark.stop()

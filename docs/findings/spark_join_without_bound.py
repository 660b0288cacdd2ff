"""PySpark 4.3.0: an aggregation in windows behind an inner join that has no time bound drops pairs as late.

The guide allows both operators in a row, and a watermark on an inner join is optional. With a time bound every pair is
counted.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

os.environ["PYSPARK_PYTHON"] = sys.executable
settings = {"spark.ui.enabled": False, "spark.sql.shuffle.partitions": 1, "spark.sql.session.timeZone": "UTC"}
spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
spark.sparkContext.setLogLevel("OFF")

BATCHES = [("left", 5), ("left", 1_000), ("right", 1_001), ("left", 5_000), ("right", 5_000), ("right", 9_000)]
"""The side of each micro-batch's row, and its event time in seconds."""

ON = "a.key = b.key"


def run(title, on):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "in").mkdir()
        rows = (
            spark.readStream.schema("side string, key string, s long")
            .option("maxFilesPerTrigger", 1)
            .json(f"{folder}/in")
        )
        rows = rows.withColumn("time", F.timestamp_seconds("s")).withWatermark("time", "0 seconds")
        for number, (side, s) in enumerate(BATCHES):
            Path(folder, "in", f"{number}.json").write_text(json.dumps({"side": side, "key": "k", "s": s}))
            os.utime(Path(folder, "in", f"{number}.json"), (number, number))
        left, right = (rows.where(f"side = '{side}'").alias(name) for side, name in (("left", "a"), ("right", "b")))
        joined = left.join(right, F.expr(on)).groupBy(F.window("a.time", "10 seconds").alias("w")).count()
        found = []
        sink = joined.writeStream.foreachBatch(
            lambda batch, number: found.extend(batch.selectExpr("unix_seconds(w.start)", "count").collect())
        )
        query = sink.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
        query.awaitTermination()
        late = [o["numRowsDroppedByWatermark"] for p in query.recentProgress for o in p["stateOperators"]]
        print(f"{title}: {[tuple(row) for row in found]}, rows dropped as late: {sum(late)}")


run("no time bound", ON)
run("a time bound", f"{ON} AND b.time >= a.time AND b.time <= a.time + INTERVAL 3000 SECONDS")

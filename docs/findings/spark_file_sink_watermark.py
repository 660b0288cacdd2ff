"""PySpark 4.3.0: the watermark forgets a micro-batch if the query was killed between its file sink and its commit log.

Start with `python spark_file_sink_watermark.py`. A kill at that instant leaves everything of the micro-batch but its
entry in the commit log, so that entry is taken away.
"""

import json
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "1")
spark.conf.set("spark.sql.session.timeZone", "UTC")
spark.sparkContext.setLogLevel("OFF")


def run(folder, batch, *seconds):
    """The watermarks of the micro-batches that read rows."""
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{batch}.json").write_text("".join(f'{{"second": {second}}}\n' for second in seconds))
    rows = spark.readStream.schema("second long").json(str(folder / "in"))
    timed = rows.withColumn("time", F.timestamp_seconds("second")).withWatermark("time", "0 seconds")
    counts = timed.groupBy(F.window("time", "10 seconds")).count().selectExpr("window.start AS start", "count")
    writer = counts.writeStream.format("parquet").option("path", str(folder / "out"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    reports = [json.loads(report.json) for report in query.recentProgress]
    return [report["eventTime"]["watermark"][14:19] for report in reports if report["numInputRows"]]


for killed in (False, True):
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    folder = Path(tempfile.mkdtemp())
    run(folder, 0, 5)
    run(folder, 1, 45)
    if killed:
        for name in ("1", ".1.crc"):
            (folder / "checkpoint" / "commits" / name).unlink()
    seen = [*run(folder, 2, 46), *run(folder, 3, 11, 47)]
    run(folder, 4, 90)
    run(folder, 5, 91)
    counts = {f"{row.start:%M:%S}": row["count"] for row in spark.read.parquet(str(folder / "out")).collect()}
    print("killed:" if killed else "not killed:", dict(sorted(counts.items())))
    print("  watermarks of the two micro-batches behind it:", " and ".join(seen))

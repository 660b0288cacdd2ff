"""PySpark 4.3.0: a query whose windows have another size goes on from the checkpoint without a word: windows of the new
size count anew, and those of the old size come out beside them.

Start with `python spark_windows_of_another_size.py`. Three rows lie in one window of a minute, and of two minutes.
"""

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "1")
spark.conf.set("spark.sql.session.timeZone", "UTC")
spark.sparkContext.setLogLevel("OFF")


def run(size, folder, number, *times):
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{number}.json").write_text("".join(f'{{"time": "2030-01-01 {time}"}}\n' for time in times))
    rows = spark.readStream.schema("time timestamp").json(str(folder / "in")).withWatermark("time", "0 seconds")
    window = f.window("time", size).alias("of")
    counts = (
        rows.groupBy(window)
        .count()
        .select(f.date_format("of.start", "HH:mm"), f.date_format("of.end", "HH:mm"), "count")
    )
    found = []
    writer = counts.writeStream.outputMode("append").foreachBatch(lambda frame, _: found.extend(frame.collect()))
    writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(
        availableNow=True
    ).start().awaitTermination()
    return sorted(tuple(row) for row in found)


for later in ("1 minute", "2 minutes"):
    folder = Path(tempfile.mkdtemp())
    run("1 minute", folder, 0, "00:00:10", "00:00:20")
    print(
        f"two rows in windows of 1 minute, one more in windows of {later}:",
        run(later, folder, 1, "00:00:30", "00:10:00"),
    )

"""PySpark 4.3.0, applyInPandasWithState: a timeout in event time that a next version takes for one in processing time.

Start with `python spark_timeout_of_another_time.py`. The first version sets a timeout for 1,000,000 s of event time,
1970-01-12; the watermark never comes near. The next version has timeouts in processing time.
"""

import os
import sys
import tempfile
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.streaming.state import GroupStateTimeout

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "1")
spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")  # else the second query never ends
spark.sparkContext.setLogLevel("OFF")
seen = []


def first(key, frames, state):
    state.update((1,))
    state.setTimeoutTimestamp(1_000_000_000)
    yield pd.DataFrame({"says": [f"{key[0]}: first version, sets a timeout for 1,000,000 s of event time"]})


def later(key, frames, state):
    yield pd.DataFrame({"says": [f"{key[0]}: next version, {'timed out' if state.hasTimedOut else 'called'}"]})


def run(folder, batch, user, function, timeout):
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{batch}.json").write_text(f'{{"user": "{user}", "at": "1970-01-01T00:00:0{batch}Z"}}\n')
    rows = spark.readStream.schema("user string, at timestamp").json(str(folder / "in")).withWatermark("at", "1 second")
    answers = rows.groupBy("user").applyInPandasWithState(function, "says string", "n int", "append", timeout)
    writer = answers.writeStream.outputMode("append").foreachBatch(lambda frame, _: seen.extend(frame.collect()))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()


folder = Path(tempfile.mkdtemp())
run(folder, 1, "a", first, GroupStateTimeout.EventTimeTimeout)
run(folder, 2, "b", later, GroupStateTimeout.ProcessingTimeTimeout)
for row in seen:
    print(row.says)

"""PySpark 4.3.0, applyInPandasWithState: the first format of its state, with timeouts, in a query that restarts.

The setting spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion is 2 where nothing is said. With 1 and
EventTimeTimeout, the restarted query fails as it loads what it stored: the schema of the state says that
timeoutTimestamp is an int, and the stored row does not fit it. A state without a timeout fails, and one with a timeout
of today. One with a timeout of 1,000 s after 1970 goes well.
"""

import os
import re
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
import pandas as pd
import pyspark
from pyspark.sql import SparkSession

FORMAT = "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion"
TODAY = 1_793_000_000_000  # ms since the epoch

spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
print(f"PySpark {pyspark.__version__}")


def answer(folder, timeouts, due):
    def count(key, frames, state):
        state.update(((state.get[0] if state.exists else 0) + sum(map(len, frames)),))
        if due is not None:
            state.setTimeoutTimestamp(due)
        yield pd.DataFrame({"n": [state.get[0]]})

    lines = []
    rows = spark.readStream.schema("key string, at timestamp").parquet(f"{folder}/in").withWatermark("at", "1 second")
    query = (
        rows.groupBy("key")
        .applyInPandasWithState(count, "n long", "n long", "append", timeouts)
        .writeStream.foreachBatch(lambda frame, batch: lines.extend(str(row.n) for row in frame.collect()))
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except Exception as error:
        return re.findall(r"field: StructField\(timeoutTimestamp,\w+,\w+\)", str(error))[-1]
    return " ".join(lines)


for version, timeouts, due in [
    ("2", "EventTimeTimeout", None),
    ("1", "NoTimeout", None),
    ("1", "EventTimeTimeout", 1_000_000),
    ("1", "EventTimeTimeout", None),
    ("1", "EventTimeTimeout", TODAY),
]:
    spark.conf.set(FORMAT, version)
    folder = tempfile.mkdtemp()
    print(f"format {version}, {timeouts}, timeout at {due}:")
    for run, at in (("first", 100_000), ("restarted", 200_000)):
        row = spark.range(1).selectExpr("'a' AS key", f"timestamp_millis({at}) AS at")
        row.write.mode("append").parquet(f"{folder}/in")
        print(f"  {run}: {answer(folder, timeouts, due)}")
spark.stop()

import os
import re
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
import pandas as pd
from pyspark.sql import SparkSession


def counted(key, frames, state):
    state.update((sum(map(len, frames)) + (state.get[0] if state.exists else 0),))
    yield pd.DataFrame({"rows": [state.get[0]]})


spark = SparkSession.builder.master("local[2]").getOrCreate()
spark.conf.set("spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion", "1")
folder = tempfile.mkdtemp()
for second in (1, 2):
    row = spark.range(1).selectExpr("'a' AS key", f"timestamp_seconds({second}) AS at")
    row.write.mode("append").parquet(f"{folder}/in")
    rows = spark.readStream.schema("key string, at timestamp").parquet(f"{folder}/in").withWatermark("at", "0 seconds")
    counts = rows.groupBy("key").applyInPandasWithState(counted, "rows long", "v long", "append", "EventTimeTimeout")
    query = counts.writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    query = query.foreachBatch(lambda frame, batch: [print(row.rows) for row in frame.collect()])
    try:
        query.trigger(availableNow=True).start().awaitTermination()
    except Exception as error:
        print(re.findall(r"field: StructField\(timeoutTimestamp,\w+,\w+\)", str(error))[-1])

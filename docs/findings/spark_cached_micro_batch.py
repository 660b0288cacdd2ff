"""PySpark 4.3.0: foreachBatch cannot cache a micro-batch of an aggregation that keeps a text, such as the maximum of a
column of texts. Without the cache, and for numbers, the same query goes on.

Start with `python spark_cached_micro_batch.py`.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "1")
spark.sparkContext.setLogLevel("OFF")


def run(aggregate, cached):
    folder = Path(tempfile.mkdtemp())
    (folder / "in").mkdir()
    (folder / "in" / "0.json").write_text('{"user": "u", "page": "home", "number": 7}\n')
    rows = spark.readStream.schema("user string, page string, number long").json(str(folder / "in"))
    found = []

    def take(frame, _):
        found.extend((frame.cache() if cached else frame).collect())

    writer = rows.groupBy("user").agg(aggregate).writeStream.outputMode("update").foreachBatch(take)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    try:
        query.awaitTermination()
        return [tuple(row) for row in found]
    except StreamingQueryException as error:
        return re.search(r"NoSuchElementException: key not found: \w+", str(error))[0]


for column in ("page", "number"):
    for cached in (False, True):
        print(f"max({column}){', cached' * cached}: {run(f.max(column), cached)}")

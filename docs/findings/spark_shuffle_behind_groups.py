"""PySpark 4.3.0, applyInPandasWithState: a shuffle right behind it ends the query with a ClassCastException.

With a projection in between it goes well.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False).getOrCreate()
spark.sparkContext.setLogLevel("OFF")

CAST = re.compile(r"ClassCastException.*?cast to class [\w.]+")


def counted(key, frames, state):
    yield pd.DataFrame({"key": [key[0]], "rows": [sum(map(len, frames))]})


def run(title, behind):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "in").mkdir()
        Path(folder, "in", "rows.json").write_text('{"key": "a"}\n{"key": "b"}')
        rows = spark.readStream.schema("key string").json(f"{folder}/in").groupBy("key")
        out = behind(rows.applyInPandasWithState(counted, "key string, rows long", "v long", "append", "NoTimeout"))
        found = []
        sink = out.writeStream.foreachBatch(lambda batch, number: found.extend(map(tuple, batch.collect())))
        query = sink.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
        try:
            query.awaitTermination()
            print(f"{title}: {sorted(found)}")
        except Exception as error:
            print(f"{title}: {CAST.findall(str(error))[0]}")


run("nothing behind", lambda out: out)
run("repartition", lambda out: out.repartition(2, "key"))
run("dropDuplicates", lambda out: out.dropDuplicates(["key"]))
run("a projection, then repartition", lambda out: out.withColumn("one", F.lit(1)).repartition(2, "key"))

"""PySpark 4.3.0, applyInPandasWithState: an array or a map in the schema of the state.

The query fails with KeyError: 'elementType' or 'keyType', before the function is called. A state of a number or of a
struct goes well. The worker lower-cases the JSON of the schema before it reads it (pyspark/worker_util.py, Conf.get).
4.2.1 does the same; in 4.0.5 a state with arrays and maps goes well.
"""

import os
import re
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
import pandas as pd
import pyspark
from pyspark.sql import SparkSession

STATES = {"int": 1, "struct<a:int>": (1,), "array<int>": [1], "map<string,int>": {"a": 1}}

spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
print(f"PySpark {pyspark.__version__}")
for kind, value in STATES.items():
    folder = tempfile.mkdtemp()
    spark.range(1).selectExpr("'a' AS key").write.parquet(f"{folder}/in")

    def keep(key, frames, state, value=value):
        state.update((value,))
        yield pd.DataFrame({"seen": [str(state.get[0])]})

    keyed = spark.readStream.schema("key string").parquet(f"{folder}/in").groupBy("key")
    query = (
        keyed.applyInPandasWithState(keep, "seen string", f"v {kind}", "append", "NoTimeout")
        .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
        .foreachBatch(lambda frame, batch, kind=kind: [print(f"{kind}: {row.seen}") for row in frame.collect()])
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except Exception as error:
        print(f"{kind}: {re.findall('KeyError: .*', str(error))[-1]}")
spark.stop()

"""PySpark 4.0.5, applyInPandasWithState: a map with binary keys in the state.

The second micro-batch reads the state back, and the query ends: TypeError: unhashable type: 'bytearray'. The JVM's
pickler hands binary values over as bytearrays, and Python has no dict with such keys. In 4.1.4 the keys come back as
bytes.
"""

import os
import re
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
import pandas as pd
import pyspark
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
folder = tempfile.mkdtemp()
for _ in range(2):
    spark.range(1).selectExpr("'a' AS key").coalesce(1).write.mode("append").parquet(f"{folder}/in")


def keep(key, frames, state):
    kept = state.get[0] if state.exists else {}
    state.update(({**kept, b"%d" % len(kept): 1},))
    yield pd.DataFrame({"seen": [str(kept)]})


rows = spark.readStream.schema("key string").option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
query = (
    rows.groupBy("key")
    .applyInPandasWithState(keep, "seen string", "kept map<binary,int>", "append", "NoTimeout")
    .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    .foreachBatch(lambda frame, batch: print(f"micro-batch {batch}:", *[row.seen for row in frame.collect()]))
    .trigger(availableNow=True)
    .start()
)
print(f"PySpark {pyspark.__version__}")
try:
    query.awaitTermination()
except Exception as error:
    print(re.findall("TypeError: .*", str(error))[-1])
spark.stop()

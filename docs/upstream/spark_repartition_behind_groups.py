import os
import re
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
import pandas as pd
from pyspark.sql import SparkSession


def counted(key, frames, state):
    yield pd.DataFrame({"key": [key[0]], "rows": [sum(map(len, frames))]})


spark = SparkSession.builder.master("local[2]").getOrCreate()
folder = tempfile.mkdtemp()
spark.range(1).selectExpr("'a' AS key").write.parquet(f"{folder}/in")
keyed = spark.readStream.schema("key string").parquet(f"{folder}/in").groupBy("key")
counts = keyed.applyInPandasWithState(counted, "key string, rows long", "v long", "append", "NoTimeout")
query = counts.repartition(2).writeStream.option("checkpointLocation", f"{folder}/checkpoint").format("console")
try:
    query.trigger(availableNow=True).start().awaitTermination()
except Exception as error:
    print(re.findall("ClassCastException: .*", str(error))[0].partition(" (")[0])

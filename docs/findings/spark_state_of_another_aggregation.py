"""PySpark 4.3.0: a query goes on from the checkpoint of another aggregation, and takes its numbers for its own.

Start with `python spark_state_of_another_aggregation.py`. A count of rows runs first, then a sum, then a sum by itself.
"""

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "1")
spark.sparkContext.setLogLevel("OFF")
seen = []


def run(folder, batch, *columns):
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{batch}.json").write_text('{"user": "a", "amount": 10}\n')
    rows = spark.readStream.schema("user string, amount long").json(str(folder / "in"))
    totals = rows.groupBy("user").agg(*columns)
    writer = totals.writeStream.outputMode("update").foreachBatch(lambda frame, _: seen.extend(frame.collect()))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()


both, alone = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
count, total = F.count("*").alias("total"), F.sum("amount").alias("total")
run(both, 1, count)
run(both, 2, total)
run(alone, 1, total)
run(alone, 2, total)
counted, taken, _, right = (row.total for row in seen)
print("the count of rows of the first version:", counted)
print("the sum of the next version, on its checkpoint:", taken)
print("the sum of a query that has always been the next version:", right)
try:
    run(both, 3, total, F.max("amount").alias("most"))
except Exception as error:
    print("a further column is refused:", "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE" in str(error))

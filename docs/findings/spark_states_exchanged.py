"""PySpark 4.3.0: a query whose checkpoint has the state of two partitions exchanged goes on, and counts every key anew,
without a word.

Start with `python spark_states_exchanged.py`. Each of six keys has one row before the restart and one behind it.
"""

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "2")
spark.sparkContext.setLogLevel("OFF")
folder = Path(tempfile.mkdtemp())
(folder / "in").mkdir()
seen = []


def run(batch):
    (folder / "in" / f"{batch}.json").write_text("".join(f'{{"user": "{key}"}}\n' for key in "abcdef"))
    counts = spark.readStream.schema("user string").json(str(folder / "in")).groupBy("user").count()
    writer = counts.writeStream.outputMode("update").foreachBatch(lambda frame, _: seen.append(frame.collect()))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()


run(1)
state = folder / "checkpoint" / "state" / "0"
(state / "0").rename(state / "aside")
(state / "1").rename(state / "0")
(state / "aside").rename(state / "1")
run(2)
print("the counts of six keys after one row of each:", [row["count"] for row in seen[0]])
print("after two, with the state of two partitions exchanged:", [row["count"] for row in seen[-1]])

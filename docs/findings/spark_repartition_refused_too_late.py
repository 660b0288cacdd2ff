"""PySpark 4.3.0: after a repartition of a checkpoint that is refused, the unchanged query is refused, too.

Start with `python spark_repartition_refused_too_late.py`. The state lies in the HDFS-backed store, which is the
default and which a repartition does not take.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "2")
spark.sparkContext.setLogLevel("OFF")
seen = []
CONDITION = r"\[([A-Z_.]+)\]"


def run(folder, batch):
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{batch}.json").write_text('{"user": "a"}\n')
    counts = spark.readStream.schema("user string").json(str(folder / "in")).groupBy("user").count()
    writer = counts.writeStream.outputMode("update").foreachBatch(lambda frame, _: seen.extend(frame.collect()))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()


def said(what, call):
    try:
        call()
        print(f"{what}: accepted")
    except Exception as error:
        print(f"{what}: {re.findall(CONDITION, str(error))[-1]}")


folder = Path(tempfile.mkdtemp())
run(folder, 1)
checkpoint = str(folder / "checkpoint")
said("repartition to three", lambda: spark._streamingCheckpointManager.repartition(checkpoint, 3))
said("the unchanged query behind it", lambda: run(folder, 2))
print("counts:", [row["count"] for row in seen])

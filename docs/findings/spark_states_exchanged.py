"""PySpark 4.3.0: a query whose checkpoint has the state of two partitions exchanged goes on without a word. It counts
every key anew, lets duplicates through, and does not find the rows that it should join.

Start with `python spark_states_exchanged.py`. Each of six keys has one row before the restart and one behind it. A join
has those before it on its left side, and those behind it on its right side.
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


def joined(rows):
    return rows.where("batch = 1").join(rows.where("batch = 2").withColumnRenamed("batch", "other"), "user")


QUERIES = {
    "groupBy().count()": ("update", lambda rows: rows.groupBy("user").count()),
    "dropDuplicates()": ("append", lambda rows: rows.dropDuplicates(["user"])),
    "an inner join": ("append", joined),
}


def run(folder, query, batch):
    """The rows that come out."""
    seen = []
    (folder / "in").mkdir(exist_ok=True)
    rows = "".join(f'{{"user": "{key}", "batch": {batch}}}\n' for key in "abcdef")
    (folder / "in" / f"{batch}.json").write_text(rows)
    mode, operator = QUERIES[query]
    stream = operator(spark.readStream.schema("user string, batch int").json(str(folder / "in")))
    writer = stream.writeStream.outputMode(mode).foreachBatch(lambda frame, _: seen.extend(frame.collect()))
    writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(
        availableNow=True
    ).start().awaitTermination()
    return sorted(map(tuple, seen))


for query in QUERIES:
    for exchanged in (False, True):
        folder = Path(tempfile.mkdtemp())
        run(folder, query, 1)
        state = folder / "checkpoint" / "state" / "0"
        if exchanged:
            (state / "0").rename(state / "aside")
            (state / "1").rename(state / "0")
            (state / "aside").rename(state / "1")
        print(f"{query}, the states {'exchanged' if exchanged else 'in their places'}:", run(folder, query, 2))

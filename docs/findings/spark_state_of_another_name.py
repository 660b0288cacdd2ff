"""PySpark 4.3.0: a state variable of `transformWithState` that has another name in the next version is empty, without a
word.

Start with `python spark_state_of_another_name.py`. The first version keeps its count as `n`, the next one as `visits`.
"""

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "1")
spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
spark.sparkContext.setLogLevel("OFF")
seen = []


class Count(StatefulProcessor):
    def __init__(self, name):
        self.name = name

    def init(self, handle):
        self.count = handle.getValueState(self.name, "value long")

    def handleInputRows(self, key, rows, timers):
        before = self.count.get()
        self.count.update(((before[0] if before else 0) + sum(1 for _ in rows),))
        yield Row(user=key[0], count=self.count.get()[0])


def run(name, folder, batch):
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{batch}.json").write_text('{"user": "a"}\n')
    rows = spark.readStream.schema("user string").json(str(folder / "in")).groupBy("user")
    counts = rows.transformWithState(Count(name), "user string, count long", "update", "none")
    writer = counts.writeStream.outputMode("update").foreachBatch(lambda frame, _: seen.extend(frame.collect()))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()


folder = Path(tempfile.mkdtemp())
run("n", folder, 1)
run("n", folder, 2)
run("visits", folder, 3)
first, again, renamed = (row["count"] for row in seen)
print("the count after one row and after two, kept as n:", first, "and", again)
print("the count after three rows, kept as visits from here on:", renamed)

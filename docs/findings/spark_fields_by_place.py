"""PySpark 4.3.0: two fields of one type that change places in the state of transformWithState exchange their values,
and a renamed field holds what the old one did: fields are read by their places, unless state is encoded as Avro.

Start with `python spark_fields_by_place.py`. Each version keeps how many rows a user had, and their sum.
"""

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor

os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
STORE = "spark.sql.streaming.stateStore"
spark.conf.set(f"{STORE}.providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
spark.conf.set("spark.sql.shuffle.partitions", "1")
spark.sparkContext.setLogLevel("OFF")


class Kept(StatefulProcessor):
    def __init__(self, schema):
        self.schema = schema

    def init(self, handle):
        self.kept = handle.getValueState("kept", self.schema)

    def handleInputRows(self, key, rows, timerValues):
        names = [field.split()[0] for field in self.schema.split(", ")]
        before = dict(zip(names, self.kept.get() or (None,) * len(names), strict=True))
        amounts = [row.amount for row in rows]
        more = {"count": len(amounts), "sum": sum(amounts), "total": sum(amounts)}
        self.kept.update(tuple((before[name] or 0) + more[name] for name in names))
        yield Row(found=str(before))

    def close(self):
        pass


def run(schema, folder, number):
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{number}.json").write_text('{"user": "a", "amount": 500}\n')
    rows = spark.readStream.schema("user string, amount long").json(str(folder / "in"))
    kept = rows.groupBy("user").transformWithState(Kept(schema), "found string", "update", "none")
    found = []
    writer = kept.writeStream.outputMode("update").foreachBatch(lambda frame, _: found.extend(frame.collect()))
    writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(
        availableNow=True
    ).start().awaitTermination()
    return found[0].found


for encoding in ("unsaferow", "avro"):
    spark.conf.set(f"{STORE}.encodingFormat", encoding)
    for words, later in (("fields exchanged", "sum long, count long"), ("a field renamed", "count long, total long")):
        folder = Path(tempfile.mkdtemp())
        run("count long, sum long", folder, 0)
        print(f"{encoding}, after one row of 500, {words}:", run(later, folder, 1))

"""PySpark 4.3.0, transformWithState on rows: what a processor is handed for keys that are doubles and structs.

Micro-batch 1 has the keys -0.0 and 0.0. Its row of 0.0 comes in the call of the key -0.0, and goes into that key's
state; the micro-batches before and after have one of the two keys alone, and find another state each. Two rows of the
key NaN in one micro-batch come in two calls. A struct is handed to ``handleInputRows`` as a dict, and to
``handleExpiredTimer`` as a Row.
"""

import os
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor

NAN = float("nan")
PAIR = pa.struct([("a", pa.int32()), ("b", pa.string())])
RUNS = {
    "double": (pa.float64(), [[("e1", 0.0)], [("e2", -0.0), ("e3", 0.0)], [("e4", 0.0)], [("e5", -0.0)]]),
    "Double": (pa.float64(), [[("e1", NAN), ("e2", NAN)]]),
    "struct<a:int,b:string>": (PAIR, [[("e1", {"a": 1, "b": "x"})]]),
}


class Had(StatefulProcessor):
    def init(self, handle):
        self.handle, self.had = handle, handle.getListState("had", "id string")

    def handleInputRows(self, key, rows, timerValues):
        rows = list(rows)
        for row in rows:
            self.had.appendValue((row.id,))
        self.handle.registerTimer(1)
        had = " ".join(found[0] for found in self.had.get())
        yield Row(seen=f"rows {[(row.id, row.key) for row in rows]} in the call of {key!r}; its state: {had}")

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield Row(seen=f"timer in the call of {key!r}")

    def close(self):
        pass


spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
store = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
spark.conf.set("spark.sql.streaming.stateStore.providerClass", store)
for kind, (arrow, batches) in RUNS.items():
    folder = tempfile.mkdtemp()
    os.mkdir(f"{folder}/in")
    for number, rows in enumerate(batches):
        columns = {"id": [id for id, _ in rows], "key": pa.array([key for _, key in rows], arrow)}
        times = pa.array([(number + 1) * 1_000_000] * len(rows), pa.timestamp("us", tz="UTC"))
        pq.write_table(pa.table({**columns, "time": times}), f"{folder}/in/{number}.parquet")
        os.utime(f"{folder}/in/{number}.parquet", (1_600_000_000 + number,) * 2)
    stream = spark.readStream.schema(f"id string, key {kind}, time timestamp").option("maxFilesPerTrigger", 1)
    keyed = stream.parquet(f"{folder}/in").withWatermark("time", "0 seconds").groupBy("key")
    query = (
        keyed.transformWithState(Had(), "seen string", "append", "EventTime")
        .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
        .foreachBatch(lambda frame, batch: [print(f"batch {batch}: {row.seen}") for row in frame.collect()])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
spark.stop()

"""Which state store Spark takes by default, and whether transformWithState runs on it."""

import json
import tempfile
from pathlib import Path

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from saying import ROCKSDB, micro_batches, outcome, says, spark_session

spark = spark_session()
frame = micro_batches(spark, [[("a", "x", 200)]])
checkpoint = tempfile.mkdtemp()
counting = frame.groupBy("key").count().writeStream.outputMode("update").format("memory").queryName("counts")
counting.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
used = {
    json.loads(line)["conf"]["spark.sql.streaming.stateStore.providerClass"].rpartition(".")[2]
    for file in Path(checkpoint, "offsets").glob("[0-9]*")
    for line in file.read_text().splitlines()
    if '"conf"' in line
}
seen = f"a query's own log names {', '.join(used)}"
says("spark-rocksdb-default", used == {"RocksDBStateStoreProvider"}, seen)
says("spark-hdfs-default", used == {"HDFSBackedStateStoreProvider"}, seen)


class Pass(StatefulProcessor):
    def init(self, handle):
        self.state = handle.getValueState("state", "value string")

    def handleInputRows(self, key, rows, timerValues):
        self.state.update(("x",))
        yield Row(what="x")


def run():
    passed = frame.groupBy("key").transformWithState(Pass(), "what string", "Append", "None")
    query = passed.writeStream.format("noop").option("checkpointLocation", tempfile.mkdtemp())
    query.trigger(availableNow=True).start().awaitTermination()
    return "ran"


default = outcome(run)
spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
rocks = outcome(run)
says(
    "spark-tws-needs-rocksdb",
    default != "ran" and rocks == "ran",
    f"with the default store: {default}; with RocksDB: {rocks}",
)

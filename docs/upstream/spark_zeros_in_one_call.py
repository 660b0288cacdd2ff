import tempfile

from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor


class Remember(StatefulProcessor):
    def init(self, handle):
        self.had = handle.getListState("had", "id string")

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            self.had.appendValue((row.id,))
        yield Row(key=key[0], had=" ".join(found[0] for found in self.had.get()))


spark = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
store = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
spark.conf.set("spark.sql.streaming.stateStore.providerClass", store)
folder = tempfile.mkdtemp()
for batch in ([("e1", 0.0)], [("e2", -0.0), ("e3", 0.0)], [("e4", 0.0)]):
    spark.createDataFrame(batch, "id string, key double").coalesce(1).write.mode("append").parquet(f"{folder}/in")
    spark.readStream.schema("id string, key double").parquet(f"{folder}/in").groupBy("key").transformWithState(
        Remember(), "key double, had string", "append", "None"
    ).writeStream.option("checkpointLocation", f"{folder}/checkpoint").foreachBatch(
        lambda frame, _: [print(row.key, "had", row.had) for row in frame.collect()]
    ).trigger(availableNow=True).start().awaitTermination()

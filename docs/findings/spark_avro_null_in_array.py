"""PySpark 4.3.0, transformWithState: a null in an array ends the query where state is encoded as Avro.

The processor writes [1, None] into a ValueState, once with each encoding of state. The driver's log has the JVM's
NullPointerException.
"""

import os
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor


class Write(StatefulProcessor):
    def init(self, handle):
        self.numbers = handle.getValueState("numbers", "numbers array<int>")

    def handleInputRows(self, key, rows, timerValues):
        self.numbers.update(([1, None],))
        yield Row(read=str(self.numbers.get()))


spark = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
store = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
spark.conf.set("spark.sql.streaming.stateStore.providerClass", store)
for encoding in ("unsaferow", "avro"):
    spark.conf.set("spark.sql.streaming.stateStore.encodingFormat", encoding)
    folder = tempfile.mkdtemp()
    spark.createDataFrame([("a",)], "key string").write.parquet(f"{folder}/in")
    stream = spark.readStream.schema("key string").parquet(f"{folder}/in").groupBy("key")
    query = (
        stream.transformWithState(Write(), "read string", "append", "None")
        .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
        .foreachBatch(lambda frame, batch, name=encoding: [print(f"{name}: {row.read}") for row in frame.collect()])
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except Exception as error:
        print(f"{encoding}: {[line for line in str(error).splitlines() if 'Error: ' in line][:1]}")
spark.stop()

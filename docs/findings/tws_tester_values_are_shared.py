"""PySpark 4.3.0: a value cell of TwsTester keeps, and gives out, the very object that was written.

The first row writes a list and changes the list afterwards. The second row reads the list and changes what it read,
without a write. In TwsTester the next row finds each change, in a later call as well. A query with transformWithState
finds the list as it was written.
"""

import json
import os
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.tws_tester import TwsTester


class ChangeList(StatefulProcessor):
    def init(self, handle):
        self.cell = handle.getValueState("cell", "items array<long>")

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            found = self.cell.get()
            yield Row(seen=f"row {row.number} finds {found and list(found[0])}")
            if found is None:
                written = [1]
                self.cell.update((written,))
                written.append(2)
            else:
                found[0].append(3)

    def close(self):
        pass


calls = [[1, 2], [3]]  # the rows of one key in each call

print("TwsTester")
tester = TwsTester(ChangeList())
for numbers in calls:
    for row in tester.test("key", [Row(number=number) for number in numbers]):
        print(row.seen)

print("transformWithState")
folder = tempfile.mkdtemp()
os.mkdir(f"{folder}/in")
for call, numbers in enumerate(calls):
    with open(f"{folder}/in/{call}.json", "w") as file:
        file.writelines(json.dumps({"key": "key", "number": number}) + "\n" for number in numbers)
    os.utime(f"{folder}/in/{call}.json", (1_600_000_000 + call,) * 2)
spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
spark.conf.set(
    "spark.sql.streaming.stateStore.providerClass",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
)
query = (
    spark.readStream.schema("key string, number long")
    .option("maxFilesPerTrigger", 1)
    .json(f"{folder}/in")
    .groupBy("key")
    .transformWithState(ChangeList(), "seen string", "update", "None")
    .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    .outputMode("update")
    .foreachBatch(lambda frame, batch: [print(row.seen) for row in frame.collect()])
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
spark.stop()

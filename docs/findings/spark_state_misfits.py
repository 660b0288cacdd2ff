"""PySpark 4.3.0: what TwsTester and transformWithState make of a value that does not fit the schema of its ValueState.

A row writes the value, and reads the cell at once. On TwsTester (argument: tester, which needs no JVM) each read gives
the value as it was written. With transformWithState the decimal that overflows ends the server of the state, and with
it the query: the calls that follow fail with BrokenPipeError, although the processor catches what the write raises.
"""

import datetime
import decimal
import json
import os
import sys
import tempfile

os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor

MISFITS = {
    "text into int": ("v int", ("seven",)),
    "digits into int": ("v int", ("7",)),
    "1.5 into int": ("v int", (1.5,)),
    "true into int": ("v int", (True,)),
    "2**40 into int": ("v int", (2**40,)),
    "2**31 into int": ("v int", (2**31,)),
    "2**63 into bigint": ("v bigint", (2**63,)),
    "7 into double": ("v double", (7,)),
    "1e300 into float": ("v float", (1e300,)),
    "12345678.000 into decimal(10,3)": ("v decimal(10,3)", (decimal.Decimal("12345678.000"),)),
    "1.23456 into decimal(10,3)": ("v decimal(10,3)", (decimal.Decimal("1.23456"),)),
    "1.5 into decimal(10,3)": ("v decimal(10,3)", (1.5,)),
    "7 into string": ("v string", (7,)),
    "bytes into string": ("v string", (b"abc",)),
    "text into binary": ("v binary", ("abc",)),
    "time into date": ("v date", (datetime.datetime(2026, 3, 29, 1, 30),)),
    "text into date": ("v date", ("2026-03-29",)),
    "date into timestamp": ("v timestamp", (datetime.date(2026, 3, 29),)),
    "text into array": ("v array<int>", ("abc",)),
    "text in an array<int>": ("v array<int>", ([1, "two"],)),
    "text in a map<string,bigint>": ("v map<string,bigint>", ({"a": "one"},)),
    "three values for two columns": ("a int, b string", (1, "x", 2)),
    "one value for two columns": ("a int, b string", (1,)),
}


class Write(StatefulProcessor):
    def init(self, handle):
        self.cells = {name: handle.getValueState(f"c{n}", MISFITS[name][0]) for n, name in enumerate(MISFITS)}

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            cell = self.cells[row.name]
            try:
                cell.update(MISFITS[row.name][1])
                yield Row(seen=f"{row.name}: reads {cell.get()}")
            except Exception as error:
                yield Row(seen=f"{row.name}: refused, {type(error).__name__}: {' '.join(str(error).split())[:90]}")

    def close(self):
        pass


if sys.argv[1:] == ["tester"]:
    from pyspark.sql.streaming.tws_tester import TwsTester

    for answer in TwsTester(Write()).test("key", [Row(name=name) for name in MISFITS]):
        print(answer.seen)
else:
    folder = tempfile.mkdtemp()
    os.mkdir(f"{folder}/in")
    with open(f"{folder}/in/0.json", "w") as file:
        file.writelines(json.dumps({"key": "key", "name": name}) + "\n" for name in MISFITS)
    spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    store = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", store)
    rows = spark.readStream.schema("key string, name string").json(f"{folder}/in").groupBy("key")
    query = (
        rows.transformWithState(Write(), "seen string", "update", "None")
        .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
        .outputMode("update")
        .foreachBatch(lambda frame, batch: [print(row.seen) for row in frame.collect()])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()

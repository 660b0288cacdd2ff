"""How often transformWithState calls handleInputRows for a key in a micro-batch, and with how many of its rows.

On rows and in pandas; the rows of a key fit into one batch of Arrow's, or do not (three rows a batch, instead of
10,000).
"""

import pandas as pd
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from saying import ROCKSDB, collected, micro_batches, says, spark_session


class CountRows(StatefulProcessor):
    def init(self, handle):
        pass

    def handleInputRows(self, key, rows, timerValues):
        yield Row(key=key[0], rows=sum(1 for _ in rows))


class CountInPandas(CountRows):
    def handleInputRows(self, key, rows, timerValues):
        yield pd.DataFrame({"key": [key[0]], "rows": [sum(len(frame) for frame in rows)]})


spark = spark_session(**{"spark.sql.streaming.stateStore.providerClass": ROCKSDB})
# Key b has rows in the first micro-batch alone.
batches = [[("a", "x", 200)] * 8 + [("b", "x", 200)] * 2, [("a", "x", 201)] * 4]
wanted = [[["a", 8], ["b", 2]], [["a", 4]]]
seen = {}
for size in (10_000, 3):
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", size)
    groups = micro_batches(spark, batches).groupBy("key")
    on_rows = groups.transformWithState(CountRows(), "key string, rows long", "Append", "None")
    in_pandas = groups.transformWithStateInPandas(CountInPandas(), "key string, rows long", "Append", "None")
    for name, frame in {"on rows": on_rows, "in pandas": in_pandas}.items():
        seen[f"{name}, {size} rows an Arrow batch"] = [sorted(rows) for rows in collected(frame).values()][:2]

calls = (
    f"calls (key, rows) of each micro-batch, {', '.join(seen)}: {' and '.join({str(found) for found in seen.values()})}"
)
says("spark-one-call-per-key", all(found == wanted for found in seen.values()), calls)
says("spark-iterator-has-all-rows", all(found == wanted for found in seen.values()), calls)
second = {key for found in seen.values() for key, _ in found[1]}
says(
    "spark-only-keys-with-records",
    second == {"a"},
    f"in the micro-batch without rows of b, calls were for {sorted(second)}",
)

"""PySpark 4.3.0: in a micro-batch, now() is not current_timestamp(), and a micro-batch that is run again has another
now().

Start with `python spark_now_is_another_time.py`. The sink fails once, and the query is started again after two seconds.
"""

import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
folder = Path(tempfile.mkdtemp())
(folder / "in").mkdir()
(folder / "in" / "row.json").write_text('{"id": 1}\n')
seen = []


def sink(frame, batch):
    seen.append(frame.collect()[0])
    if len(seen) == 1:
        raise RuntimeError("the sink fails once")


rows = spark.readStream.schema("id long").json(str(folder / "in"))
times = rows.select(F.current_timestamp().alias("current"), F.expr("now()").alias("now"))
writer = times.writeStream.foreachBatch(sink).option("checkpointLocation", str(folder / "checkpoint"))
for _ in range(2):
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except Exception:
        time.sleep(2)
first, again = seen
print("current_timestamp() is the same when the micro-batch is run again:", first.current == again.current)
print("now() is the same when the micro-batch is run again:", first.now == again.now)
print("now() is current_timestamp() the first time:", first.now == first.current)
print("now() is more than a second later the second time:", (again.now - first.now).total_seconds() > 1)

"""PySpark 4.3.0: a left outer join whose condition asks that a number of the left side is above another one never puts
an unmatched row out, and keeps its state for ever. Without that, where the number is below another one, and where a
column says whether it is above, the row comes out once the watermark has passed its time.

Start with `python spark_outer_join_and_a_number.py`.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

os.environ["PYSPARK_PYTHON"] = sys.executable
settings = {"spark.ui.enabled": False, "spark.sql.shuffle.partitions": 1, "spark.sql.session.timeZone": "UTC"}
spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
spark.sparkContext.setLogLevel("OFF")

DAY = 86_400
ROWS = {"orders": [("k", 66, 100), ("end", 66, DAY)], "ships": [("end", 1, DAY)]}
"""Of each side, in one micro-batch: key, number, and event time in seconds."""

ON = "o.key = s.key AND s.time >= o.time AND s.time <= o.time + INTERVAL 5 MINUTES"


def run(on):
    with tempfile.TemporaryDirectory() as folder:
        sides = []
        for side, rows in ROWS.items():
            Path(folder, side).mkdir()
            lines = (json.dumps({"key": key, "number": number, "s": s}) for key, number, s in rows)
            Path(folder, side, "0.json").write_text("\n".join(lines))
            stream = spark.readStream.schema("key string, number int, s long").json(f"{folder}/{side}")
            timed = stream.withColumn("time", F.timestamp_seconds("s")).withWatermark("time", "0 seconds")
            sides.append(timed.withColumn("positive", F.expr("number > 0")))
        joined = sides[0].alias("o").join(sides[1].alias("s"), F.expr(on), "leftOuter").select("o.key", "s.number")
        found = []
        writer = joined.writeStream.foreachBatch(lambda frame, _: found.extend(map(tuple, frame.collect())))
        query = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
        query.awaitTermination()
        return found, query.lastProgress["stateOperators"][0]["numRowsTotal"]


for more in ("", " AND o.number > 0", " AND o.number < 1000", " AND o.positive"):
    found, kept = run(ON + more)
    print(f"with a time bound{more}: {found}, rows of state: {kept}")

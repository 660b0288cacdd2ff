"""What the probes share: how one says what it saw, and the micro-batches of the Spark ones.

A probe is a script outside the harness. It prints a line for each claim that it decides, which record.py collects.
"""

import json
import os
import re
import sys
import tempfile

SEEN = []
"""What a DoFn saw. Here, because Beam gives functions of __main__ copies of what they refer to."""

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def says(claim, confirmed, seen):
    """Print what was seen of a claim, in one line: a sentence, or name -> what was seen there."""
    if isinstance(seen, dict):
        seen = "; ".join(f"{name}: {found}" for name, found in seen.items())
    print(f"claim {claim}: {'confirmed' if confirmed else 'contradicted'}: {' '.join(str(seen).split())}", flush=True)


def outcome(run):
    """What came out of a call, or the exception that it ended with, in its innermost words and 200 characters."""
    try:
        return str(run())
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        causes = re.findall(r"(?:[A-Z]\w*(?:Error|Exception): |Reason: )[^\n]+", text)
        cause = " ".join((causes[-1] if causes else text).split()).rpartition("terminated with exception: ")[2]
        return re.sub(r" object at 0x[0-9a-f]+", "", cause)[:200]


def spark_session(**config):
    """A session with one shuffle partition and without the noise."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    for name, value in {"spark.sql.shuffle.partitions": 1, "spark.ui.showConsoleProgress": False, **config}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def micro_batches(spark, batches, delay=100):
    """A stream of rows (key, what, seconds), a micro-batch for each list, with a watermark ``delay`` seconds behind."""
    folder = tempfile.mkdtemp()
    for number, rows in enumerate(batches):
        with open(f"{folder}/{number}.json", "w") as file:
            file.writelines(json.dumps({"key": k, "what": w, "seconds": s}) + "\n" for k, w, s in rows)
        os.utime(f"{folder}/{number}.json", (1_600_000_000 + number,) * 2)
    source = spark.readStream.schema("key string, what string, seconds double").option("maxFilesPerTrigger", 1)
    rows = source.json(folder).selectExpr("key", "what", "timestamp_millis(cast(seconds * 1000 as long)) as time")
    return rows.withWatermark("time", f"{delay} seconds")


def collected(frame, mode="append"):
    """The rows that come out of each micro-batch, as lists of values."""
    out = {}

    def keep(rows, batch):
        out[batch] = [list(row) for row in rows.collect()]

    query = (
        frame.writeStream.option("checkpointLocation", tempfile.mkdtemp())
        .foreachBatch(keep)
        .outputMode(mode)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return out

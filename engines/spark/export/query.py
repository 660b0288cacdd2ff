"""What an exported query has around its operator: the session, the source, the sink, and the steps of a schedule."""

from __future__ import annotations

from conformance.model.export import Exportable

DELAY = "86400000"
"""The watermark's delay (ms) where the operator does not read it: no row but those that move the watermark lies so far
ahead."""

ROCKSDB = '"org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"'
HDFS = '"org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"'

IMPORTS = (
    "import os",
    "import sys",
    "from pyspark.sql import SparkSession",
    "from pyspark.sql import functions as F",
)
STREAM_IMPORTS = (*IMPORTS, "import tempfile", "from pathlib import Path")

SESSION = """
def session():
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    store = {store}
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.streaming.stateStore.providerClass", store)
        .config("spark.ui.enabled", False)
        .getOrCreate()
    )

"""

RUN = '''
DELAY = {delay}


def run():
    """The rows that come out, in order. Each file is a micro-batch. A row DELAY ahead moves the watermark, and no
    other."""
    spark = session()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "in").mkdir()
        rows = spark.readStream.schema("id string, key string, value string, ms long").json(f"{folder}/in")
        rows = rows.withColumn("event_time", F.timestamp_millis("ms"))
        rows = rows.withWatermark("event_time", f"{DELAY} milliseconds")
        out = {out}

        def keep(batch, id):
            found.extend({row} for row in batch.collect(){shown})

        sink = out.writeStream{mode}.foreachBatch(keep).option("checkpointLocation", f"{folder}/checkpoint")
        query = sink.start()
        for number, (kind, given) in enumerate(STEPS):
            if kind == "restart":
                query.stop()
                query = sink.start()
                continue
            # The second micro-batch of a watermark sees what the first one has set.
            for part, rows in enumerate([[("", "", None, given + DELAY)]] * 2 if kind == "watermark" else [given]):
                lines = [
                    json.dumps(dict(id=id, key=key, value=json.dumps(value), ms=time)) for id, key, value, time in rows
                ]
                Path(folder, "next").write_text("\\n".join(lines), encoding="utf-8")
                Path(folder, "next").rename(Path(folder, "in", f"{number}-{part}.json"))
                query.processAllAvailable()
        query.stop()
    return found
'''

BATCH_RUN = '''
def run():
    """The rows that a batch query puts out, on all rows of the schedule."""
    spark = session()
    given = [(id, key, json.dumps(value), ms) for kind, rows in STEPS if kind == "rows" for id, key, value, ms in rows]
    rows = spark.createDataFrame(given, "id string, key string, value string, ms long").coalesce(1)
    rows = rows.withColumn("event_time", F.timestamp_millis("ms")).withWatermark("event_time", "1 day")
    out = {out}
    return [{row} for row in out.collect()]
'''


def needs(asked: Exportable) -> str:
    """What to install for an export, for pip."""
    return f"pyspark=={asked.versions.get('spark', '')}".rstrip("=")


def batch(out: str, row: str) -> str:
    """The source of ``run()`` for the query ``out`` as a batch query. ``row`` gives what is shown of a row."""
    return BATCH_RUN.replace("{out}", out).replace("{row}", row)


def stream(
    out: str, parts: str, *, by_step: bool, mode: str = "append", delay: str = DELAY, only_with_key: bool = False
) -> str:
    """The source of ``run()`` for the query ``out`` as a stream. ``parts`` gives what is shown of a row, as the parts
    of a list; ``only_with_key`` leaves out rows of the empty key, which those that move the watermark have."""
    values = {
        "out": out,
        "row": f"[number, {parts}]" if by_step else f"[{parts}]",
        "shown": ' if row["key"]' * only_with_key,
        "mode": f'.outputMode("{mode}")' * (mode != "append"),
        "delay": delay,
    }
    text = RUN
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text

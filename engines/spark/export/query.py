"""What an exported query has around its operator: the session, the source, the sink, and the steps of a schedule."""

from conformance.engines import exporting
from conformance.model.export import Difference, Exportable
from conformance.model.schedule import Restart

DELAY = "86_400_000"
"""The watermark's delay (ms) where the operator does not read it: no row but those that move the watermark lies so far
ahead."""

ROCKSDB = '"org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"'
HDFS = '"org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"'

IMPORTS = (
    "import os",
    "import sys",
    "import tempfile",
    "from pathlib import Path",
    "from pyspark.sql import SparkSession",
    "from pyspark.sql import functions as F",
)

RUN = """
STORE, DELAY = {store}, {delay}  # ms

def run():
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2)
    spark, found = builder.config("spark.sql.streaming.stateStore.providerClass", STORE).getOrCreate(), []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "in").mkdir()
        rows = spark.readStream.schema("id string, key string, value string, ms long").json(f"{folder}/in")
        rows = rows.withColumn("event_time", F.timestamp_millis("ms")).\
withWatermark("event_time", f"{DELAY} milliseconds")
        out = {out}
        keep = lambda batch, _: found.extend({row} for row in batch.collect(){shown})
        {sink} = out.writeStream{mode}.foreachBatch(keep).option("checkpointLocation", f"{folder}/checkpoint"){start}
        for number, (kind, given) in enumerate(STEPS):{restart}
            # Each file is a micro-batch. A row DELAY ahead moves the watermark, which the next micro-batch sees.
            for part, rows in enumerate([[("", "", None, given + DELAY)]] * 2 if kind == "watermark" else [given]):
                rows = [dict(id=id, key=key, value=json.dumps(value), ms=ms) for id, key, value, ms in rows]
                Path(folder, "next").write_text("\\n".join(map(json.dumps, rows)), encoding="utf-8")
                Path(folder, "next").rename(Path(folder, "in", f"{number}-{part}.json"))
                query.processAllAvailable()
        query.stop()
    return found
"""

RESTART = """
            if kind == "restart":
                query.stop()
                query = sink.start()
                continue"""

BATCH_RUN = """
STORE = {store}

def run():
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2)
    spark = builder.config("spark.sql.streaming.stateStore.providerClass", STORE).getOrCreate()
    given = [(id, key, json.dumps(value), ms) for kind, rows in STEPS if kind == "rows" for id, key, value, ms in rows]
    rows = spark.createDataFrame(given, "id string, key string, value string, ms long").coalesce(1)
    rows = rows.withColumn("event_time", F.timestamp_millis("ms")).withWatermark("event_time", "1 day")
    out = {out}
    return [{row} for row in out.collect()]
"""


def needs(asked: Exportable) -> str:
    """What to install for an export, for pip."""
    return f"pyspark=={asked.versions.get('spark', '')}".rstrip("=")


def batch(out: str, row: str, store: str) -> str:
    """The source of ``run()`` for the query ``out`` as a batch query. ``row`` gives what is shown of a row."""
    return exporting.put_in(BATCH_RUN, {"{store}": store, "{out}": out, "{row}": row})


def stream(
    asked: Exportable,
    out: str,
    parts: str,
    store: str,
    *,
    mode: str = "append",
    delay: str = DELAY,
    native: bool = False,
) -> str:
    """The source of ``run()`` for the query ``out`` as a stream. ``parts`` gives what is shown of a row, as the parts
    of a list; rows of the empty key, which move the watermark, come out of ``native`` operators alone."""
    by_step = asked.difference is Difference.STEPS
    restarts = any(isinstance(step, Restart) for step in asked.case.schedule.steps)
    words = {
        "{store}": store,
        "{delay}": delay,
        "{out}": out,
        "{row}": f"[number, {parts}]" if by_step else f"[{parts}]",
        "{shown}": ' if row["key"]' * native,
        "{mode}": f'.outputMode("{mode}")' * (mode != "append"),
        "{restart}": RESTART * restarts,
        "{sink}": "sink" if restarts else "query",
        "{start}": "\n        query = sink.start()" if restarts else ".start()",
    }
    return exporting.put_in(RUN, words)

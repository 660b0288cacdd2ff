"""PySpark 4.3.0: with format 2 of checkpoints, a query that writes files cannot go on if it was killed between its sink
and its commit log.

Start with `python spark_file_sink_and_format_2.py`. A kill at that instant leaves everything of the micro-batch but its
entry in the commit log, so that entry is taken away.
"""

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

STORE = "spark.sql.streaming.stateStore"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "1")
spark.conf.set(f"{STORE}.providerClass", ROCKSDB)
spark.conf.set(f"{STORE}.rocksdb.changelogCheckpointing.enabled", "true")
spark.sparkContext.setLogLevel("OFF")


def run(folder, batch):
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{batch}.json").write_text(f'{{"user": "u{batch}"}}\n')
    rows = spark.readStream.schema("user string").json(str(folder / "in")).dropDuplicates(["user"])
    writer = rows.writeStream.format("parquet").option("path", str(folder / "out"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()


for version in (1, 2):
    spark.conf.set(f"{STORE}.checkpointFormatVersion", str(version))
    folder = Path(tempfile.mkdtemp())
    run(folder, 0)
    run(folder, 1)
    for name in ("1", ".1.crc"):
        (folder / "checkpoint" / "commits" / name).unlink()
    for _ in range(2):
        try:
            run(folder, 2)
            print(f"format {version}:", sorted(row.user for row in spark.read.parquet(str(folder / "out")).collect()))
        except Exception as error:
            print(f"format {version}:", str(error).splitlines()[0].partition("exception: ")[2])

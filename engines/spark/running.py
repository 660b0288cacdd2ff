"""Running a query over its input: output rows and reports by micro-batch."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from engines.spark import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_query(
    output: DataFrame,
    checkpoint: Path,
    mode: str,
    waits: Mapping[int, int],
    before: Callable[[DataFrame], DataFrame] = lambda frame: frame,
    feed: Callable[[int], None] | None = None,
) -> tuple[dict[int, list[Any]], list[dict[str, Any]], Exception | None]:
    """Run a query in the output mode ``mode``, from its checkpoint where there is one, over all input that it has not seen;
    (batch id -> output rows in order, progress by batch, what it failed with). ``waits`` are ms by batch id, waited at its end.
    ``before`` is done to a batch before its rows are collected. ``feed``, if given, is called with the id of a batch that has ended: it
    writes the input of the next one.

    Rows of a batch that is run again replace those of its first run.
    """
    rows: dict[int, list[Any]] = {}
    out = str(checkpoint.parent / f"output-{uuid.uuid4().hex}")

    arrow = hasattr(output, "toArrow")

    def collect(frame: DataFrame, batch: int) -> None:
        frame = before(frame)
        # 3.5.9 has no toArrow, which is faster.
        rows[batch] = frame.toArrow().to_pylist() if arrow else [row.asDict() for row in frame.collect()]
        if frame.is_cached:
            frame.unpersist()
        time.sleep(waits.get(batch, 0) / 1000)
        if feed:
            feed(batch)

    def write(frame: DataFrame, batch: int) -> None:
        frame.write.mode("overwrite").parquet(f"{out}/{batch}")
        time.sleep(waits.get(batch, 0) / 1000)

    # Through Spark Connect this function runs in the server, and what it collects stays there (Spark 4.3.0).
    sink = output.writeStream.outputMode(mode).option("checkpointLocation", str(checkpoint))
    sink = sink.foreachBatch(write if session.remote() else collect)
    query = (sink.trigger(processingTime="0 seconds") if feed else sink.trigger(availableNow=True)).start()
    failure = None
    try:
        if feed:
            query.processAllAvailable()
        else:
            query.awaitTermination()
    except Exception as error:
        failure = error
    finally:
        query.stop()
    for batch in Path(out).glob("*"):
        files = sorted(batch.glob("*.parquet"))  # by partition
        rows[int(batch.name)] = [row for file in files for row in pq.read_table(file).to_pylist()]
    return rows, reports(query), failure


def reports(query: Any) -> list[dict[str, Any]]:
    """The progress of a query, a report for each micro-batch that ran."""
    # A report is a dict already on 3.5.9.
    progress = [
        p if isinstance(p, dict) and not hasattr(p, "json") else json.loads(p.json) for p in query.recentProgress
    ]
    # A query that finds nothing to do reports the micro-batch that it did not run (Spark 4.3.0): between two restarts, for example.
    return [p for p in progress if "addBatch" in p["durationMs"]]

"""Running a query over its input: output rows and reports by micro-batch."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.engines.failing import INJECTED
from conformance.engines.spark.runtime import session
from conformance.model.engine import NotDriven

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILES = "written"
"""The folder, beside a checkpoint, of what the file sink writes."""

LOG = "_spark_metadata"
"""Its log: a file for each micro-batch, which names what was written in it."""

PARQUET, MEMORY = "parquet", "memory"
"""Spark's own sinks."""


Take = Callable[["DataFrame", int], list[Any]]
"""What takes a micro-batch, by its id, and gives its rows."""


def taken(frame: DataFrame, batch: int) -> list[Any]:
    """The rows of a micro-batch in order."""
    return collected(frame)


class Sink(NamedTuple):
    """Where rows go. ``before`` is done to a batch before it is taken; ``takes`` gives its rows. ``to``, if given, is a
    sink of Spark's own, PARQUET or MEMORY; then nothing is waited for. Behind the batch ``fails``, if there is one,
    ``foreachBatch`` fails once it has the rows; ``showing``, behind the first one from there on that has any. Behind
    ``most`` micro-batches, if given, the query is ended: one with timers by processing time asks for another
    micro-batch for ever. A query that ``goes_on`` does not end with its input, and is stopped."""

    before: Callable[[DataFrame], DataFrame] = lambda frame: frame
    takes: Take = taken
    to: str = ""
    fails: int = -1
    showing: bool = False
    most: int = 0
    goes_on: bool = False


SINK = Sink()

ENOUGH = "there were enough micro-batches"


def run_query(
    output: DataFrame,
    checkpoint: Path,
    mode: str,
    waits: Mapping[int, int],
    sink: Sink = SINK,
    feed: Callable[[int], None] | None = None,
) -> tuple[dict[int, list[Any]], list[dict[str, Any]], Exception | None]:
    """Run a query in the output mode ``mode``, from its checkpoint where there is one, over all input that it has not
    seen; (batch id -> output rows in order, progress by batch, what it failed with). ``waits`` are ms by batch id,
    waited at its end. ``feed``, if given, is called with the id of a batch that has ended: it writes the input of the
    next one.

    Rows of a batch that is run again replace those of its first run.
    """
    rows: dict[int, list[Any]] = {}
    out = str(checkpoint.parent / f"output-{uuid.uuid4().hex}")

    begun: list[int] = []

    def fail(batch: int, shows: bool) -> None:
        begun.append(batch)
        if (batch >= sink.fails >= 0 and shows) if sink.showing else batch == sink.fails:
            raise RuntimeError(INJECTED)
        if sink.most and len(begun) > sink.most:
            raise RuntimeError(ENOUGH)

    def collect(frame: DataFrame, batch: int) -> None:
        frame = sink.before(frame)
        rows[batch] = sink.takes(frame, batch)
        if frame.is_cached:
            frame.unpersist()
        fail(batch, bool(rows[batch]))
        time.sleep(waits.get(batch, 0) / 1000)
        if feed:
            feed(batch)

    def write(frame: DataFrame, batch: int) -> None:
        frame.write.mode("overwrite").parquet(f"{out}/{batch}")
        fail(batch, True)
        time.sleep(waits.get(batch, 0) / 1000)

    # Through Spark Connect this function runs in the server, and what it collects stays there (Spark 4.3.0).
    writer = output.writeStream.outputMode(mode).option("checkpointLocation", str(checkpoint))
    table = f"output_{uuid.uuid4().hex}"
    if sink.to:
        writer = writer.format(sink.to).queryName(table).option("path", str(checkpoint.parent / FILES))
    else:
        writer = writer.foreachBatch(write if session.remote() else collect)
    goes_on = sink.goes_on or feed is not None
    query = (writer.trigger(processingTime="0 seconds") if goes_on else writer.trigger(availableNow=True)).start()
    failure = None
    try:
        if goes_on:
            query.processAllAvailable()
        else:
            query.awaitTermination()
    except Exception as error:
        failure = None if ENOUGH in str(error) else error
    finally:
        query.stop()
    if sink.to == PARQUET:
        rows = written(checkpoint.parent / FILES)
    elif sink.to == MEMORY:
        kept = output.sparkSession.table(table)
        rows = in_memory(collected(kept), reports(query))
    for batch in Path(out).glob("*"):
        files = sorted(batch.glob("*.parquet"))  # by partition
        rows[int(batch.name)] = [row for file in files for row in as_rows(pq.read_table(file))]
    return rows, reports(query), failure


def collected(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows of a DataFrame in order."""
    # 3.5.9 has no toArrow, which is faster.
    return as_rows(frame.toArrow()) if hasattr(frame, "toArrow") else [row.asDict() for row in frame.collect()]


def as_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table of Arrow, maps as dicts, as a Row has them."""
    return table.to_pylist(maps_as_pydicts="lossy")


def written(folder: Path) -> dict[int, list[Any]]:
    """Batch id -> the output rows that the file sink wrote into a folder, by its log: a line a file. Some batches have
    the lines of all batches before them, too."""
    rows: dict[int, list[Any]] = {}
    known = set[str]()
    logs = (log for log in (folder / LOG).glob("*") if log.name.split(".")[0].isdigit())
    for log in sorted(logs, key=lambda log: int(log.name.split(".")[0])):
        files = [json.loads(line)["path"] for line in log.read_text(encoding="utf-8").splitlines()[1:]]
        new = [Path(urlsplit(file).path) for file in files if file not in known]
        known |= {*files}
        rows[int(log.name.split(".")[0])] = [row for file in sorted(new) for row in as_rows(pq.read_table(file))]
    return rows


def in_memory(rows: list[Any], progress: Sequence[Mapping[str, Any]]) -> dict[int, list[Any]]:
    """Batch id -> the output rows that the memory sink took, which has the rows of all batches in a row. The progress
    of the query says how many each batch wrote.

    Raises:
        NotDriven: the sink has another number of rows.
    """
    left = iter(rows)
    found = {p["batchId"]: list(islice(left, p["sink"]["numOutputRows"])) for p in progress}
    if sum(map(len, found.values())) != len(rows) or any(
        len(found[p["batchId"]]) != p["sink"]["numOutputRows"] for p in progress
    ):
        raise NotDriven(f"the memory sink has {len(rows)} rows, which is not what the query says that it wrote")
    return found


def reports(query: Any) -> list[dict[str, Any]]:
    """The progress of a query, a report for each micro-batch that ran."""
    # A report is a dict already on 3.5.9.
    progress = [
        p if isinstance(p, dict) and not hasattr(p, "json") else json.loads(p.json) for p in query.recentProgress
    ]
    # A query that finds nothing to do reports the micro-batch that it did not run (Spark 4.3.0): between two restarts,
    # for example.
    return [p for p in progress if "addBatch" in p["durationMs"]]

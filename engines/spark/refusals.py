"""Queries that Spark's documents say are refused, or that a release refuses and another one does not. Each is asked for with the
smallest query, in a session of its own; the answer is the condition of Spark's own error, not its text."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines import answering
from engines.spark import driving, running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


BETWEEN = 2
"""How many seconds pass between two runs of a query. A rate source gives rows for each whole second."""

PATIENCE = 60
"""How many seconds a query may take. One that does not end is refused, too."""


@dataclass(frozen=True)
class Refusal:
    """A query that may be refused: in words, as a function from a stream, and in an output mode. ``each`` is called with each
    micro-batch. A query that ``runs`` several times, one run after the other on one checkpoint, tells how many
    micro-batches the last run had."""

    words: str
    query: Callable[[DataFrame], DataFrame]
    mode: str = "append"
    settings: Mapping[str, str] | None = None
    each: Callable[[DataFrame, int], None] | None = None
    runs: int = 1


def _late(stream: DataFrame) -> DataFrame:
    return stream.withWatermark("event_time", "1 second")


def _inner(stream: DataFrame) -> DataFrame:
    return stream.alias("one").join(stream.alias("two"), "key").select("key", "one.id")


def _outer(stream: DataFrame) -> DataFrame:
    return stream.join(stream.withColumnRenamed("id", "other").select("key", "other"), "key", "left_outer")


def _nested(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return stream.select(f.struct("event_time").alias("row")).withWatermark("row.event_time", "1 second")


def _session(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return _late(stream).groupBy(f.session_window("event_time", "5 seconds"), "key").count()


def _counts(stream: DataFrame) -> DataFrame:
    return stream.groupBy("key").count()


def _rate(stream: DataFrame) -> DataFrame:
    rows = stream.sparkSession.readStream.format("rate").load()
    return rows.withWatermark("timestamp", "1 second").dropDuplicates(["timestamp", "value"])


def _unread(frame: DataFrame, batch: int) -> None:
    """A function of ``foreachBatch`` that reads no row."""


def _processed(time_mode: str, times: bool = False) -> Callable[[DataFrame], DataFrame]:
    def query(stream: DataFrame) -> DataFrame:
        from engines.spark.refused_processor import SetsATimer

        return stream.groupBy("key").transformWithState(SetsATimer(times), "key string", "Append", time_mode)

    return query


def _array_in_state(stream: DataFrame) -> DataFrame:
    from engines.spark.frames import keeps_an_array

    return stream.groupBy("key").applyInPandasWithState(
        keeps_an_array, "key string", "v array<int>", "append", "NoTimeout"
    )


def _array_in_value_state(stream: DataFrame) -> DataFrame:
    from engines.spark.refused_processor import KeepsAnArray

    grouped = stream.groupBy("key")
    return grouped.transformWithStateInPandas(KeepsAnArray(), "key string", "Append", "None")


REFUSALS: Mapping[str, Refusal] = {
    "inner-join-update": Refusal("an inner join of two streams, in update mode", _inner, "update"),
    "inner-join-complete": Refusal("an inner join of two streams, in complete mode", _inner, "complete"),
    "outer-join-no-watermark": Refusal("a left outer join of two streams without a watermark", _outer),
    "count-append": Refusal("groupBy().count() without a watermark, in append mode", _counts),
    "sink-unread": Refusal(
        "foreachBatch that reads no row of groupBy().count(), in update mode", _counts, "update", each=_unread
    ),
    "duplicates-no-watermark": Refusal(
        "dropDuplicatesWithinWatermark() without a watermark", lambda s: s.dropDuplicatesWithinWatermark(["key"])
    ),
    "duplicates-complete": Refusal(
        "dropDuplicates() in complete mode", lambda s: s.dropDuplicates(["key"]).select("key"), "complete"
    ),
    "rate-available-now": Refusal(
        "dropDuplicates() of a rate source, which has no support for availableNow, under availableNow", _rate, runs=2
    ),
    "watermark-nested": Refusal("withWatermark() on a field of a struct", _nested),
    "session-window-update": Refusal("session_window() in update mode", _session, "update"),
    "event-time-no-watermark": Refusal("transformWithState by event time without a watermark", _processed("EventTime")),
    "array-in-state": Refusal("an array in the state of applyInPandasWithState", _array_in_state),
    "array-in-value-state": Refusal(
        "an array in a ValueState of transformWithStateInPandas, written and read", _array_in_value_state
    ),
    "timer-without-time": Refusal("a timer in transformWithState without a time mode", _processed("None", times=True)),
    "state-in-hdfs-store": Refusal(
        "transformWithState in the HDFS-backed store",
        _processed("None"),
        settings={
            "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
            "HDFSBackedStateStoreProvider"
        },
    ),
}
"""By name."""


def answers(names: Iterable[str], session: Callable[[Mapping[str, str]], SparkSession]) -> dict[str, str]:
    """What Spark says to these queries. ``session`` gives a session with some settings."""

    def ask(name: str) -> str | None:
        refusal = REFUSALS[name]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            spark = session(refusal.settings or {})
            batches = [_run(refusal, spark, Path(folder), number) for number in range(refusal.runs)]
        return f"micro-batches in run {refusal.runs}: {batches[-1]}" if refusal.runs > 1 else None

    return answering.answers(names, ask, condition)


def _run(refusal: Refusal, spark: SparkSession, folder: Path, number: int) -> int:
    """The number of micro-batches of one of the runs of a query."""
    time.sleep(BETWEEN if number else 0)
    driving.write_rows(folder / "input" / "0.parquet", [("", "", "a", 0, 0, "e1", "null", 1_000)])
    stream = spark.readStream.schema(driving.DDL).parquet(str(folder / "input"))
    output = refusal.query(stream)
    sink = output.writeStream.outputMode(refusal.mode).trigger(availableNow=True)
    sink = sink.foreachBatch(refusal.each) if refusal.each else sink.format("noop")
    query = sink.option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        if not query.awaitTermination(PATIENCE):
            raise TimeoutError(f"the query did not end within {PATIENCE} s")
        return len(running.reports(query))
    finally:
        query.stop()


def innermost(error: Exception) -> str:
    """What an error says, without the ids of its query and of objects, which are others in each run."""
    return re.sub(r"\bo\d+\.", "", str(error).rpartition("terminated with exception: ")[2])


def condition(error: Any) -> str:
    """The condition of Spark's error where it names one, else the class of the innermost error."""
    text = str(error)
    named = re.findall(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]", text)
    own = [name for name in named if name not in ("STREAM_FAILED", "PYTHON_EXCEPTION")]
    if own:
        return own[-1]
    for ask in ("getCondition", "getErrorClass"):
        if hasattr(error, ask) and (found := getattr(error, ask)()) and found != "STREAM_FAILED":
            return str(found)
    classes = re.findall(r"\b(\w+(?:Error|Exception))\b", text)
    return classes[-1] if classes else type(error).__name__

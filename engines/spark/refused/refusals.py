"""Queries that Spark's documents say are refused, or that a release refuses and another one does not. Each is asked for
with the smallest query, in a session of its own; the answer is the condition of Spark's own error and its SQLSTATE, not
its text."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines import answering
from conformance.engines.spark.driving import micro_batches
from conformance.engines.spark.plans.settings import ROCKSDB, STORE
from conformance.engines.spark.refused import queries as ask
from conformance.engines.spark.refused.ended import kind
from conformance.engines.spark.runtime import running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamReader, DataStreamWriter


CHECKPOINT = "checkpoint"

PATIENCE = 60
"""How many seconds a query may take. One that does not end is refused, too."""


Reports = Sequence[Mapping[str, Any]]
"""What an engine reports of a run, by micro-batch."""


@dataclass(frozen=True)
class Refusal:
    """A query that may be refused: in words, as a function from a stream, and in an output mode.

    Attributes:
        each: is called with each micro-batch.
        again: a query that goes on from the checkpoint of the first one, on new rows.
        back: whether the first query then goes on behind that one.
        apart: how many seconds pass between two runs. A rate source gives rows for each whole second.
        tells: what the answer tells beside a refusal, made of the reports of each run.
        source: options of the source that the stream reads, or what else is done to its reader.
        sink: where the rows go, given a folder, in the place of a sink that drops them.
        lost: what is deleted from the checkpoint before the query goes on.
        then: what is done with the checkpoint in the end.
    """

    words: str
    query: Callable[[DataFrame], DataFrame]
    mode: str = "append"
    settings: Mapping[str, str] | None = None
    each: Callable[[DataFrame, int], None] | None = None
    again: Callable[[DataFrame], DataFrame] | None = None
    back: bool = False
    apart: int = 0
    tells: Callable[[Sequence[Reports]], str] | None = None
    source: Callable[[DataStreamReader], DataStreamReader] | None = None
    sink: Callable[[DataStreamWriter, Path], DataStreamWriter] | None = None
    lost: tuple[str, ...] = ()
    then: Callable[[SparkSession, Path], Any] | None = None


USUAL: Mapping[str, Refusal] = {
    "inner-join-update": Refusal("an inner join of two streams, in update mode", ask.inner_join, "update"),
    "inner-join-complete": Refusal("an inner join of two streams, in complete mode", ask.inner_join, "complete"),
    "outer-join-no-watermark": Refusal("a left outer join of two streams without a watermark", ask.outer_join),
    "count-append": Refusal("groupBy().count() without a watermark, in append mode", ask.counts),
    "sink-unread": Refusal(
        "foreachBatch that reads no row of groupBy().count(), in update mode", ask.counts, "update", each=ask.unread
    ),
    "duplicates-no-watermark": Refusal(
        "dropDuplicatesWithinWatermark() without a watermark", lambda s: s.dropDuplicatesWithinWatermark(["key"])
    ),
    "duplicates-complete": Refusal(
        "dropDuplicates() in complete mode", lambda s: s.dropDuplicates(["key"]).select("key"), "complete"
    ),
    "rate-available-now": Refusal(
        "dropDuplicates() of a rate source, which has no support for availableNow, under availableNow",
        ask.rate,
        again=ask.rate,
        apart=2,
        tells=lambda runs: f"micro-batches in run {len(runs)}: {len(runs[-1])}",
    ),
    "watermark-nested": Refusal("withWatermark() on a field of a struct", ask.nested_time),
    "session-window-update": Refusal("session_window() in update mode", ask.sessions, "update"),
    "event-time-no-watermark": Refusal(
        "transformWithState by event time without a watermark", ask.processed("EventTime")
    ),
    "array-in-state": Refusal("an array in the state of applyInPandasWithState", ask.array_in_state),
    "array-in-value-state": Refusal(
        "an array in a ValueState of transformWithStateInPandas, written and read",
        ask.kept_in_value_state("array<int>", lambda: [1]),
    ),
    "timer-without-time": Refusal(
        "a timer in transformWithState without a time mode", ask.processed("None", times=True)
    ),
    "windows-of-windows-append": Refusal("windows of windows, in append mode", ask.windows_of_windows),
    "windows-of-windows-update": Refusal("windows of windows, in update mode", ask.windows_of_windows, "update"),
    "windows-joined": Refusal("a join of two counts in windows, in append mode", ask.windows_joined),
    "join-then-count": Refusal(
        "windows counted behind a join of two streams, in append mode", ask.joined_then_counted("= one.event_time")
    ),
    "distinct-count": Refusal("count_distinct() of a stream, in update mode", ask.distinct, "update"),
    "sorted-append": Refusal("orderBy() without an aggregation", lambda s: s.orderBy("id")),
    "limit-update": Refusal("limit() in update mode", lambda s: s.limit(1), "update"),
    "complete-without-count": Refusal("complete mode without an aggregation", lambda s: s.select("key"), "complete"),
    "timeout-no-watermark": Refusal(
        "applyInPandasWithState with a timeout in event time, without a watermark", ask.groups
    ),
    "count-behind-groups": Refusal(
        "groupBy().count() behind applyInPandasWithState with a timeout in event time", ask.counted_behind_groups
    ),
    "shuffle-behind-groups": Refusal("repartition() right behind applyInPandasWithState", ask.shuffled_behind_groups),
    "count-changed": Refusal(
        "groupBy().count() that goes on as a sum and a maximum", ask.counts, "update", again=ask.summed
    ),
    "key-changed": Refusal(
        "groupBy().count() of a text that goes on as one of a number",
        ask.counts,
        "update",
        again=lambda s: s.groupBy("step").count(),
    ),
    "duplicates-changed": Refusal(
        "dropDuplicates() of one column that goes on as one of two",
        lambda s: s.dropDuplicates(["key"]),
        again=lambda s: s.dropDuplicates(["key", "id"]),
    ),
    "one-name-twice": Refusal(
        "transformWithStateInPandas with two states of one name", ask.stored(("v", "v long"), ("v", "v long"))
    ),
    "ttl-in-event-time": Refusal(
        "a time to live of state in transformWithStateInPandas by event time",
        ask.stored(("v", "v long"), time_mode="EventTime", ttl=1_000),
    ),
    "state-type-changed": Refusal(
        "a value state of a number that goes on as one of a text",
        ask.stored(("v", "v long")),
        again=ask.stored(("v", "v string")),
    ),
    "state-column-added": Refusal(
        "a value state that goes on with one column more",
        ask.stored(("v", "v long")),
        again=ask.stored(("v", "v long, w string")),
    ),
    "state-added": Refusal(
        "transformWithStateInPandas that goes on with one state more",
        ask.stored(("v", "v long")),
        again=ask.stored(("v", "v long"), ("w", "v string")),
    ),
    "state-removed": Refusal(
        "transformWithStateInPandas that goes on with one state less",
        ask.stored(("v", "v long"), ("w", "v string")),
        again=ask.stored(("v", "v long")),
    ),
    "time-mode-changed": Refusal(
        "transformWithStateInPandas without a time mode that goes on in event time",
        ask.stored(("v", "v long")),
        again=ask.stored(("v", "v long"), time_mode="EventTime"),
    ),
    "state-in-hdfs-store": Refusal(
        "transformWithState in the HDFS-backed store",
        ask.processed("None"),
        settings={
            "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
            "HDFSBackedStateStoreProvider"
        },
    ),
}
"""By name."""

COMPARED: Mapping[str, Refusal] = {
    "checkpoint-without-metadata": Refusal(
        "groupBy().count() that goes on after its checkpoint has lost the file with the query's id",
        ask.counts,
        "update",
        again=ask.counts,
        lost=("metadata",),
    ),
    "checkpoint-without-state": Refusal(
        "groupBy().count() that goes on after its checkpoint has lost the state",
        ask.counts,
        "update",
        again=ask.counts,
        lost=("state",),
    ),
    "checkpoint-without-offsets": Refusal(
        "groupBy().count() that begins anew where a checkpoint has nothing but state",
        ask.counts,
        "update",
        again=ask.counts,
        lost=("offsets", "commits"),
    ),
    "operator-changed": Refusal(
        "groupBy().count() that goes on as dropDuplicates()",
        ask.counts,
        "update",
        again=lambda s: s.dropDuplicates(["key"]).select("key"),
    ),
    "each-raises": Refusal("foreachBatch with a function that raises", ask.counts, "update", each=ask.raising),
    "foreach-raises": Refusal("foreach() with a function that raises", ask.counts, "update", sink=ask.into_each),
    "source-named": Refusal(
        "a source with a name of its own, where sources may come and go",
        ask.counts,
        "update",
        settings={"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"},
        source=ask.named,
    ),
    "source-limited-twice": Refusal(
        "a file source with maxFilesPerTrigger and maxBytesPerTrigger", ask.counts, "update", source=ask.limited_twice
    ),
    **{
        f"join-format-{version}": Refusal(
            f"an inner join of two streams whose state has format {version}, in RocksDB",
            lambda s: ask.inner_join(ask.late(s)),
            settings={**ROCKSDB, "spark.sql.streaming.join.stateFormatVersion": str(version)},
        )
        for version in (3, 4)
    },
    "range-join-then-count": Refusal(
        "windows counted behind a join of two streams with a time range condition",
        ask.joined_then_counted("BETWEEN one.event_time AND one.event_time + INTERVAL 5 SECONDS"),
    ),
    "duplicates-of-windows": Refusal(
        "dropDuplicates() behind a count in windows, in RocksDB", ask.duplicates_of_windows, settings=ROCKSDB
    ),
    "join-with-two-times": Refusal(
        "dropDuplicates() behind a join whose output has two event times", ask.joined_with_two_times
    ),
    "state-read": Refusal("the state of groupBy().count(), read as a table", ask.counts, "update", then=ask.read_state),
    "state-changes-read": Refusal(
        "the changes of the state of groupBy().count(), read as a table", ask.counts, "update", then=ask.read_changes
    ),
    "filter-taken-back": Refusal(
        "groupBy().count() that goes on behind a filter that rules all rows out, and then without it",
        ask.counts,
        "update",
        again=lambda s: ask.counts(s).where("false"),
        back=True,
    ),
    "observed-by-date": Refusal(
        "observe() that compares with current_date()", ask.observed("count_if(event_time > current_date())")
    ),
    "observed-before-a-filter": Refusal(
        "observe() before a filter that rules all rows out",
        lambda s: ask.observed("count(*)")(s).where("false"),
        tells=lambda runs: f"rows observed: {ask.number_observed(runs[-1])}",
    ),
    "long-text-in-value-state": Refusal(
        "a text of twenty million characters in a ValueState of transformWithStateInPandas, written and read",
        ask.kept_in_value_state("string", lambda: "x" * 20_000_000),
        settings=ROCKSDB,
    ),
    "map-as-key": Refusal("groupBy() of a map", ask.counted_by_map, "update"),
    "stream-in-subquery": Refusal(
        "a subquery that reads the stream", ask.sql("SELECT key FROM rows WHERE step = (SELECT max(step) FROM rows)")
    ),
    "watermark-in-sql": Refusal(
        "WATERMARK in SQL, with windows counted behind it",
        ask.sql(
            "SELECT window(event_time, '5 seconds'), count(*) FROM rows "
            "WATERMARK event_time DELAY OF INTERVAL 1 SECOND GROUP BY window(event_time, '5 seconds')"
        ),
    ),
    "stream-in-sql": Refusal("STREAM before a name in SQL", ask.sql("SELECT key FROM STREAM rows")),
    "store-of-another-class": Refusal(
        "a state store whose class is none",
        ask.counts,
        "update",
        settings={f"{STORE}.providerClass": "java.lang.String"},
    ),
    "encoding-unknown": Refusal(
        "an encoding of state that there is not", ask.counts, "update", settings={f"{STORE}.encodingFormat": "json"}
    ),
    "mode-unknown": Refusal("an output mode that there is not", ask.counts, "upsert"),
    "duplicates-within-watermark": Refusal(
        "dropDuplicatesWithinWatermark()", lambda s: ask.late(s).dropDuplicatesWithinWatermark(["key"])
    ),
    "real-time": Refusal("groupBy().count() in real time", ask.counts, "update", sink=ask.in_real_time),
    "state-of-rows": Refusal("transformWithState in Python", ask.processed("None"), settings=ROCKSDB),
}
"""Those that tell releases apart. They are asked about where two releases are compared."""

REFUSALS: Mapping[str, Refusal] = {**USUAL, **COMPARED}


def answers(names: Iterable[str], session: Callable[[Mapping[str, str]], SparkSession]) -> dict[str, str]:
    """What Spark says to these queries. ``session`` gives a session with some settings."""

    def answer(name: str) -> str | None:
        refusal = REFUSALS[name]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            spark = session(refusal.settings or {})
            queries = [refusal.query, refusal.again] if refusal.again else [refusal.query]
            queries += [refusal.query] if refusal.back else []
            runs = [_run(refusal, query, spark, Path(folder), number) for number, query in enumerate(queries)]
            if refusal.then:
                refusal.then(spark, Path(folder, CHECKPOINT))
        return refusal.tells(runs) if refusal.tells else None

    return answering.answers(names, answer, kind)


def _run(
    refusal: Refusal, query: Callable[[DataFrame], DataFrame], spark: SparkSession, folder: Path, number: int
) -> Reports:
    """The reports of one of the queries, one for each micro-batch."""
    time.sleep(refusal.apart if number else 0)
    for name in refusal.lost if number else ():
        _delete(folder / CHECKPOINT / name)
    micro_batches.write_rows(folder / "input" / f"{number}.parquet", [("", "", "a", 0, 0, f"e{number}", "null", 1_000)])
    reader = spark.readStream.schema(micro_batches.DDL)
    stream = (refusal.source(reader) if refusal.source else reader).parquet(str(folder / "input"))
    sink = query(stream).writeStream.outputMode(refusal.mode).trigger(availableNow=True)
    if refusal.sink:
        sink = refusal.sink(sink, folder)
    else:
        sink = sink.foreachBatch(refusal.each) if refusal.each else sink.format("noop")
    started = sink.option("checkpointLocation", str(folder / CHECKPOINT)).start()
    try:
        if not started.awaitTermination(PATIENCE):
            raise TimeoutError(f"the query did not end within {PATIENCE} s")
        return running.reports(started)
    finally:
        started.stop()


def _delete(place: Path) -> None:
    """Delete a file of a checkpoint with its checksum, or a folder."""
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()
        place.with_name(f".{place.name}.crc").unlink(missing_ok=True)

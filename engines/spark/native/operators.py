"""Spark's own operators, as users write them in a query: functions from the stream of input rows to the stream of
output rows.

A row that an operator passes on carries its step along. A row that an operator makes belongs to the micro-batch that it
came out in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.engines.native import windows_of
from conformance.engines.spark.operators.operator import HEARTBEAT
from conformance.engines.spark.runtime import functions as f
from conformance.engines.spark.state.typed_keys import PREFIX
from conformance.model.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEYS = ("program", "case", "key")


def key_columns(stream: DataFrame) -> list[str]:
    """The columns of a key: with typed keys, a column for each of their types."""
    return [*KEYS, *(name for name in stream.columns if name.startswith(PREFIX))]


def keys(stream: DataFrame) -> list[str]:
    """The columns that rows are grouped by: those of a key, and the tag of the row's source where a plan has tagged
    it."""
    return [*key_columns(stream), *(["tag"] if "tag" in stream.columns else [])]


def rows_of(frame: DataFrame, value: Any, *, passed_on: bool = False) -> DataFrame:
    """Rows of ``operator.OUTPUT`` with this value, its nulls included; ``passed_on`` says that the frame's rows are
    input rows, which keep their event time. They have no nonce: Spark would compile code anew for the seed that
    ``uuid()`` has in each micro-batch (4.3.0)."""
    step = f.col("step") if passed_on else f.lit(None).cast("long")
    partitions = f.to_json(f.array("partition")) if passed_on else f.lit(None).cast("string")
    return frame.select(
        *keys(frame),
        step.alias("step"),
        f.to_json(value, {"ignoreNullFields": "false"}).alias("value"),
        f.lit(None).cast("long").alias("emitted_at"),
        f.lit(None).cast("string").alias("error"),
        f.lit(None).cast("long").alias("received"),
        partitions.alias("partitions"),
        f.lit(None).cast("string").alias("nonce"),
        *(["event_time"] if passed_on else []),
    )


def count(stream: DataFrame, program: Program) -> DataFrame:
    return rows_of(stream.groupBy(*keys(stream)).count(), f.struct("count"))


def count_and_latest(stream: DataFrame, program: Program) -> DataFrame:
    latest = f.max(f.expr("unix_millis(event_time)")).alias("latest")
    counted = stream.groupBy(*keys(stream)).agg(f.count("*").alias("count"), latest)
    return rows_of(counted, f.struct("count", "latest"))


def count_by_value(stream: DataFrame, program: Program) -> DataFrame:
    counted = stream.groupBy(*keys(stream), "value").count()
    return rows_of(counted, f.struct("value", "count"))


def drop_duplicates(stream: DataFrame, program: Program) -> DataFrame:
    return rows_of(
        stream.dropDuplicates([*KEYS, "event_time"]), f.struct(f.col("id").alias("accepted")), passed_on=True
    )


def drop_duplicates_for_good(stream: DataFrame, program: Program) -> DataFrame:
    return rows_of(stream.dropDuplicates(key_columns(stream)), f.struct(f.col("id").alias("accepted")), passed_on=True)


def drop_duplicates_within_watermark(stream: DataFrame, program: Program) -> DataFrame:
    kept = stream.dropDuplicatesWithinWatermark(key_columns(stream))
    return rows_of(kept, f.struct(f.col("id").alias("accepted")), passed_on=True)


def session_window(stream: DataFrame, program: Program) -> DataFrame:
    """The program lists the ids of a session sorted: a collected list has no order of its own."""
    session = f.session_window("event_time", f"{program.parameters['gap']} milliseconds").alias("session")
    sessions = stream.groupBy(session, *keys(stream))
    return rows_of(
        sessions.agg(f.sort_array(f.collect_list("id")).alias("ids")),
        f.struct(
            f.expr("unix_millis(session.start)").alias("start"),
            f.expr("unix_millis(session.end)").alias("end"),
            "ids",
        ),
    )


def window(stream: DataFrame, program: Program) -> DataFrame:
    size = windows_of(program).size
    return _counts(stream, size, size)


def _counts(stream: DataFrame, size: int, slide: int) -> DataFrame:
    """Counts in windows of ``size`` ms, one every ``slide`` ms."""
    of = f.window("event_time", f"{size} milliseconds", f"{slide} milliseconds").alias("of")
    return rows_of(
        stream.groupBy(of, *keys(stream)).count(), f.struct(f.expr("unix_millis(of.start)").alias("window"), "count")
    )


def sliding_window(stream: DataFrame, program: Program) -> DataFrame:
    return _counts(stream, program.parameters["size"], program.parameters["slide"])


def drop_duplicates_then_window(stream: DataFrame, program: Program) -> DataFrame:
    return window(stream.dropDuplicates([*KEYS, "value", "event_time"]), program)


def times_compared(stream: DataFrame, program: Program) -> DataFrame:
    """Which expressions for the current time give the time of ``current_timestamp()`` before the operator."""
    before = {"now": f.expr("now()"), "local": f.expr("localtimestamp()").cast("timestamp")}
    marked = stream.withColumns({"current": f.current_timestamp(), **before})
    kept = marked.dropDuplicates([*KEYS, "id", "event_time"])
    compared = {
        "current_timestamp() behind the operator": f.current_timestamp(),
        "now() before the operator": f.col("now"),
        "now() behind the operator": f.expr("now()"),
        "localtimestamp() before the operator": f.col("local"),
    }
    agree = [f.when(time == f.col("current"), f.lit(name)) for name, time in compared.items()]
    return rows_of(kept, f.struct("id", f.array_compact(f.array(*agree)).alias("agree")), passed_on=True)


def _side(stream: DataFrame, name: str) -> DataFrame:
    """The stream's left rows, or its right rows. Heartbeats are on both sides, so that both watermarks move."""
    return stream.where((f.col("program") == HEARTBEAT) | (f.col("value") == f'"{name}"'))


def windows_joined(stream: DataFrame, program: Program) -> DataFrame:
    """The counts of the left rows and of the right rows in each window, joined."""
    mine, size = key_columns(stream), f"{windows_of(program).size} milliseconds"

    def counted(name: str) -> DataFrame:
        windows = _side(stream, name).groupBy(f.window("event_time", size).alias("of"), *mine)
        return windows.count().select("of", *mine, f.col("count").alias(f"{name}s"))

    joined = counted("left").join(counted("right"), ["of", *mine])
    return rows_of(joined, f.struct(f.expr("unix_millis(of.start)").alias("window"), "lefts", "rights"))


def joined_then_window(stream: DataFrame, program: Program) -> DataFrame:
    """The pairs of a left row and a right row, counted in the windows of their left rows."""
    size = program.parameters["size"]
    return _counts(_joined(stream, program, "inner"), size, size)


def join(stream: DataFrame, program: Program, how: str) -> DataFrame:
    """The stream's left rows joined with its right rows."""
    joined = _joined(stream, program, how)
    columns = ("left",) if how == "left_semi" else ("left", "right")
    return rows_of(joined, f.struct(*columns))


def _joined(stream: DataFrame, program: Program, how: str) -> DataFrame:
    """The rows of a join: the columns of the key, the ids of both sides, and the event time of the left one."""
    mine = key_columns(stream)

    def side(name: str) -> DataFrame:
        return _side(stream, name).select(*mine, "event_time", f.col("id").alias(name)).alias(f"{name}s")

    time = {name: f.col(f"{name}s.event_time") for name in ("left", "right")}
    bound = f.expr(f"INTERVAL {program.parameters['bound']} MILLISECONDS")
    in_time = (time["right"] >= time["left"]) & (time["right"] <= time["left"] + bound)
    same = [f.col(f"lefts.{name}") == f.col(f"rights.{name}") for name in mine]
    joined = side("left").join(side("right"), [*same, in_time], how)
    if how == "left_semi":
        return joined.select(*mine, "left")
    of_both = [f.coalesce(f"lefts.{name}", f"rights.{name}").alias(name) for name in mine]
    of_left = [f.col(f"lefts.{name}") for name in mine]
    columns = of_both if how in ("right_outer", "full_outer") else of_left
    return joined.select(*columns, "left", "right", time["left"])

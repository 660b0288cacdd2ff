"""spark-native: Spark's own operators in the place of programs, as users write them in a query.

A row that the operator passes on carries its step along; a row that it makes belongs to the micro-batch that it came out in. Nothing
in these operators is ours, so nothing can be made to fail after they wrote state. They keep it in the HDFS-backed store, Spark's default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.engine import (
    NATIVE,
    Capabilities,
    Family,
    Feature,
    Idiom,
    Lateness,
    LatenessProfile,
    unsupported,
)
from conformance.program import Program
from engines.budgets import SPARK_NATIVE
from engines.spark.column import DRIVEN, SparkColumn
from engines.spark.operator import HEARTBEAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import Failure

HORIZON = 10_000
"""For how long (ms) the program of dedup within watermark knows an id."""

GAP = 10_000
"""The gap (ms) of the sessions of session timeout."""

SIZE = 10_000
"""The size (ms) of the windows of windowed counting, dedup then count and sliding windows."""

SLIDE = 5_000
"""How long (ms) after one of the sliding windows the next one begins."""

BOUND = 10_000
"""How much later (ms) than the left row the right row of a pair of the stream join is at most."""

KEYS = ("program", "case", "key")

NOTHING_OF_OURS = unsupported(
    "the operator is Spark's own (4.3.0): nothing in it can be made to fail after it wrote state"
)

NO_PROGRAM = unsupported("an operator of Spark's own (4.3.0) runs no program")

FEATURES = {
    **dict.fromkeys(Feature, NO_PROGRAM),
    **DRIVEN,
    Feature.RETRY: NOTHING_OF_OURS,
    Feature.RESUME: NOTHING_OF_OURS,
    Feature.FIXED_WINDOWS: NATIVE,
    Feature.LATE_COUNTER: unsupported("output rows do not say how many rows the operator was handed (Spark 4.3.0)"),
}


def rows_of(frame: DataFrame, value: Any, *, passed_on: bool = False) -> DataFrame:
    """Rows of ``operator.OUTPUT`` with this value, its nulls included; ``passed_on`` says that the frame's rows are input rows."""
    from pyspark.sql import functions as f

    step = f.col("step") if passed_on else f.lit(None).cast("long")
    partitions = f.to_json(f.array("partition")) if passed_on else f.lit(None).cast("string")
    return frame.select(
        *KEYS,
        step.alias("step"),
        f.to_json(value, {"ignoreNullFields": "false"}).alias("value"),
        f.lit(None).cast("long").alias("emitted_at"),
        f.lit(None).cast("string").alias("error"),
        f.lit(None).cast("long").alias("received"),
        partitions.alias("partitions"),
        f.expr("uuid()").alias("nonce"),
    )


def count(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return rows_of(stream.groupBy(*KEYS).count(), f.struct("count"))


def drop_duplicates(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return rows_of(
        stream.dropDuplicates([*KEYS, "event_time"]), f.struct(f.col("id").alias("accepted")), passed_on=True
    )


def drop_duplicates_within_watermark(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    kept = stream.dropDuplicatesWithinWatermark(list(KEYS))
    return rows_of(kept, f.struct(f.col("id").alias("accepted")), passed_on=True)


def session_window(stream: DataFrame) -> DataFrame:
    """The program lists the ids of a session sorted: a collected list has no order of its own."""
    from pyspark.sql import functions as f

    sessions = stream.groupBy(f.session_window("event_time", f"{GAP} milliseconds").alias("session"), *KEYS)
    return rows_of(
        sessions.agg(f.sort_array(f.collect_list("id")).alias("ids")),
        f.struct(
            f.unix_millis("session.start").alias("start"),
            f.unix_millis("session.end").alias("end"),
            "ids",
        ),
    )


def window(stream: DataFrame, slide: int = SIZE) -> DataFrame:
    from pyspark.sql import functions as f

    of = f.window("event_time", f"{SIZE} milliseconds", f"{slide} milliseconds").alias("of")
    return rows_of(stream.groupBy(of, *KEYS).count(), f.struct(f.unix_millis("of.start").alias("window"), "count"))


def sliding_window(stream: DataFrame) -> DataFrame:
    return window(stream, SLIDE)


def drop_duplicates_then_window(stream: DataFrame) -> DataFrame:
    return window(stream.dropDuplicates([*KEYS, "value", "event_time"]))


def inner_join(stream: DataFrame, how: str = "inner") -> DataFrame:
    """The stream's left rows joined with its right rows. Heartbeats are on both sides, so that both watermarks move."""
    from pyspark.sql import functions as f

    def side(name: str) -> DataFrame:
        rows = stream.where((f.col("program") == HEARTBEAT) | (f.col("value") == f'"{name}"'))
        return rows.select(*KEYS, "event_time", f.col("id").alias(name)).alias(f"{name}s")

    time = {name: f.col(f"{name}s.event_time") for name in ("left", "right")}
    in_time = (time["right"] >= time["left"]) & (
        time["right"] <= time["left"] + f.expr(f"INTERVAL {BOUND // 1000} SECONDS")
    )
    same = [f.col(f"lefts.{name}") == f.col(f"rights.{name}") for name in KEYS]
    joined = side("left").join(side("right"), [*same, in_time], how)
    return rows_of(joined.select(*(f"lefts.{name}" for name in KEYS), "left", "right"), f.struct("left", "right"))


def left_outer_join(stream: DataFrame) -> DataFrame:
    return inner_join(stream, "left_outer")


@dataclass(frozen=True)
class Operator:
    """An idiom as Spark runs it. ``lateness`` is that of its row filter (Spark 4.3.0); ``delay`` (ms) is that of the watermark, where
    the operator reads it."""

    idiom: Idiom
    apply: Callable[[DataFrame], DataFrame]
    lateness: Lateness
    mode: str = "append"
    delay: int | None = None


DEDUP_SILENT = {
    "state-for-an-old-id-goes-away-when-its-horizon-has-passed": "nothing comes out when it forgets an id",
}

OPERATORS = {
    "count": Operator(
        Idiom("per-key-counting/count", "groupBy().count(), update mode"),
        count,
        Lateness.NEVER,
        mode="update",
    ),
    "drop-duplicates": Operator(
        Idiom("dedup-within-watermark/dedup", "dropDuplicates() with the event time", DEDUP_SILENT),
        drop_duplicates,
        Lateness.AT_OR_BEHIND,
    ),
    "drop-duplicates-within-watermark": Operator(
        Idiom("dedup-within-watermark/dedup", "dropDuplicatesWithinWatermark()", DEDUP_SILENT),
        drop_duplicates_within_watermark,
        Lateness.AT_OR_BEHIND,
        delay=HORIZON,
    ),
    "session-window": Operator(
        Idiom(
            "session-timeout/sessions",
            "session_window(), append mode",
            {"a-timer-that-was-cleared-does-not-fire": "it has no timers to see"},
        ),
        session_window,
        Lateness.WINDOW_EXPIRED,
    ),
    "window": Operator(
        Idiom("windowed-counting/windows", "groupBy(window()).count(), append mode"),
        window,
        Lateness.WINDOW_EXPIRED,
    ),
    "window-update": Operator(
        Idiom("windowed-counting/windows", "groupBy(window()).count(), update mode"),
        window,
        Lateness.WINDOW_EXPIRED,
        mode="update",
    ),
    "sliding-window": Operator(
        Idiom("sliding-windows/windows", "groupBy(window() with a slide).count(), append mode"),
        sliding_window,
        Lateness.WINDOW_EXPIRED,
    ),
    "drop-duplicates-then-window": Operator(
        Idiom("dedup-then-count/counts", "dropDuplicates() and groupBy(window()).count(), append mode"),
        drop_duplicates_then_window,
        Lateness.AT_OR_BEHIND,
    ),
    "inner-join": Operator(
        Idiom("stream-join/inner", "a stream-stream inner join with a time range condition"),
        inner_join,
        Lateness.AT_OR_BEHIND,
    ),
    "left-outer-join": Operator(
        Idiom("stream-join/left outer", "a stream-stream left outer join with a time range condition"),
        left_outer_join,
        Lateness.AT_OR_BEHIND,
    ),
}
"""By variant."""


class SparkNative(SparkColumn):
    store = "hdfs"

    def __init__(self, variant: str) -> None:
        super().__init__()
        self._operator = operator = OPERATORS[variant]
        self.id, self.title = f"spark-native:{variant}", f"Spark {operator.idiom.words}"
        self.mode, self.delay = operator.mode, operator.delay
        self.capabilities = Capabilities(
            FEATURES,
            LatenessProfile(operator.lateness, operator.lateness),
            parallel=2,
            heavy=True,
            host="spark",
            idiom=operator.idiom,
            ahead=operator.delay or Capabilities.ahead,
            packs=SPARK_NATIVE,
        )

    def apply(self, stream: DataFrame, programs: Mapping[str, Program], failure: Failure | None) -> DataFrame:
        return self._operator.apply(stream)


FAMILY = Family(
    SparkNative, {variant: operator.idiom.words for variant, operator in OPERATORS.items()}, alone=False, all=True
)

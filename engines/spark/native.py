"""spark-native: Spark's own operators in the place of programs, as users write them in a query.

A row that an operator passes on carries its step along. A row that an operator makes belongs to the micro-batch that it came out in.
Nothing in these operators is ours, so nothing can be made to fail after they wrote state. They keep state in the HDFS-backed store,
Spark's default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.model.engine import Capabilities, Family, NativeOperator
from conformance.model.feature import NATIVE, Feature, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import Program
from engines.budgets import SPARK_NATIVE
from engines.native import FORGETS_SILENTLY, NO_TIMERS, windows_of
from engines.spark.base import DRIVEN, SparkEngine
from engines.spark.operator import HEARTBEAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import OperatorInput

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


def count(stream: DataFrame, program: Program) -> DataFrame:
    from pyspark.sql import functions as f

    return rows_of(stream.groupBy(*KEYS).count(), f.struct("count"))


def drop_duplicates(stream: DataFrame, program: Program) -> DataFrame:
    from pyspark.sql import functions as f

    return rows_of(
        stream.dropDuplicates([*KEYS, "event_time"]), f.struct(f.col("id").alias("accepted")), passed_on=True
    )


def drop_duplicates_within_watermark(stream: DataFrame, program: Program) -> DataFrame:
    from pyspark.sql import functions as f

    kept = stream.dropDuplicatesWithinWatermark(list(KEYS))
    return rows_of(kept, f.struct(f.col("id").alias("accepted")), passed_on=True)


def session_window(stream: DataFrame, program: Program) -> DataFrame:
    """The program lists the ids of a session sorted: a collected list has no order of its own."""
    from pyspark.sql import functions as f

    session = f.session_window("event_time", f"{program.parameters['gap']} milliseconds").alias("session")
    sessions = stream.groupBy(session, *KEYS)
    return rows_of(
        sessions.agg(f.sort_array(f.collect_list("id")).alias("ids")),
        f.struct(
            f.unix_millis("session.start").alias("start"),
            f.unix_millis("session.end").alias("end"),
            "ids",
        ),
    )


def window(stream: DataFrame, program: Program) -> DataFrame:
    size = windows_of(program).size
    return _counts(stream, size, size)


def _counts(stream: DataFrame, size: int, slide: int) -> DataFrame:
    """Counts in windows of ``size`` ms, one every ``slide`` ms."""
    from pyspark.sql import functions as f

    of = f.window("event_time", f"{size} milliseconds", f"{slide} milliseconds").alias("of")
    return rows_of(stream.groupBy(of, *KEYS).count(), f.struct(f.unix_millis("of.start").alias("window"), "count"))


def sliding_window(stream: DataFrame, program: Program) -> DataFrame:
    return _counts(stream, program.parameters["size"], program.parameters["slide"])


def drop_duplicates_then_window(stream: DataFrame, program: Program) -> DataFrame:
    return window(stream.dropDuplicates([*KEYS, "value", "event_time"]), program)


def inner_join(stream: DataFrame, program: Program, how: str = "inner") -> DataFrame:
    """The stream's left rows joined with its right rows. Heartbeats are on both sides, so that both watermarks move."""
    from pyspark.sql import functions as f

    def side(name: str) -> DataFrame:
        rows = stream.where((f.col("program") == HEARTBEAT) | (f.col("value") == f'"{name}"'))
        return rows.select(*KEYS, "event_time", f.col("id").alias(name)).alias(f"{name}s")

    time = {name: f.col(f"{name}s.event_time") for name in ("left", "right")}
    bound = f.expr(f"INTERVAL {program.parameters['bound']} MILLISECONDS")
    in_time = (time["right"] >= time["left"]) & (time["right"] <= time["left"] + bound)
    same = [f.col(f"lefts.{name}") == f.col(f"rights.{name}") for name in KEYS]
    joined = side("left").join(side("right"), [*same, in_time], how)
    return rows_of(joined.select(*(f"lefts.{name}" for name in KEYS), "left", "right"), f.struct("left", "right"))


def left_outer_join(stream: DataFrame, program: Program) -> DataFrame:
    return inner_join(stream, program, "left_outer")


@dataclass(frozen=True)
class NativeQuery:
    """A native operator as Spark runs it.

    Attributes:
        apply: puts it on a stream, with the parameters of the program that it does the job of.
        lateness: that of its row filter (Spark 4.3.0).
        delay: the program's parameter that is the watermark's delay; "" where the operator does not read the delay.
    """

    native_operator: NativeOperator
    apply: Callable[[DataFrame, Program], DataFrame]
    lateness: Lateness
    mode: str = "append"
    delay: str = ""


QUERIES = {
    "count": NativeQuery(
        NativeOperator("per-key-counting/count", "groupBy().count(), update mode"),
        count,
        Lateness.NEVER,
        mode="update",
    ),
    "drop-duplicates": NativeQuery(
        NativeOperator("dedup-within-watermark/dedup", "dropDuplicates() with the event time", FORGETS_SILENTLY),
        drop_duplicates,
        Lateness.AT_OR_BEHIND,
    ),
    "drop-duplicates-within-watermark": NativeQuery(
        NativeOperator("dedup-within-watermark/dedup", "dropDuplicatesWithinWatermark()", FORGETS_SILENTLY),
        drop_duplicates_within_watermark,
        Lateness.AT_OR_BEHIND,
        delay="horizon",
    ),
    "session-window": NativeQuery(
        NativeOperator(
            "session-timeout/sessions",
            "session_window(), append mode",
            NO_TIMERS,
        ),
        session_window,
        Lateness.WINDOW_EXPIRED,
    ),
    "window": NativeQuery(
        NativeOperator("windowed-counting/windows", "groupBy(window()).count(), append mode"),
        window,
        Lateness.WINDOW_EXPIRED,
    ),
    "window-update": NativeQuery(
        NativeOperator("windowed-counting/windows", "groupBy(window()).count(), update mode"),
        window,
        Lateness.WINDOW_EXPIRED,
        mode="update",
    ),
    "sliding-window": NativeQuery(
        NativeOperator("sliding-windows/windows", "groupBy(window() with a slide).count(), append mode"),
        sliding_window,
        Lateness.WINDOW_EXPIRED,
    ),
    "drop-duplicates-then-window": NativeQuery(
        NativeOperator("dedup-then-count/counts", "dropDuplicates() and groupBy(window()).count(), append mode"),
        drop_duplicates_then_window,
        Lateness.AT_OR_BEHIND,
    ),
    "inner-join": NativeQuery(
        NativeOperator("stream-join/inner", "a stream-stream inner join with a time range condition"),
        inner_join,
        Lateness.AT_OR_BEHIND,
    ),
    "left-outer-join": NativeQuery(
        NativeOperator("stream-join/left outer", "a stream-stream left outer join with a time range condition"),
        left_outer_join,
        Lateness.AT_OR_BEHIND,
    ),
}
"""By variant."""


class SparkNative(SparkEngine):
    store = "hdfs"

    def __init__(self, variant: str) -> None:
        super().__init__()
        self._query = query = QUERIES[variant]
        self.id, self.title = f"spark-native:{variant}", f"Spark {query.native_operator.words}"
        self.mode = query.mode
        self.capabilities = Capabilities(
            FEATURES,
            LatenessProfile(query.lateness, query.lateness),
            parallel=2,
            heavy=True,
            host="spark",
            native_operator=query.native_operator,
            ahead=query.delay,
            packs=SPARK_NATIVE,
        )

    def apply(self, given: OperatorInput) -> DataFrame:
        return self._query.apply(given.stream, self._program(given.programs))

    def delay(self, programs: Mapping[str, Program]) -> int:
        return self._program(programs).parameters[self._query.delay] if self._query.delay else super().delay(programs)

    def _program(self, programs: Mapping[str, Program]) -> Program:
        """The program that the operator does the job of."""
        return programs[self._query.native_operator.program]


FAMILY = Family(
    SparkNative,
    {variant: query.native_operator.words for variant, query in QUERIES.items()},
    alone=False,
    all=True,
)

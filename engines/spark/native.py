"""spark-native: Spark's own operators in the place of programs, as users write them in a query.

A row that an operator passes on carries its step along. A row that an operator makes belongs to the micro-batch that it came out in.
Nothing in these operators is ours, so nothing can be made to fail after they wrote state. They keep state in the HDFS-backed store,
Spark's default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.model.engine import Capabilities, Family, NativeOperator
from conformance.model.feature import NATIVE, Feature, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import Program
from engines.budgets import SPARK_NATIVE, SPARK_NATIVE_PLANS
from engines.native import FORGETS_SILENTLY, NO_TIMERS, windows_of
from engines.spark.base import DRIVEN, SparkEngine
from engines.spark.native_plans import BY_TAG, WITHOUT_TIME
from engines.spark.operator import HEARTBEAT
from engines.spark.plans import PLANS, SparkPlan, twins

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import OperatorInput

KEYS = ("program", "case", "key")


def keys(stream: DataFrame) -> list[str]:
    """The columns that rows are grouped by: those of a key, and the tag of the row's source where a plan has tagged it."""
    return [*KEYS, *(["tag"] if "tag" in stream.columns else [])]


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
    """Rows of ``operator.OUTPUT`` with this value, its nulls included; ``passed_on`` says that the frame's rows are input rows, which
    keep their event time."""
    from pyspark.sql import functions as f

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
        f.expr("uuid()").alias("nonce"),
        *(["event_time"] if passed_on else []),
    )


def count(stream: DataFrame, program: Program) -> DataFrame:
    from pyspark.sql import functions as f

    return rows_of(stream.groupBy(*keys(stream)).count(), f.struct("count"))


def drop_duplicates(stream: DataFrame, program: Program) -> DataFrame:
    from pyspark.sql import functions as f

    return rows_of(
        stream.dropDuplicates([*KEYS, "event_time"]), f.struct(f.col("id").alias("accepted")), passed_on=True
    )


def drop_duplicates_for_good(stream: DataFrame, program: Program) -> DataFrame:
    from pyspark.sql import functions as f

    return rows_of(stream.dropDuplicates(list(KEYS)), f.struct(f.col("id").alias("accepted")), passed_on=True)


def drop_duplicates_within_watermark(stream: DataFrame, program: Program) -> DataFrame:
    from pyspark.sql import functions as f

    kept = stream.dropDuplicatesWithinWatermark(list(KEYS))
    return rows_of(kept, f.struct(f.col("id").alias("accepted")), passed_on=True)


def session_window(stream: DataFrame, program: Program) -> DataFrame:
    """The program lists the ids of a session sorted: a collected list has no order of its own."""
    from pyspark.sql import functions as f

    session = f.session_window("event_time", f"{program.parameters['gap']} milliseconds").alias("session")
    sessions = stream.groupBy(session, *keys(stream))
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
    return rows_of(
        stream.groupBy(of, *keys(stream)).count(), f.struct(f.unix_millis("of.start").alias("window"), "count")
    )


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
        ordered: whether a key's output of one micro-batch has an order that a restart keeps. Otherwise no plan restarts.
        sides: how often the operator reads the stream.
        asks: the queries (of ``refusals``) that its engine is asked about.
        plans: the plans of this query beside those of every Spark engine.
    """

    native_operator: NativeOperator
    apply: Callable[[DataFrame, Program], DataFrame]
    lateness: Lateness
    mode: str = "append"
    delay: str = ""
    plans: Mapping[str, SparkPlan] = field(default_factory=dict)
    asks: tuple[str, ...] = ()
    ordered: bool = True
    sides: int = 1

    def takes(self, plan: SparkPlan) -> bool:
        """Whether a plan of every Spark engine can be proved for this query. A side that filters its rows does not read a file whose
        statistics rule all rows out, so the files of a micro-batch stay one."""
        one_file = plan.layout.files == 1 and (plan.layout.sources == 1 or plan.layout.idle)
        return (self.ordered or not plan.restarts) and (self.sides == 1 or one_file)


QUERIES = {
    "count": NativeQuery(
        NativeOperator("per-key-counting/count", "groupBy().count(), update mode"),
        count,
        Lateness.NEVER,
        mode="update",
        plans=BY_TAG,
        asks=("count-append", "watermark-nested"),
    ),
    "drop-duplicates": NativeQuery(
        NativeOperator("dedup-within-watermark/dedup", "dropDuplicates() with the event time", FORGETS_SILENTLY),
        drop_duplicates,
        Lateness.AT_OR_BEHIND,
        plans={"project-time-away": WITHOUT_TIME},
        asks=("duplicates-complete",),
    ),
    "drop-duplicates-for-good": NativeQuery(
        NativeOperator(
            "dedup-within-watermark/dedup",
            "dropDuplicates() without the event time",
            FORGETS_SILENTLY | {"after-the-horizon-an-on-time-id-is-accepted-again": "it never forgets an id"},
        ),
        drop_duplicates_for_good,
        Lateness.AT_OR_BEHIND,
        plans={"project-time-away": WITHOUT_TIME},
    ),
    "drop-duplicates-within-watermark": NativeQuery(
        NativeOperator("dedup-within-watermark/dedup", "dropDuplicatesWithinWatermark()", FORGETS_SILENTLY),
        drop_duplicates_within_watermark,
        Lateness.AT_OR_BEHIND,
        delay="horizon",
        plans={"project-time-away": WITHOUT_TIME},
        asks=("duplicates-no-watermark",),
    ),
    "session-window": NativeQuery(
        NativeOperator(
            "session-timeout/sessions",
            "session_window(), append mode",
            NO_TIMERS,
        ),
        session_window,
        Lateness.WINDOW_EXPIRED,
        ordered=False,
        asks=("session-window-update",),
    ),
    "window": NativeQuery(
        NativeOperator("windowed-counting/windows", "groupBy(window()).count(), append mode"),
        window,
        Lateness.WINDOW_EXPIRED,
        ordered=False,
    ),
    "window-update": NativeQuery(
        NativeOperator("windowed-counting/windows", "groupBy(window()).count(), update mode"),
        window,
        Lateness.WINDOW_EXPIRED,
        mode="update",
        ordered=False,
    ),
    "sliding-window": NativeQuery(
        NativeOperator("sliding-windows/windows", "groupBy(window() with a slide).count(), append mode"),
        sliding_window,
        Lateness.WINDOW_EXPIRED,
        ordered=False,
    ),
    "drop-duplicates-then-window": NativeQuery(
        NativeOperator("dedup-then-count/counts", "dropDuplicates() and groupBy(window()).count(), append mode"),
        drop_duplicates_then_window,
        Lateness.AT_OR_BEHIND,
        ordered=False,
    ),
    "inner-join": NativeQuery(
        NativeOperator("stream-join/inner", "a stream-stream inner join with a time range condition"),
        inner_join,
        Lateness.AT_OR_BEHIND,
        asks=("inner-join-update", "inner-join-complete"),
        sides=2,
    ),
    "left-outer-join": NativeQuery(
        NativeOperator("stream-join/left outer", "a stream-stream left outer join with a time range condition"),
        left_outer_join,
        Lateness.AT_OR_BEHIND,
        asks=("outer-join-no-watermark",),
        sides=2,
    ),
}
"""By variant."""


class SparkNative(SparkEngine):
    store = "hdfs"

    def __init__(self, variant: str) -> None:
        super().__init__()
        self._query = query = QUERIES[variant]
        self.id, self.title = f"spark-native:{variant}", f"Spark {query.native_operator.words}"
        self.asks, self.sides = query.asks, query.sides
        general = {name: plan for name, plan in PLANS.items() if query.takes(plan)}
        self.mode, self.plans = query.mode, {**query.plans, **general}
        self.capabilities = Capabilities(
            FEATURES,
            LatenessProfile(query.lateness, query.lateness),
            parallel=2,
            heavy=True,
            host="spark",
            native_operator=query.native_operator,
            ahead=query.delay,
            packs=SPARK_NATIVE,
            plans=twins(self.plans),
            plans_of_a_run=SPARK_NATIVE_PLANS,
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

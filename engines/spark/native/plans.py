"""Plans of native operators alone: they name columns that an operator of ours does not pass on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.engines.spark.driving.layouts import TAG_OF_A_KEY, Layout
from conformance.engines.spark.operators.operator import HEARTBEAT
from conformance.engines.spark.plans.around import PLAIN_TEXT, Changes, SparkPlan, Twins
from conformance.engines.spark.plans.plans import AS_BATCH
from conformance.engines.spark.runtime import functions as f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def tags_checked(frame: DataFrame) -> DataFrame:
    """Rows whose tag is not that of their key's source are put under another key."""
    same = (f.col("program") == HEARTBEAT) | (f.col("tag") == f.expr(TAG_OF_A_KEY))
    wrong = f.concat(f.col("key"), f.lit(", tagged as "), f.col("tag"))
    return frame.withColumn("key", f.when(same, f.col("key")).otherwise(wrong)).drop("tag")


WITHOUT_TIME = SparkPlan(
    "the event time is not selected behind the operator",
    f"{PLAIN_TEXT}.drop('event_time')",
    changes=Changes(behind=lambda frame: frame.drop("event_time")),
    twins=Twins(always=True),
)

_BATCH = replace(
    AS_BATCH,
    text="operator(spark.read.parquet(files so far)) # what is new in it, or all of it in complete mode",
)

BATCH = {"batch": replace(_BATCH, twins=Twins())}
"""Of operators that drop no late row."""

BATCH_ON_TIME = {"batch": _BATCH}

BATCH_ENDED = {
    "batch": replace(
        _BATCH,
        text="operator(spark.read.parquet(files so far)).where('end <= watermark') # what is new in it",
    )
}
"""Of operators that put out what has ended."""

ONE = "one.withWatermark('event_time', delay)"

BY_TAG = {
    "tagged-by-turns": SparkPlan(
        "grouped by a literal tag of two streams, the second of which is empty by turns",
        f"operator({ONE}.withColumn('tag', lit('source 0')).union(two.withColumn('tag', lit('source 1')))), grouped "
        "by tag, too",
        changes=Changes(behind=tags_checked),
        layout=Layout(sources=2, fed=True, steady=True),
        tagged=True,
        twins=Twins(always=True),
    ),
    "tagged-later": SparkPlan(
        "grouped by a tag of two streams, the second of which has no rows before a restart, and may have no tag",
        f"operator({ONE}.withColumn('tag', not null).union(two.withColumn('tag', nullable))), grouped by tag, too # "
        "restarted",
        changes=Changes(behind=tags_checked),
        layout=Layout(sources=2, later=True),
        tagged=True,
        twins=Twins(restarts=True, always=True),
    ),
}

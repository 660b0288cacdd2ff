"""spark-tws: ``transformWithState`` of PySpark on rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from conformance.engine import NATIVE, Family, Feature, emulated
from conformance.program import Program, by_processing_time
from engines.spark.column import SparkColumn, capabilities

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import Failure

TIMERS = emulated("timer names in a MapState (Spark knows a timer by its time)")

GROUP = ("program", "case", "key", "window")
"""The columns that rows are grouped by."""

STATE = {
    Feature.EVENT_TIMERS: TIMERS,
    Feature.PROCESSING_TIMERS: TIMERS,
    Feature.TTL: NATIVE,
    Feature.INITIAL_STATE: NATIVE,
    Feature.VALUE: NATIVE,
    Feature.NULL: emulated("a value as JSON text"),
    Feature.BAG: NATIVE,
    Feature.MAP: NATIVE,
    Feature.SET: emulated("set as the keys of a MapState"),
    Feature.COMBINING: emulated("sum in a ValueState"),
    Feature.INSPECTION: NATIVE,
}
"""How transformWithState keeps state, whichever the language."""

CHANGELOG = {"rocksdb-changelog": "RocksDB with changelog checkpointing"}
"""The one other store that transformWithState takes (Spark 4.3.0)."""


def time_mode(programs: Mapping[str, Program]) -> str:
    """Spark's name for what the timers of a query go by."""
    return "ProcessingTime" if by_processing_time(programs.values()) else "EventTime"


class SparkTws(SparkColumn):
    id = "spark-tws"
    api = "transformWithState"
    title = "Spark transformWithState (Python, rows)"
    capabilities = capabilities(STATE, quick=True)

    def apply(
        self,
        stream: DataFrame,
        programs: Mapping[str, Program],
        failure: Failure | None,
        initial: DataFrame | None = None,
    ) -> DataFrame:
        from engines.spark.operator import OUTPUT
        from engines.spark.row_processor import RowProcessor

        return stream.groupBy(*GROUP).transformWithState(
            statefulProcessor=RowProcessor(programs, failure),
            outputStructType=OUTPUT,
            outputMode="Append",
            timeMode=time_mode(programs),
            initialState=initial and initial.groupBy(*GROUP),
        )


FAMILY = Family(SparkTws, CHANGELOG)

"""spark-tws: ``transformWithState`` of PySpark on rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from conformance.model.engine import Family
from conformance.model.feature import NATIVE, Feature, emulated
from conformance.model.program import Program, by_processing_time
from engines.spark.base import SparkEngine, capabilities

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import OperatorInput

TIMERS = emulated("timer names in a MapState (Spark knows a timer by its time)")

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


class SparkTws(SparkEngine):
    id = "spark-tws"
    api = "transformWithState"
    title = "Spark transformWithState (Python, rows)"
    capabilities = capabilities(STATE, quick=True)

    def apply(self, given: OperatorInput) -> DataFrame:
        from engines.spark.operator import GROUP, OUTPUT
        from engines.spark.row_processor import RowProcessor

        return given.stream.groupBy(*GROUP).transformWithState(
            statefulProcessor=RowProcessor(given.programs, given.failure),
            outputStructType=OUTPUT,
            outputMode="Append",
            timeMode=time_mode(given.programs),
            initialState=given.initial and given.initial.groupBy(*GROUP),
        )


FAMILY = Family(SparkTws, CHANGELOG)

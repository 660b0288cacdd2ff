"""spark-tws: ``transformWithState`` of PySpark on rows, event-time mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from conformance.engine import NATIVE, Family, Feature, emulated
from conformance.program import Program
from engines.spark.column import SparkColumn, capabilities

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import Failure

STATE = {
    Feature.EVENT_TIMERS: emulated("timer names in a MapState (Spark knows a timer by its time)"),
    Feature.VALUE: NATIVE,
    Feature.BAG: NATIVE,
    Feature.MAP: NATIVE,
    Feature.SET: emulated("set as the keys of a MapState"),
    Feature.COMBINING: emulated("sum in a ValueState"),
}
"""How transformWithState keeps state, whichever the language."""

CHANGELOG = {"rocksdb-changelog": "RocksDB with changelog checkpointing"}
"""The one other store that transformWithState takes (Spark 4.3.0)."""


class SparkTws(SparkColumn):
    id = "spark-tws"
    api = "transformWithState"
    title = "Spark transformWithState (Python, rows)"
    capabilities = capabilities(STATE)

    def apply(self, stream: DataFrame, programs: Mapping[str, Program], failure: Failure | None) -> DataFrame:
        from engines.spark.operator import OUTPUT
        from engines.spark.row_processor import RowProcessor

        return stream.groupBy("program", "case", "key", "window").transformWithState(
            statefulProcessor=RowProcessor(programs, failure),
            outputStructType=OUTPUT,
            outputMode="Append",
            timeMode="EventTime",
        )


FAMILY = Family(SparkTws, CHANGELOG)

"""spark-tws-pandas: ``transformWithStateInPandas`` of PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.engines.spark.base import capabilities
from conformance.engines.spark.jobs.connected import CONNECTED
from conformance.engines.spark.plans.plans import APPENDED, BATCH, IN_A_ROW, PLANS, TWICE
from conformance.engines.spark.plans.settings import OF_PYTHON, OF_TWS
from conformance.engines.spark.tws import STATE, VARIANTS, TwsEngine, time_mode
from conformance.model.engine import Family
from conformance.model.feature import Feature, unsupported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from conformance.engines.spark.operators.operator import OperatorInput


NO_NULLS = unsupported(
    "a null timestamp as a key ends the query with ValueError: NaTType does not support timetuple (Spark 4.3.0)"
)


class SparkTwsPandas(TwsEngine):
    id = "spark-tws-pandas"
    api = "transformWithStateInPandas"
    title = "Spark transformWithStateInPandas (Python)"
    plans = {**PLANS, **OF_TWS, **OF_PYTHON, **BATCH, **APPENDED, **TWICE, **IN_A_ROW, **CONNECTED}
    can = capabilities({**STATE, Feature.NULL_KEYS: NO_NULLS}, plans, each=1)
    instead = "spark-fmgws-pandas"

    asks = (
        "array-in-value-state",
        "one-name-twice",
        "ttl-in-event-time",
        "state-type-changed",
        "state-column-added",
        "state-added",
        "state-removed",
        "time-mode-changed",
    )

    def apply(self, given: OperatorInput) -> DataFrame:
        from conformance.engines.spark.operators.row_processor import PandasProcessor

        return given.stream.groupBy(*given.group).transformWithStateInPandas(
            statefulProcessor=PandasProcessor(given.programs, given.failure, typed=given.typed, more=given.more),
            outputStructType=given.output,
            outputMode="Append",
            timeMode=time_mode(given.programs),
            initialState=given.initial and given.initial.groupBy(*given.group),
        )


FAMILY = Family(SparkTwsPandas, VARIANTS)

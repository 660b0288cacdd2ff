"""spark-tws-pandas: ``transformWithStateInPandas`` of PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.engine import Family
from engines.spark.base import SparkEngine, capabilities
from engines.spark.tws import CHANGELOG, STATE, time_mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import OperatorInput


class SparkTwsPandas(SparkEngine):
    id = "spark-tws-pandas"
    api = "transformWithStateInPandas"
    title = "Spark transformWithStateInPandas (Python)"
    capabilities = capabilities(STATE)

    def apply(self, given: OperatorInput) -> DataFrame:
        from engines.spark.operator import GROUP, OUTPUT
        from engines.spark.pandas_processor import PandasProcessor

        return given.stream.groupBy(*GROUP).transformWithStateInPandas(
            statefulProcessor=PandasProcessor(given.programs, given.failure),
            outputStructType=OUTPUT,
            outputMode="Append",
            timeMode=time_mode(given.programs),
            initialState=given.initial and given.initial.groupBy(*GROUP),
        )


FAMILY = Family(SparkTwsPandas, CHANGELOG)

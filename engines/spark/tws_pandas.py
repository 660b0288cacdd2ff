"""spark-tws-pandas: ``transformWithStateInPandas`` of PySpark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from conformance.engine import Family
from conformance.program import Program
from engines.spark.column import SparkColumn, capabilities
from engines.spark.tws import CHANGELOG, GROUP, STATE, time_mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import Failure


class SparkTwsPandas(SparkColumn):
    id = "spark-tws-pandas"
    api = "transformWithStateInPandas"
    title = "Spark transformWithStateInPandas (Python)"
    capabilities = capabilities(STATE)

    def apply(
        self,
        stream: DataFrame,
        programs: Mapping[str, Program],
        failure: Failure | None,
        initial: DataFrame | None = None,
    ) -> DataFrame:
        from engines.spark.operator import OUTPUT
        from engines.spark.pandas_processor import PandasProcessor

        return stream.groupBy(*GROUP).transformWithStateInPandas(
            statefulProcessor=PandasProcessor(programs, failure),
            outputStructType=OUTPUT,
            outputMode="Append",
            timeMode=time_mode(programs),
            initialState=initial and initial.groupBy(*GROUP),
        )


FAMILY = Family(SparkTwsPandas, CHANGELOG)

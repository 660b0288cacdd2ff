"""spark-tws-pandas: ``transformWithStateInPandas`` of PySpark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
    capabilities = replace(capabilities(STATE), largest_waiting_pack=120)
    """Of TTLs in 8 steps one of 863 cases takes 8 to 16 s beside its waits, one of 120 takes 3 to 5 s, on 2 cores (Spark 4.3.0)."""

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

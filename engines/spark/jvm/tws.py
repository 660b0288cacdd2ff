"""spark-tws-jvm: ``transformWithState`` of the JVM's Dataset API, its processor a neutral program in a Python process beside the
executor (TwsBridge.java)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from conformance.engine import Family
from conformance.program import Program
from engines.budgets import SPARK_JVM
from engines.spark import session
from engines.spark.column import SparkColumn, capabilities
from engines.spark.tws import CHANGELOG, STATE, time_mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import Failure


class SparkTwsJvm(SparkColumn):
    id = "spark-tws-jvm"
    title = "Spark transformWithState (JVM)"
    capabilities = capabilities(STATE, SPARK_JVM)
    classic = True

    def lacks(self) -> str:
        return "" if session.released() >= (4, 0) else "Spark before 4.0 has no transformWithState"

    def apply(
        self,
        stream: DataFrame,
        programs: Mapping[str, Program],
        failure: Failure | None,
        initial: DataFrame | None = None,
    ) -> DataFrame:
        from engines.spark.jvm import bridge

        return bridge.transform_with_state(stream, programs, failure, time_mode(programs), initial)


FAMILY = Family(SparkTwsJvm, CHANGELOG)

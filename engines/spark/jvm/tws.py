"""spark-tws-jvm: ``transformWithState`` of the JVM's Dataset API, its processor a neutral program in a Python process
beside the executor (TwsBridge.java)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.engines.spark.base import capabilities
from conformance.engines.spark.plans.plans import APPENDED, BATCH, IN_A_ROW, PLANS, TWICE
from conformance.engines.spark.plans.settings import OF_TWS
from conformance.engines.spark.runtime.releases import released
from conformance.engines.spark.tws import STATE, VARIANTS, TwsEngine, time_mode
from conformance.model.engine import Family
from conformance.model.feature import Feature, limited, unsupported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from conformance.engines.spark.operators.operator import OperatorInput


ACROSS_THE_PIPE = {
    Feature.TYPED: limited(
        "a typed value crosses a pipe to the program, which has a copy: what it changes in place is no object of "
        "Spark's"
    ),
    Feature.MISFITS: unsupported(
        "the adapter's pipe to the JVM carries a value by the type of its cell, so Spark meets none that does not "
        "fit (Spark 4.3.0)"
    ),
}
"""What the program's own process makes of typed state."""


class SparkTwsJvm(TwsEngine):
    id = "spark-tws-jvm"
    title = "Spark transformWithState (JVM)"
    plans = {**PLANS, **OF_TWS, **BATCH, **APPENDED, **TWICE, **IN_A_ROW}
    can = capabilities({**STATE, **ACROSS_THE_PIPE}, plans, each=1)
    classic = True

    def lacks(self) -> str:
        return "" if released() >= (4, 0) else "Spark before 4.0 has no transformWithState"

    def apply(self, given: OperatorInput) -> DataFrame:
        from conformance.engines.spark.jvm import bridge

        return bridge.transform_with_state(given, time_mode(given.programs))


FAMILY = Family(SparkTwsJvm, VARIANTS)

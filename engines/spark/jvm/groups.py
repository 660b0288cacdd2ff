"""spark-mgws-jvm and spark-fmgws-jvm: ``mapGroupsWithState`` and ``flatMapGroupsWithState`` of the JVM's Dataset API.

PySpark has neither; their function is the neutral program, in a Python process beside the executor (Bridge.java).
mapGroupsWithState puts out one row per key and micro-batch, by design (Spark 4.3.0): of several emissions the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.engines.spark.base import capabilities
from conformance.engines.spark.groups import STATE, VARIANTS, GroupsEngine
from conformance.engines.spark.jvm.tws import ACROSS_THE_PIPE, SparkTwsJvm
from conformance.engines.spark.plans.plans import APPENDED, BATCH, IN_A_ROW, PLANS, TWICE
from conformance.engines.spark.plans.settings import OF_OTHERS
from conformance.model.engine import Family
from conformance.model.feature import Feature, emulated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from conformance.engines.spark.operators.operator import OperatorInput

LAST = emulated(
    "one row per key and call, its last emission; a call without any puts out an empty row, which is left out"
)


class SparkFmgwsJvm(GroupsEngine):
    id = "spark-fmgws-jvm"
    title = "Spark flatMapGroupsWithState (JVM)"
    plans = {**PLANS, **OF_OTHERS, **BATCH, **APPENDED, **TWICE, **IN_A_ROW}
    can = capabilities({**STATE, **ACROSS_THE_PIPE}, plans, quick=True)
    classic = True
    moves_to = SparkTwsJvm
    method = "flatMapGroupsWithState"

    def apply(self, given: OperatorInput) -> DataFrame:
        from conformance.engines.spark.jvm import bridge

        return bridge.groups_with_state(given, self.method, self.timeout_of(given.programs))


class SparkMgwsJvm(SparkFmgwsJvm):
    id = "spark-mgws-jvm"
    title = "Spark mapGroupsWithState (JVM)"
    plans = {**PLANS, **OF_OTHERS, **BATCH}
    can = capabilities({**STATE, **ACROSS_THE_PIPE, Feature.EMISSIONS: LAST}, plans, each=1)
    method = "mapGroupsWithState"
    mode = "update"


FLAT_FAMILY = Family(SparkFmgwsJvm, VARIANTS)
FAMILY = Family(SparkMgwsJvm, VARIANTS)

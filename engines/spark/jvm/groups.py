"""spark-mgws-jvm and spark-fmgws-jvm: ``mapGroupsWithState`` and ``flatMapGroupsWithState`` of the JVM's Dataset API.

PySpark has neither; their function is the neutral program, in a Python process beside the executor (Bridge.java).
mapGroupsWithState puts out one row per key and micro-batch, by design (Spark 4.3.0): of several emissions the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from conformance.engine import Family, Feature, emulated
from conformance.program import Program
from engines.budgets import SPARK_JVM
from engines.spark.column import capabilities
from engines.spark.groups import STATE, VARIANTS, GroupsColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import Failure

LAST = emulated(
    "one row per key and call, its last emission; a call without any puts out an empty row, which is left out"
)


class SparkFmgwsJvm(GroupsColumn):
    id = "spark-fmgws-jvm"
    title = "Spark flatMapGroupsWithState (JVM)"
    capabilities = capabilities(STATE, SPARK_JVM, quick=True)
    classic = True
    method = "flatMapGroupsWithState"

    def apply(
        self,
        stream: DataFrame,
        programs: Mapping[str, Program],
        failure: Failure | None,
        initial: DataFrame | None = None,
    ) -> DataFrame:
        from engines.spark.jvm import bridge

        return bridge.groups_with_state(stream, programs, failure, self.method, self.timeout_of(programs), initial)


class SparkMgwsJvm(SparkFmgwsJvm):
    id = "spark-mgws-jvm"
    title = "Spark mapGroupsWithState (JVM)"
    capabilities = capabilities({**STATE, Feature.EMISSIONS: LAST}, SPARK_JVM)
    method = "mapGroupsWithState"
    mode = "update"


FLAT_FAMILY = Family(SparkFmgwsJvm, VARIANTS)
FAMILY = Family(SparkMgwsJvm, VARIANTS)

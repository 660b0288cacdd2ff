"""spark-fmgws-pandas: ``applyInPandasWithState`` of PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.engine import Family
from conformance.model.feature import Feature, unsupported
from engines.spark.base import capabilities
from engines.spark.groups import STATE, VARIANTS, GroupsEngine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import OperatorInput


NO_INITIAL_STATE = unsupported("applyInPandasWithState takes no initial state (Spark 4.3.0)")


class SparkFmgwsPandas(GroupsEngine):
    id = "spark-fmgws-pandas"
    api = "applyInPandasWithState"
    title = "Spark applyInPandasWithState (Python)"
    # Each call of the function takes milliseconds, for a frame of its own (Spark 4.3.0).
    capabilities = capabilities({**STATE, Feature.INITIAL_STATE: NO_INITIAL_STATE}, largest_pack=1_200)

    def apply(self, given: OperatorInput) -> DataFrame:
        from engines.spark.frames import state_function
        from engines.spark.operator import GROUP, OUTPUT

        function = state_function(given.programs, given.failure)
        timeout = self.timeout_of(given.programs)
        return given.stream.groupBy(*GROUP).applyInPandasWithState(function, OUTPUT, "json string", "append", timeout)


FAMILY = Family(SparkFmgwsPandas, VARIANTS)

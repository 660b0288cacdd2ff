"""spark-fmgws-pandas: ``applyInPandasWithState`` of PySpark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from conformance.engine import Family, Feature, unsupported
from conformance.program import Program
from engines.spark.column import capabilities
from engines.spark.groups import STATE, VARIANTS, GroupsColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import Failure


NO_INITIAL_STATE = unsupported("applyInPandasWithState takes no initial state (Spark 4.3.0)")


class SparkFmgwsPandas(GroupsColumn):
    id = "spark-fmgws-pandas"
    api = "applyInPandasWithState"
    title = "Spark applyInPandasWithState (Python)"
    # Each call of the function takes milliseconds, for a frame of its own (Spark 4.3.0).
    capabilities = capabilities({**STATE, Feature.INITIAL_STATE: NO_INITIAL_STATE}, largest_pack=1_200)

    def apply(self, stream: DataFrame, programs: Mapping[str, Program], failure: Failure | None) -> DataFrame:
        from engines.spark.frames import state_function
        from engines.spark.operator import OUTPUT

        return stream.groupBy("program", "case", "key", "window").applyInPandasWithState(
            state_function(programs, failure), OUTPUT, "json string", "append", self.timeout_of(programs)
        )


FAMILY = Family(SparkFmgwsPandas, VARIANTS)

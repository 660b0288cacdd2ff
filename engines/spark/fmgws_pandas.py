"""spark-fmgws-pandas: ``applyInPandasWithState`` of PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.engine import Family
from conformance.model.feature import Feature, unsupported
from engines.budgets import SPARK_PANDAS
from engines.spark.base import capabilities
from engines.spark.groups import STATE, VARIANTS, GroupsEngine
from engines.spark.plans import PLANS
from engines.spark.setting_plans import OF_OTHERS, OF_PYTHON
from engines.spark.tws import KEYS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engines.spark.operator import OperatorInput


NO_INITIAL_STATE = unsupported("applyInPandasWithState takes no initial state (Spark 4.3.0)")

NO_ARRAYS = unsupported("an array in the schema of the state ends the query with KeyError: 'elementType' (Spark 4.3.0)")

NO_NULLS = unsupported("pandas hands a null key over as NaN, NaT or None, whatever its type (Spark 4.3.0)")

LATER = unsupported(
    "the state is encoded when the function has returned, and an error then ends the query (Spark 4.3.0)"
)


class SparkFmgwsPandas(GroupsEngine):
    id = "spark-fmgws-pandas"
    api = "applyInPandasWithState"
    title = "Spark applyInPandasWithState (Python)"
    plans = {**PLANS, **OF_OTHERS, **OF_PYTHON}
    # Each call of the function takes milliseconds, for a frame of its own (Spark 4.3.0).
    capabilities = capabilities(
        {
            **STATE,
            Feature.INITIAL_STATE: NO_INITIAL_STATE,
            Feature.TYPED: NO_ARRAYS,
            Feature.MISFITS: LATER,
            **KEYS,
            Feature.NULL_KEYS: NO_NULLS,
        },
        plans,
        SPARK_PANDAS,
        largest_pack=1_200,
    )

    def apply(self, given: OperatorInput) -> DataFrame:
        from engines.spark.frames import state_function
        from engines.spark.operator import OUTPUT
        from engines.spark.typed_groups import schema

        function = state_function(given.programs, given.failure, given.typed)
        timeout = self.timeout_of(given.programs)
        return given.stream.groupBy(*given.group).applyInPandasWithState(
            function, OUTPUT, schema(given.programs), "append", timeout
        )


FAMILY = Family(SparkFmgwsPandas, VARIANTS)

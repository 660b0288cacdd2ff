"""spark-fmgws-pandas: ``applyInPandasWithState`` of PySpark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from packaging.version import Version

from conformance.engines.spark.base import capabilities
from conformance.engines.spark.groups import STATE, VARIANTS, GroupsEngine
from conformance.engines.spark.jobs.connected import CONNECTED
from conformance.engines.spark.plans.plans import APPENDED, PLANS
from conformance.engines.spark.plans.settings import OF_OTHERS, OF_PYTHON
from conformance.engines.spark.tws_pandas import SparkTwsPandas
from conformance.model.engine import Capabilities, Family
from conformance.model.feature import NATIVE, Feature, unsupported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from conformance.engines.spark.operators.operator import OperatorInput


NO_INITIAL_STATE = unsupported("applyInPandasWithState takes no initial state (Spark 4.3.0)")

NO_CONTAINERS = unsupported(
    "PySpark lower-cases the schema of the state, so one with an array or a map ends the query with KeyError: "
    "'elementType' or 'keyType' (Spark 4.3.0)"
)

NO_NULLS = unsupported("pandas hands a null key over as NaN, NaT or None, whatever its type (Spark 4.3.0)")

LOWER_CASED = Version("4.2")
"""From here on the schema of the state is lower-cased: seen in 4.2.1 and 4.3.0, and not in 4.0.5."""

LATER = unsupported(
    "the state is encoded when the function has returned, and an error then ends the query (Spark 4.3.0)"
)


class SparkFmgwsPandas(GroupsEngine):
    id = "spark-fmgws-pandas"
    api = "applyInPandasWithState"
    moves_to = SparkTwsPandas
    title = "Spark applyInPandasWithState (Python)"
    plans = {**PLANS, **OF_OTHERS, **OF_PYTHON, **APPENDED, **CONNECTED}
    # Each call of the function takes milliseconds, for a frame of its own (Spark 4.3.0).
    can = capabilities(
        {
            **STATE,
            Feature.INITIAL_STATE: NO_INITIAL_STATE,
            Feature.MISFITS: LATER,
            Feature.NULL_KEYS: NO_NULLS,
        },
        plans,
        each=1,
        largest_pack=1_200,
        common=True,
    )
    asks = ("array-in-state", "timeout-no-watermark", "count-behind-groups", "shuffle-behind-groups")

    def able_in(self, versions: Sequence[Version]) -> Capabilities:
        can = super().able_in(versions)
        containers = NATIVE if all(version < LOWER_CASED for version in versions) else NO_CONTAINERS
        return replace(can, features={**can.features, Feature.CONTAINERS: containers})

    def apply(self, given: OperatorInput) -> DataFrame:
        from conformance.engines.spark.operators.frames import state_function
        from conformance.engines.spark.state.typed_groups import schema

        function = state_function(given.programs, given.failure, given.typed, given.more)
        timeout = self.timeout_of(given.programs)
        return given.stream.groupBy(*given.group).applyInPandasWithState(
            function, given.output, schema(given.programs), "append", timeout
        )


FAMILY = Family(SparkFmgwsPandas, VARIANTS)

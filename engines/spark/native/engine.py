"""spark-native: Spark's own operators in the place of programs.

Nothing in these operators is ours, so nothing can be made to fail after they wrote state. They keep state in the
HDFS-backed store, Spark's default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from conformance.engines.planned import twins
from conformance.engines.spark.base import DRIVEN, SparkEngine
from conformance.engines.spark.jobs.connected import CONNECTED
from conformance.engines.spark.native import state as native_state
from conformance.engines.spark.native.queries import QUERIES
from conformance.engines.spark.plans.plans import APPENDED, PLANS
from conformance.engines.spark.runtime import releases
from conformance.model.engine import Capabilities, Family
from conformance.model.feature import NATIVE, Feature, unsupported
from conformance.model.lateness import LatenessProfile
from conformance.model.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from conformance.engines.spark.checkpoint.stored import StoredRow
    from conformance.engines.spark.jobs.job import Job
    from conformance.engines.spark.operators.operator import OperatorInput

NOTHING_OF_OURS = unsupported(
    "the operator is Spark's own (4.3.0): nothing in it can be made to fail after it wrote state"
)

NO_PROGRAM = unsupported("an operator of Spark's own (4.3.0) runs no program")

FEATURES = {
    **dict.fromkeys(Feature, NO_PROGRAM),
    **DRIVEN,
    Feature.RETRY: NOTHING_OF_OURS,
    Feature.RESUME: NOTHING_OF_OURS,
    Feature.FIXED_WINDOWS: NATIVE,
    Feature.NEXT_OPERATOR: NATIVE,
    **releases.READING,
    Feature.LATE_COUNTER: unsupported("output rows do not say how many rows the operator was handed (Spark 4.3.0)"),
}

COMPARES_KEYS = dict.fromkeys((Feature.TYPED_KEYS, Feature.NULL_KEYS), NATIVE)


COMMON = ("count", "drop-duplicates", "drop-duplicates-within-watermark", "inner-join", "session-window", "window")
"""Those that the examples of Spark's streaming guide use most."""


class SparkNative(SparkEngine):
    store = "hdfs"

    def __init__(self, variant: str) -> None:
        super().__init__()
        self._query = query = QUERIES[variant]
        self.id, self.title = f"spark-native:{variant}", f"Spark {query.native_operator.words}"
        self.asks, self.compares, self.sides, self.api = query.asks, query.compares, query.sides, query.api
        of_mode = APPENDED if query.mode == "append" else {}
        general = {
            name: plan for name, plan in {**PLANS, **query.stored, **of_mode, **CONNECTED}.items() if query.takes(plan)
        }
        self.mode, self.plans = query.mode, {**query.plans, **general}
        self.can = Capabilities(
            {**FEATURES, **(COMPARES_KEYS if variant.endswith("typed-keys") else {}), **query.features},
            LatenessProfile(query.lateness, query.lateness),
            parallel=2,
            heavy=True,
            host="spark",
            native_operator=query.native_operator,
            ahead=query.delay,
            each=1,
            common=variant in COMMON,
            plans=twins(self.plans),
        )

    def lacks(self) -> str:
        if releases.released() < self._query.since:
            return f"PySpark {releases.installed()[0]} refuses {self._query.native_operator.words}"
        return super().lacks()

    def apply(self, given: OperatorInput) -> DataFrame:
        from conformance.engines.spark.operators.operator import MORE

        later = self._query.next.get(given.change)
        found = (later or self._query).apply(given.stream, self._program(given.programs))
        return found.selectExpr("*", f"program AS {MORE}") if given.more else found

    def mode_of(self, change: str) -> str:
        later = self._query.next.get(change)
        return (later.mode if later else "") or self.mode

    def delay(self, programs: Mapping[str, Program]) -> int:
        return self._program(programs).parameters[self._query.delay] if self._query.delay else super().delay(programs)

    def ends(self, programs: Mapping[str, Program]) -> str:
        return self._query.ends(self._program(programs)) if self._query.ends else ""

    def _program(self, programs: Mapping[str, Program]) -> Program:
        """A program that the operator does the job of."""
        return next(programs[name] for name in self._query.native_operator.programs if name in programs)

    def stored(self, job: Job, batch: int) -> Iterable[StoredRow]:
        return native_state.read(job.spark, job.checkpoint, batch)


FAMILY = Family(
    SparkNative,
    {variant: query.native_operator.words for variant, query in QUERIES.items()},
    alone=False,
    all=True,
)

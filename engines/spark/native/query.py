"""A native operator as a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.engines.spark.plans.around import SparkPlan
from conformance.engines.spark.plans.plans import not_restarted
from conformance.engines.spark.plans.settings import FORMATS, OF_OTHERS
from conformance.model.engine import NativeOperator
from conformance.model.feature import Feature, Support
from conformance.model.lateness import Lateness
from conformance.model.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Next:
    """What goes on in the place of a native operator behind a restart; ``mode`` is its output mode, "" for the same."""

    apply: Callable[[DataFrame, Program], DataFrame]
    mode: str = ""


@dataclass(frozen=True)
class NativeQuery:
    """A native operator as Spark runs it.

    Attributes:
        apply: puts it on a stream, with the parameters of the program that it does the job of.
        lateness: that of its row filter (Spark 4.3.0).
        delay: the program's parameter that is the watermark's delay; "" where the operator does not read the delay.
        ordered: whether a key's output of one micro-batch has an order that a restart keeps. Otherwise no plan
            restarts.
        sides: how often the operator reads the stream.
        ends: the time (ms, in SQL) at which an output row of a batch query can no longer change, where that is when it
            comes out.
        asks: the queries (of ``refusals``) that its engine is asked about.
        compares: those that it is asked about beside, where releases are compared.
        plans: the plans of this query beside those of every Spark engine.
        api: the method of a DataFrame that it needs, where older releases of PySpark have none.
        features: what it has beside what each operator has.
        next: the next versions of the query, by the change that its program names.
        since: the first release that takes the query; (0, 0) where each release that was tried does.
    """

    native_operator: NativeOperator
    apply: Callable[[DataFrame, Program], DataFrame]
    lateness: Lateness
    mode: str = "append"
    delay: str = ""
    plans: Mapping[str, SparkPlan] = field(default_factory=dict)
    asks: tuple[str, ...] = ()
    compares: tuple[str, ...] = ()
    ordered: bool = True
    sides: int = 1
    ends: Callable[[Program], str] | None = None
    api: str = ""
    features: Mapping[Feature, Support] = field(default_factory=dict)
    next: Mapping[str, Next] = field(default_factory=dict)
    since: tuple[int, int] = (0, 0)

    @property
    def stored(self) -> Mapping[str, SparkPlan]:
        """The plans about how state is stored. They restart the job where a restart keeps the order of the output.
        Joins have formats of their own."""
        mine = {name: plan for name, plan in OF_OTHERS.items() if self.sides == 1 or name != FORMATS}
        return mine if self.ordered else {name: not_restarted(plan) for name, plan in mine.items()}

    def takes(self, plan: SparkPlan) -> bool:
        """Whether a plan of every Spark engine can be proved for this query. A side that filters its rows does not read
        a file, or a row group, whose statistics rule all rows out, so those of a micro-batch stay one. In complete mode
        no micro-batch without rows follows an advance of the watermark (Spark 4.3.0, 3.5.9)."""
        one_file = plan.layout.files == 1 and not plan.layout.group and (plan.layout.sources == 1 or plan.layout.idle)
        settles = self.mode != "complete" or not plan.layout.settles_without_data
        return settles and (self.ordered or not plan.twins.restarts) and (self.sides == 1 or one_file)

"""spark-port: a user's stateful operator in the place of a program: a StatefulProcessor on transformWithState (rows) or
on transformWithStateInPandas, or a state function on applyInPandasWithState. Driven and proved as the other Spark
engines are."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.engines.spark.base import SparkEngine, capabilities
from conformance.engines.spark.ports.side import OPERATORS, TIME_MODES, SparkPort
from conformance.model.engine import CannotRun, Family, NativeOperator
from conformance.model.feature import NATIVE, Feature, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import GlobalWindow, Program
from conformance.model.runs import Pack, PackRun
from conformance.plugins.registry import PortNames, users

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from conformance.engines.spark.operators.operator import OperatorInput
    from conformance.engines.spark.ports.operator import Shape

SIDE = "spark"
"""The side of a port that runs here."""

API = {
    "processor": "transformWithState (Python, rows)",
    "pandas_processor": "transformWithStateInPandas (Python)",
    "function": "applyInPandasWithState (Python)",
}
"""The field that an operator is given in -> the API that it is for, as reports call it."""

OWN = dict.fromkeys(Feature, NATIVE) | dict.fromkeys(
    (Feature.INSPECTION, Feature.ROW_COUNT), unsupported("what an operator of its own stores, no adapter knows")
)
"""An operator of its own keeps state, timers and windows as it likes."""

NOTHING_LATE = LatenessProfile(Lateness.NEVER, Lateness.NEVER)
"""Without event time no row is late (Spark 4.3.0)."""


class SparkPortEngine(SparkEngine):
    """The Spark side of a loaded port."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._loaded = users()
        port = next(port for port in self._loaded.ports if port.name == name)
        side, later = port.sides[SIDE], self._loaded.later.get(name, port).sides.get(SIDE)
        assert isinstance(side, SparkPort)
        assert isinstance(later, SparkPort)
        self._port, self._later, self._name = side, later, name
        function = self._port.function is not None
        api = next(API[name] for name in OPERATORS if getattr(side, name) is not None)
        self.id, self.title = f"spark-port:{name}", f"{self._port.words} on Spark {api}"
        self.mode, self.store = self._port.mode, "hdfs" if function else "rocksdb"
        can = replace(
            capabilities(OWN, self.plans),
            native_operator=NativeOperator(port.ref, self._port.words, compared=True),
        )
        self.can = can if self._port.time == "EventTime" else replace(can, lateness=NOTHING_LATE)
        self.sources = self._loaded.sources

    def open(self, folder: Path) -> None:
        from pyspark import cloudpickle

        for module in self._loaded.by_value:  # no import finds it where Python workers run
            cloudpickle.register_pickle_by_value(module)
        super().open(folder)
        self._shape, self._shape_later = map(self._shape_of_rows, (self._port, self._later))

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        # What windows its state belongs to is the operator's own business: its key is the event's.
        plain = {name: copy(program) for name, program in programs.items()}
        for program in plain.values():
            program.windowing = GlobalWindow()  # type: ignore[misc]
        return super().run(pack, plain)

    def mode_of(self, change: str) -> str:
        return (self._later if change else self._port).mode

    def apply(self, given: OperatorInput) -> DataFrame:
        from conformance.engines.spark.operators.operator import GROUP, OUTPUT

        port, shape = (self._later, self._shape_later) if given.change else (self._port, self._shape)
        if given.initial is not None:
            raise NotImplementedError("a port is given no initial state")
        groups = given.stream.groupBy(*GROUP)
        mode = port.mode.capitalize()
        if port.function is not None:
            from conformance.engines.spark.ports.frames import state_function

            timeout = TIME_MODES[port.time]
            call = state_function(port, shape, given.failure)
            return groups.applyInPandasWithState(call, OUTPUT, port.state, port.mode, timeout)
        if port.pandas_processor is not None:
            from conformance.engines.spark.ports.frames import PandasPortProcessor

            return groups.transformWithStateInPandas(
                PandasPortProcessor(port, shape, given.failure), OUTPUT, mode, port.time
            )
        from conformance.engines.spark.ports.processor import PortProcessor

        return groups.transformWithState(PortProcessor(port, shape, given.failure), OUTPUT, mode, port.time)

    def _shape_of_rows(self, port: SparkPort) -> Shape:
        from pyspark.sql.pandas.types import to_arrow_schema
        from pyspark.sql.types import StructType

        from conformance.engines.spark.ports.operator import Shape

        found = {}
        for name in ("input", "output"):
            ddl = getattr(port, name)
            try:
                found[name] = to_arrow_schema(StructType.fromDDL(ddl), timezone="UTC")
            except Exception as error:
                said = " ".join(str(error).split())[:200]
                raise CannotRun(f"port {self._name}: {name} is not a schema: {ddl!r}: {said}") from error
        return Shape(**found)


FAMILY = Family(SparkPortEngine, PortNames(SIDE), alone=False, all=True, ports=True)

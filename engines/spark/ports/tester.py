"""spark-tws-tester-port: a user's StatefulProcessor on rows in the place of a program, on PySpark's TwsTester. Driven
and proved as spark-tws-tester is.

TwsTester 4.3.0 checks rows against no schema, so the processor gets the rows as the port makes them.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

from conformance.engines.spark.ports.engine import OWN, SIDE
from conformance.engines.spark.ports.side import SparkPort
from conformance.engines.spark.tester.engine import CAPABILITIES, SparkTwsTester
from conformance.model.engine import Family, NativeOperator
from conformance.model.program import GlobalWindow, Program
from conformance.model.runs import Pack, PackRun
from conformance.plugins.registry import PortNames, users


class SparkTesterPort(SparkTwsTester):
    """The Spark side of a loaded port."""

    def __init__(self, name: str) -> None:
        loaded = users()
        port = next(port for port in loaded.ports if port.name == name)
        side = port.sides[SIDE]
        assert isinstance(side, SparkPort)
        self._side = side
        self.id, self.title = f"spark-tws-tester-port:{name}", f"{side.words} on {self.title}"
        unsupported = {feature: says for feature, says in CAPABILITIES.features.items() if says.how == "unsupported"}
        self.capabilities = replace(
            CAPABILITIES,
            features={**OWN, **unsupported},
            native_operator=NativeOperator(port.ref, side.words, compared=True),
        )
        self.sources = loaded.sources

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        from conformance.engines.spark.ports.processor import PortProcessor
        from conformance.engines.spark.tester import job as tester_job

        class Processor(tester_job.Tested, PortProcessor):
            """The user's processor."""

        def make(programs: Mapping[str, Program], typed: Any) -> Processor:
            return Processor(self._side, None, None)

        # What windows its state belongs to is the operator's own business: its key is the event's.
        plain = {name: copy(program) for name, program in programs.items()}
        for program in plain.values():
            program.windowing = GlobalWindow()  # type: ignore[misc]
        return tester_job.run(pack, plain, make)


def _can_be_tested(side: SparkPort) -> bool:
    """Processors on rows in event time. The tester takes no state function, and the harness no frames and no time mode
    None there."""
    return side.processor is not None and side.time == "EventTime"


FAMILY = Family(SparkTesterPort, PortNames(SIDE, _can_be_tested), alone=False, ports=True)

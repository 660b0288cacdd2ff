"""Bugs of output."""

from __future__ import annotations

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug
from conformance.engines.mutants.schedules import bundle_of
from conformance.model.program import Output
from conformance.model.schedule import Event


@bug("the last element of a bundle gives no output")
class LastOutputOfABundleLost(CaseRun):
    def process(self, event: Event) -> None:
        kept = len(self.emissions)
        super().process(event)
        bundle = bundle_of(self)
        if bundle and event is bundle.events[-1]:
            del self.emissions[kept:]


@bug("every output comes out twice")
class OutputTwice(CaseRun):
    def emit(self, key: str, outputs: list[Output]) -> None:
        super().emit(key, [output for output in outputs for _ in range(2)])


@bug("what a timer's callback puts out is lost")
class OutputOfTimersLost(CaseRun):
    def fire(self, timer: TimerId, time: int) -> None:
        kept = len(self.emissions)
        super().fire(timer, time)
        del self.emissions[kept:]


@bug("output of a bundle comes out under the key of the bundle's first element")
class OutputUnderAnotherKey(CaseRun):
    def emit(self, key: str, outputs: list[Output]) -> None:
        bundle = bundle_of(self)
        super().emit(bundle.events[0].key if bundle and bundle.events else key, outputs)

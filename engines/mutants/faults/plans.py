"""Bugs of another query around the operator."""

from __future__ import annotations

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug
from conformance.model.program import Output
from conformance.model.schedule import Deliver, Event


@bug("under another plan, the last output of each call is dropped")
class PlanDropsOutput(CaseRun):
    def emit(self, key: str, outputs: list[Output]) -> None:
        super().emit(key, outputs[:-1] if self.case.schedule.plan else outputs)


@bug("under another plan, state is gone with the bundle")
class PlanDropsState(CaseRun):
    def deliver(self, step: Deliver) -> None:
        super().deliver(step)
        if self.case.schedule.plan:
            self.state = {}


@bug("under another plan, late elements are let through")
class PlanLetsLateElementsIn(CaseRun):
    def refuses(self, event: Event) -> bool:
        return not self.case.schedule.plan and super().refuses(event)


@bug("under another plan, only timers of even times fire")
class PlanLosesTimers(CaseRun):
    def due(self) -> list[tuple[int, TimerId]]:
        return [due for due in super().due() if not (self.case.schedule.plan and due[0] % 2)]


@bug("under another plan, what a key last put out comes out again beside what is new")
class PlanRepeatsOutput(CaseRun):
    def emit(self, key: str, outputs: list[Output]) -> None:
        if self.case.schedule.plan:
            last = next((e for e in reversed(self.emissions) if e.key == key), None)
            outputs = [*([Output(last.value, last.event_time, last.error)] if last and outputs else []), *outputs]
        super().emit(key, outputs)

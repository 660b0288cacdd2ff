"""Bugs of the rows that programs receive, in a pack of several programs."""

from __future__ import annotations

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug
from conformance.model.case import program_ref
from conformance.model.runs import StepCount
from conformance.model.schedule import Deliver, Event


@bug(
    "the first program of a pack loses the last row of a bundle, and the last program gets its own twice",
    looks_around=True,
)
class RowOfOneProgramForAnother(CaseRun):
    """Alone in its pack, a program loses the row."""

    def arrange(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        programs = sorted({program_ref(case.scenario, case.program) for case in self.pack.cases})
        mine = program_ref(self.case.scenario, self.case.program)
        if mine == programs[0]:
            return events[:-1]
        return (*events, *events[-1:]) if mine == programs[-1] else events

    def count(self, step: Deliver, delivered: int, received: int) -> StepCount:
        return StepCount(step.id, delivered, received, sum(map(self.refuses, step.events)))

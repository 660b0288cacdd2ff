"""Bugs that take neighbours: other cases in the same run."""

from __future__ import annotations

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug
from conformance.engines.mutants.schedules import bundle_of
from conformance.model.schedule import Event


def _crowded(run: CaseRun) -> bool:
    """Whether two other cases of the program have elements of several keys."""
    mine = (run.case.scenario, run.case.program)
    others = (case for case in run.pack.cases if case.id != run.case.id and (case.scenario, case.program) == mine)
    return sum(len({arrival.event.key for arrival in case.schedule.arrivals}) > 1 for case in others) >= 2


@bug("beside two jobs whose elements have several keys, the last element of a bundle is lost", looks_around=True)
class ElementLostInACrowd(CaseRun):
    def process(self, event: Event) -> None:
        bundle = bundle_of(self)
        if not (bundle and bundle.events and event is bundle.events[-1] and _crowded(self)):
            super().process(event)

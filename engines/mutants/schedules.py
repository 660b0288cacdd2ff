"""What bugs of several sections look up in a case's schedule, or remember of its run."""

from typing import Any

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import remembers
from conformance.model.schedule import Advance, Deliver


def watermark_after(run: CaseRun, watermark: int) -> int:
    """The watermark (ms) that the next advance beyond this one makes; this one where there is none."""
    return next((a.watermark for a in run.case.schedule.advances if a.watermark > watermark), watermark)


def watermark_before(run: CaseRun, watermark: int) -> int:
    """The highest watermark (ms) of the schedule below this one; 0 where there is none."""
    return max((a.watermark for a in run.case.schedule.advances if a.watermark < watermark), default=0)


def bundle_of(run: CaseRun) -> Deliver | None:
    """The bundle of the step at hand."""
    return next((bundle for bundle in run.case.schedule.bundles if bundle.id == run.step), None)


class LastBundle(CaseRun):
    """Knows the bundle that it processed last."""

    last_bundle: Deliver | None = None

    @remembers
    def deliver(self, step: Deliver) -> None:
        super().deliver(step)
        self.last_bundle = step


class Firings(CaseRun):
    """Knows the timers that fired since the last advance."""

    @remembers
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.fired: dict[TimerId, int] = {}

    @remembers
    def advance(self, step: Advance) -> None:
        self.fired = {}
        super().advance(step)

    @remembers
    def fire(self, timer: TimerId, time: int) -> None:
        self.fired[timer] = time
        super().fire(timer, time)

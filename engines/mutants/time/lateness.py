"""Bugs of the watermark and of what is dropped as late."""

from __future__ import annotations

from dataclasses import replace

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug
from conformance.engines.mutants.schedules import watermark_after, watermark_before
from conformance.model.program import FixedWindows
from conformance.model.runs import StepCount
from conformance.model.schedule import Advance, Deliver, Event


@bug("the late filter drops what is exactly at the watermark")
class LateAtTheWatermark(CaseRun):
    def refuses(self, event: Event) -> bool:
        return super().refuses(event) or event.event_time == self.watermark


@bug("nothing is ever dropped as late")
class NeverLate(CaseRun):
    def refuses(self, event: Event) -> bool:
        return False


@bug("fixed windows drop by the element's time, not by the window's end")
class LateByRowInWindows(CaseRun):
    def refuses(self, event: Event) -> bool:
        return event.event_time < self.watermark


@bug("windows expire at their end, whatever the allowed lateness")
class AllowedLatenessIgnored(CaseRun):
    def refuses(self, event: Event) -> bool:
        windowing = self.program.windowing
        if isinstance(windowing, FixedWindows):
            return windowing.start(event.event_time) + windowing.size <= self.watermark
        return super().refuses(event)


@bug("the late filter uses the watermark of the next advance")
class LateFilterOneStepEarly(CaseRun):
    def refuses(self, event: Event) -> bool:
        return self.lateness.refuses(event.event_time, watermark_after(self, self.watermark), self.program)


@bug("the late filter uses the watermark before the last advance")
class LateFilterOneStepLate(CaseRun):
    def refuses(self, event: Event) -> bool:
        return self.lateness.refuses(event.event_time, watermark_before(self, self.watermark), self.program)


@bug("the late filter drops what is one millisecond after the watermark")
class LateFilterOffByOne(CaseRun):
    def refuses(self, event: Event) -> bool:
        return super().refuses(event) or event.event_time == self.watermark + 1


@bug("an advance that does not settle at once never reaches the late filter")
class LateFilterMissesACoalescedAdvance(CaseRun):
    def deliver(self, step: Deliver) -> None:
        before = self.settled
        super().deliver(step)
        self.settled = before


@bug("the late filter and timers see the watermark of the next advance")
class WatermarkOneStepEarly(CaseRun):
    def advance(self, step: Advance) -> None:
        super().advance(replace(step, watermark=watermark_after(self, step.watermark)))


@bug("the late filter and timers see the watermark before the last advance")
class WatermarkOneStepLate(CaseRun):
    def advance(self, step: Advance) -> None:
        super().advance(replace(step, watermark=watermark_before(self, step.watermark)))


@bug("dropped elements are not counted")
class DropsNotCounted(CaseRun):
    def count(self, step: Deliver, delivered: int, received: int) -> StepCount:
        return StepCount(step.id, delivered, received, 0)


@bug("dropped elements are counted twice")
class DropsCountedTwice(CaseRun):
    def count(self, step: Deliver, delivered: int, received: int) -> StepCount:
        return StepCount(step.id, delivered, received, 2 * (delivered - received))


@bug("an element of an expired window is still processed, and opens it again")
class WindowsNeverExpire(CaseRun):
    def refuses(self, event: Event) -> bool:
        return not isinstance(self.program.windowing, FixedWindows) and super().refuses(event)

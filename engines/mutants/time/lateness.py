"""Bugs of the watermark, of what is dropped as late, and of dates whose milliseconds or seconds need more than 32
bits."""

from dataclasses import replace

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug_of
from conformance.engines.mutants.schedules import watermark_after, watermark_before
from conformance.model.program import FixedWindows
from conformance.model.runs import StepCount
from conformance.model.schedule import Advance, Deliver, Event


@bug_of(CaseRun.refuses, "the late filter drops what is exactly at the watermark")
def late_at_the_watermark(run: CaseRun, event: Event) -> bool:
    return CaseRun.refuses(run, event) or event.event_time == run.watermark


@bug_of(CaseRun.refuses, "nothing is ever dropped as late")
def never_late(run: CaseRun, event: Event) -> bool:
    return False


@bug_of(CaseRun.refuses, "fixed windows drop by the element's time, not by the window's end")
def late_by_row_in_windows(run: CaseRun, event: Event) -> bool:
    return event.event_time < run.watermark


@bug_of(CaseRun.refuses, "windows expire at their end, whatever the allowed lateness")
def allowed_lateness_ignored(run: CaseRun, event: Event) -> bool:
    windowing = run.program.windowing
    if isinstance(windowing, FixedWindows):
        return windowing.start(event.event_time) + windowing.size <= run.watermark
    return CaseRun.refuses(run, event)


@bug_of(CaseRun.refuses, "the late filter uses the watermark of the next advance")
def late_filter_one_step_early(run: CaseRun, event: Event) -> bool:
    return run.lateness.refuses(event.event_time, watermark_after(run, run.watermark), run.program)


@bug_of(CaseRun.refuses, "the late filter uses the watermark before the last advance")
def late_filter_one_step_late(run: CaseRun, event: Event) -> bool:
    return run.lateness.refuses(event.event_time, watermark_before(run, run.watermark), run.program)


@bug_of(CaseRun.refuses, "the late filter drops what is one millisecond after the watermark")
def late_filter_off_by_one(run: CaseRun, event: Event) -> bool:
    return CaseRun.refuses(run, event) or event.event_time == run.watermark + 1


@bug_of(CaseRun.deliver, "an advance that does not settle at once never reaches the late filter")
def late_filter_misses_a_coalesced_advance(run: CaseRun, step: Deliver) -> None:
    before = run.settled
    CaseRun.deliver(run, step)
    run.settled = before


@bug_of(CaseRun.advance, "the late filter and timers see the watermark of the next advance")
def watermark_one_step_early(run: CaseRun, step: Advance) -> None:
    CaseRun.advance(run, replace(step, watermark=watermark_after(run, step.watermark)))


@bug_of(CaseRun.advance, "the late filter and timers see the watermark before the last advance")
def watermark_one_step_late(run: CaseRun, step: Advance) -> None:
    CaseRun.advance(run, replace(step, watermark=watermark_before(run, step.watermark)))


@bug_of(CaseRun.count, "dropped elements are not counted")
def drops_not_counted(run: CaseRun, step: Deliver, delivered: int, received: int) -> StepCount:
    return StepCount(step.id, delivered, received, 0)


@bug_of(CaseRun.count, "dropped elements are counted twice")
def drops_counted_twice(run: CaseRun, step: Deliver, delivered: int, received: int) -> StepCount:
    return StepCount(step.id, delivered, received, 2 * (delivered - received))


@bug_of(CaseRun.refuses, "an element of an expired window is still processed, and opens it again")
def windows_never_expire(run: CaseRun, event: Event) -> bool:
    return not isinstance(run.program.windowing, FixedWindows) and CaseRun.refuses(run, event)


MOST_MS, MOST_SECONDS = 2**32, 2**31 * 1000


@bug_of(CaseRun.set_timer, "a timer keeps 32 bits of its milliseconds")
def timer_keeps32_bits_of_milliseconds(run: CaseRun, timer: TimerId, time: int) -> None:
    CaseRun.set_timer(run, timer, time % MOST_MS)


@bug_of(CaseRun.set_timer, "a timer for a date after 2038 is set for one before 1970")
def timer_keeps32_bits_of_seconds(run: CaseRun, timer: TimerId, time: int) -> None:
    CaseRun.set_timer(run, timer, time if time < MOST_SECONDS else time - 2 * MOST_SECONDS)


@bug_of(CaseRun.refuses, "an event after 2038 is dropped as late")
def events_after2038_dropped(run: CaseRun, event: Event) -> bool:
    return event.event_time >= MOST_SECONDS or CaseRun.refuses(run, event)


@bug_of(CaseRun.process, "a program is told 32 bits of the milliseconds of an event's time")
def event_times_keep32_bits(run: CaseRun, event: Event) -> None:
    CaseRun.process(run, replace(event, event_time=event.event_time % MOST_MS))

"""Bugs of the event times of outputs."""

from dataclasses import replace
from typing import Any

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug, bug_of
from conformance.engines.mutants.schedules import bundle_of
from conformance.model.program import FixedWindows, Output, Timer
from conformance.model.schedule import Deliver, Event


@bug_of(CaseRun.output_time, "an element's output has the watermark as its time")
def outputs_at_the_watermark(run: CaseRun, cause: Event | Timer) -> int:
    return run.watermark if isinstance(cause, Event) else CaseRun.output_time(run, cause)


@bug_of(CaseRun.output_time, "a timer's output has the watermark as its time")
def timers_put_out_at_the_watermark(run: CaseRun, cause: Event | Timer) -> int:
    return run.watermark if isinstance(cause, Timer) else CaseRun.output_time(run, cause)


@bug_of(CaseRun.output_time, "an output that would be late has the watermark as its time")
def late_outputs_moved(run: CaseRun, cause: Event | Timer) -> int:
    time = CaseRun.output_time(run, cause)
    return max(run.watermark, time) if isinstance(cause, Event) else time


@bug("the output of a timer that was set for a passed time has the watermark as its time")
class PassedTimersMoved(CaseRun):
    passed: frozenset[TimerId] = frozenset()
    moved = False

    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time)
        self.passed = self.passed | {timer} if time <= self.watermark else self.passed - {timer}

    def fire(self, timer: TimerId, time: int) -> None:
        self.moved = timer in self.passed
        super().fire(timer, time)

    def output_time(self, cause: Event | Timer) -> int:
        return self.watermark if self.moved and isinstance(cause, Timer) else super().output_time(cause)


@bug_of(CaseRun.output_time, "all outputs of a bundle have the time of its first element")
def outputs_of_a_bundle_at_one_time(run: CaseRun, cause: Event | Timer) -> int:
    bundle = bundle_of(run)
    return bundle.events[0].event_time if bundle and isinstance(cause, Event) else CaseRun.output_time(run, cause)


@bug_of(CaseRun.timed, "only the first output of a call has the element's time, further ones that of the watermark")
def further_outputs_at_the_watermark(run: CaseRun, outputs: list[Output], cause: Event | Timer) -> list[Output]:
    found = CaseRun.timed(run, outputs, cause)
    return [*found[:1], *(replace(o, event_time=o.event_time and run.watermark) for o in found[1:])]


@bug_of(CaseRun.output_time, "the time of an output is cut to whole seconds")
def output_times_cut_to_seconds(run: CaseRun, cause: Event | Timer) -> int:
    time = CaseRun.output_time(run, cause)
    return time - time % 1_000


@bug_of(CaseRun.output_time, "the time of an output past 2**31 s is cut to 31 bits of seconds")
def output_times_cut_to31_bits(run: CaseRun, cause: Event | Timer) -> int:
    return CaseRun.output_time(run, cause) % (2**31 * 1_000)


@bug("the output of a timer has the time of the last element of its key")
class TimersPutOutAtTheLastElement(CaseRun):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.latest: dict[str, int] = {}

    def process(self, event: Event) -> None:
        self.latest[event.key] = event.event_time
        super().process(event)

    def output_time(self, cause: Event | Timer) -> int:
        return super().output_time(cause) if isinstance(cause, Event) else self.latest.get(cause.key, cause.time)


@bug("the output of a timer that was moved has the time that it was first set for")
class MovedTimersPutOutAtTheFirstTime(CaseRun):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.firsts: dict[TimerId, int] = {}
        self.first = 0

    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time)
        self.firsts.setdefault(timer, time)

    def fire(self, timer: TimerId, time: int) -> None:
        self.first = self.firsts.pop(timer, time)
        super().fire(timer, time)

    def output_time(self, cause: Event | Timer) -> int:
        return super().output_time(cause) if isinstance(cause, Event) else self.first


@bug("a timer that a timer set puts out at the time of the timer that set it")
class ChainedTimersPutOutAtTheFirst(CaseRun):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.firing: int | None = None
        self.set_at: dict[TimerId, int] = {}
        self.told = 0

    def set_timer(self, timer: TimerId, time: int) -> None:
        super().set_timer(timer, time)
        if self.firing is not None:
            self.set_at[timer] = self.firing

    def fire(self, timer: TimerId, time: int) -> None:
        self.firing, self.told = time, self.set_at.pop(timer, time)
        super().fire(timer, time)
        self.firing = None

    def output_time(self, cause: Event | Timer) -> int:
        return super().output_time(cause) if isinstance(cause, Event) else self.told


@bug("the outputs of a bundle that is tried again have the watermark as their time")
class RetriedOutputsAtTheWatermark(CaseRun):
    retried = -1

    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        self.retried = bundle.id

    def output_time(self, cause: Event | Timer) -> int:
        tried_again = self.step == self.retried and isinstance(cause, Event)
        return self.watermark if tried_again else super().output_time(cause)


@bug_of(CaseRun.output_time, "the output at the end of a window has the time of the next window's first millisecond")
def windows_put_out_after_their_end(run: CaseRun, cause: Event | Timer) -> int:
    in_windows = isinstance(run.program.windowing, FixedWindows)
    return CaseRun.output_time(run, cause) + (in_windows and isinstance(cause, Timer))

"""Mutants: the reference engine with one seeded bug each. They show that the guarantees can be broken, and are noticed.

Each bug is one that a real engine could have. ``mutant:NAME`` is an engine id like any other.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from typing import Any

from conformance.model import Advance, Deliver, Event, Json, Step, StepCount, canonical
from conformance.program import Cell, FixedWindows, Output
from conformance.registry import UnknownName
from engines.reference import CaseRun, CaseTimers, Combining, Reference, Scope, Value

MUTANTS: dict[str, tuple[str, type[CaseRun]]] = {}
"""Name -> (the bug in words, the reference with it)."""


def mutant(name: str) -> Reference:
    """The engine ``mutant:name``.

    Raises:
        UnknownName: no such mutant.
    """
    if name not in MUTANTS:
        raise UnknownName(f"unknown mutant {name!r}; there are: {', '.join(sorted(MUTANTS))}")
    description, bugged = MUTANTS[name]
    engine = Reference()
    engine.id, engine.title, engine.case_run = f"mutant:{name}", f"reference, but {description}", bugged
    return engine


def _bug(name: str, description: str) -> Callable[[type[CaseRun]], type[CaseRun]]:
    def register(bugged: type[CaseRun]) -> type[CaseRun]:
        MUTANTS[name] = (description, bugged)
        return bugged

    return register


def _next_watermark(run: CaseRun) -> int:
    return next((a.watermark for a in run.case.schedule.advances if a.watermark > run.watermark), run.watermark)


def _previous_watermark(run: CaseRun) -> int:
    return max((a.watermark for a in run.case.schedule.advances if a.watermark < run.watermark), default=0)


# Lateness


@_bug("late-at-the-watermark", "the late filter drops what is exactly at the watermark")
class LateAtTheWatermark(CaseRun):
    def refuses(self, event: Event) -> bool:
        return super().refuses(event) or event.event_time == self.watermark


@_bug("never-late", "nothing is ever dropped as late")
class NeverLate(CaseRun):
    def refuses(self, event: Event) -> bool:
        return False


@_bug("late-by-row-in-windows", "fixed windows drop by the element's time, not by the window's end")
class LateByRowInWindows(CaseRun):
    def refuses(self, event: Event) -> bool:
        return event.event_time < self.watermark


@_bug("allowed-lateness-ignored", "windows expire at their end, whatever the allowed lateness")
class AllowedLatenessIgnored(CaseRun):
    def refuses(self, event: Event) -> bool:
        windowing = self.program.windowing
        if isinstance(windowing, FixedWindows):
            return windowing.start(event.event_time) + windowing.size <= self.watermark
        return super().refuses(event)


@_bug("late-filter-one-step-early", "the late filter uses the watermark of the next advance")
class LateFilterOneStepEarly(CaseRun):
    def refuses(self, event: Event) -> bool:
        return self.lateness.refuses(event.event_time, _next_watermark(self), self.program)


@_bug("late-filter-one-step-late", "the late filter uses the watermark before the last advance")
class LateFilterOneStepLate(CaseRun):
    def refuses(self, event: Event) -> bool:
        return self.lateness.refuses(event.event_time, _previous_watermark(self), self.program)


@_bug("late-filter-off-by-one", "the late filter drops what is one millisecond after the watermark")
class LateFilterOffByOne(CaseRun):
    def refuses(self, event: Event) -> bool:
        return super().refuses(event) or event.event_time == self.watermark + 1


@_bug("drops-not-counted", "dropped elements are not counted")
class DropsNotCounted(CaseRun):
    def count(self, step: Deliver, delivered: int, received: int) -> StepCount:
        return StepCount(step.id, delivered, received, 0)


@_bug("drops-counted-twice", "dropped elements are counted twice")
class DropsCountedTwice(CaseRun):
    def count(self, step: Deliver, delivered: int, received: int) -> StepCount:
        return StepCount(step.id, delivered, received, 2 * (delivered - received))


@_bug("windows-never-expire", "an element of an expired window is still processed, and opens it again")
class WindowsNeverExpire(CaseRun):
    def refuses(self, event: Event) -> bool:
        return not isinstance(self.program.windowing, FixedWindows) and super().refuses(event)


# State


@_bug("state-shared-across-keys", "all keys share one state")
class StateSharedAcrossKeys(CaseRun):
    def cells(self, scope: Scope) -> Any:
        return super().cells(("", scope[1]))


@_bug("state-shared-across-windows", "all windows of a key share one state")
class StateSharedAcrossWindows(CaseRun):
    def scope(self, event: Event) -> Scope:
        return event.key, 0


@_bug("window-boundary-off-by-one", "an element at the start of a window counts for the window before")
class WindowBoundaryOffByOne(CaseRun):
    def scope(self, event: Event) -> Scope:
        return super().scope(replace(event, event_time=max(event.event_time - 1, 0)))


@_bug("state-lost-after-a-bundle", "state is lost between bundles")
class StateLostAfterABundle(CaseRun):
    def deliver(self, step: Deliver) -> None:
        super().deliver(step)
        self.state.clear()


@_bug("state-lost-on-advance", "state is lost when the watermark moves")
class StateLostOnAdvance(CaseRun):
    def advance(self, step: Advance) -> None:
        self.state.clear()
        super().advance(step)


@_bug("stale-reads-in-a-bundle", "every element of a bundle reads the state from before the bundle")
class StaleReadsInABundle(CaseRun):
    def deliver(self, step: Deliver) -> None:
        self._before = copy.deepcopy(self.state)
        super().deliver(step)

    def process(self, event: Event) -> None:
        scope = self.scope(event)
        self.state[scope] = copy.deepcopy(self._before.get(scope, {}))
        super().process(event)


@_bug("clear-does-nothing", "clearing a cell leaves its value")
class ClearDoesNothing(CaseRun):
    class Kept(Value):
        def clear(self) -> None:
            pass

    def cell(self, kind: Cell, stored: dict[str, Json], name: str) -> Any:
        return self.Kept(stored, name) if kind is Cell.VALUE else super().cell(kind, stored, name)


@_bug("combining-keeps-the-largest", "a combining cell keeps its largest input instead of the sum")
class CombiningKeepsTheLargest(CaseRun):
    class Largest(Combining):
        def add(self, value: int) -> None:
            self.set(max(self.get(), value))

    def cell(self, kind: Cell, stored: dict[str, Json], name: str) -> Any:
        return self.Largest(stored, name) if kind is Cell.COMBINING else super().cell(kind, stored, name)


@_bug("combining-adds-twice", "a combining cell adds every input twice")
class CombiningAddsTwice(CaseRun):
    class Doubled(Combining):
        def add(self, value: int) -> None:
            super().add(2 * value)

    def cell(self, kind: Cell, stored: dict[str, Json], name: str) -> Any:
        return self.Doubled(stored, name) if kind is Cell.COMBINING else super().cell(kind, stored, name)


@_bug("last-write-of-a-bundle-lost", "the last element of a bundle leaves no trace in the state")
class LastWriteOfABundleLost(CaseRun):
    def process(self, event: Event) -> None:
        before = copy.deepcopy(self.state)
        super().process(event)
        bundle = next(step for step in self.case.schedule.bundles if step.id == self.step)
        if event is bundle.events[-1]:
            self.state = before


# Restarts


@_bug("state-lost-on-restart", "a restart begins with empty state")
class StateLostOnRestart(CaseRun):
    def restart(self) -> None:
        self.state.clear()


@_bug("timers-lost-on-restart", "a restart forgets the timers")
class TimersLostOnRestart(CaseRun):
    def restart(self) -> None:
        self.timers.clear()


@_bug("output-replayed-on-restart", "a restart puts out once more what the step before it did")
class OutputReplayedOnRestart(CaseRun):
    def restart(self) -> None:
        before = max((e.step for e in self.emissions), default=None)
        self.emissions += [e for e in self.emissions if e.step == before]


@_bug("checkpoint-one-bundle-old", "a restart resumes with the state from before the last bundle")
class CheckpointOneBundleOld(CaseRun):
    def deliver(self, step: Deliver) -> None:
        self._old = copy.deepcopy(self.state)
        super().deliver(step)

    def restart(self) -> None:
        self.state = self._old


# Delivery and order


@_bug("bundle-reversed", "the elements of a bundle are processed in reverse")
class BundleReversed(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return tuple(reversed(events))


@_bug("bundle-sorted-by-time", "the elements of a bundle are processed in order of event time")
class BundleSortedByTime(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return sorted(events, key=lambda event: -event.event_time)


@_bug("bundles-swapped", "two bundles between the same advances are processed in the wrong order")
class BundlesSwapped(CaseRun):
    def run(self) -> None:
        swapped: list[Step] = []
        for bundles, group in groupby(self.case.schedule.steps, key=lambda step: isinstance(step, Deliver)):
            steps = list(group)
            swapped += steps[::-1] if bundles else steps
        self.run_steps(swapped)


@_bug("last-of-a-bundle-dropped", "the last element of a bundle is dropped")
class LastOfABundleDropped(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return events[:-1]


@_bug("first-of-a-bundle-doubled", "the first element of a bundle is processed twice")
class FirstOfABundleDoubled(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return (*events[:1], *events)


@_bug("first-of-a-key-dropped", "the first element of every key is dropped")
class FirstOfAKeyDropped(CaseRun):
    def process(self, event: Event) -> None:
        if self.scope(event) in self.state:
            super().process(event)
        else:
            self.state[self.scope(event)] = {}


@_bug("equal-elements-collapse", "elements of a bundle with equal key, value and time count as one")
class EqualElementsCollapse(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return list({(e.key, canonical(e.value), e.event_time): e for e in reversed(events)}.values())[::-1]


@_bug("one-element-per-key-and-bundle", "only the last element of a key in a bundle is processed")
class OneElementPerKeyAndBundle(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return list({event.key: event for event in events}.values())


@_bug("out-of-order-dropped", "an element is dropped when a later one of its key came before it")
class OutOfOrderDropped(CaseRun):
    def refuses(self, event: Event) -> bool:
        self._highest = getattr(self, "_highest", {})
        highest = self._highest.get(event.key, 0)
        self._highest[event.key] = max(highest, event.event_time)
        return super().refuses(event) or event.event_time < highest


@_bug("times-truncated-to-the-minute", "event times lose their seconds on the way in")
class TimesTruncatedToTheMinute(CaseRun):
    def process(self, event: Event) -> None:
        super().process(replace(event, event_time=event.event_time // 60_000 * 60_000))


# Output


@_bug("last-output-of-a-bundle-lost", "the last element of a bundle gives no output")
class LastOutputOfABundleLost(CaseRun):
    def process(self, event: Event) -> None:
        kept = len(self.emissions)
        super().process(event)
        bundle = next(step for step in self.case.schedule.bundles if step.id == self.step)
        if event is bundle.events[-1]:
            del self.emissions[kept:]


@_bug("output-twice", "every output comes out twice")
class OutputTwice(CaseRun):
    def emit(self, key: str, outputs: list[Output]) -> None:
        super().emit(key, [output for output in outputs for _ in range(2)])


@_bug("output-of-timers-lost", "what a timer's callback puts out is lost")
class OutputOfTimersLost(CaseRun):
    def fire(self, timer: tuple[str, int, str, str], time: int) -> None:
        kept = len(self.emissions)
        super().fire(timer, time)
        del self.emissions[kept:]


@_bug("output-under-another-key", "output of a bundle comes out under the key of the bundle's first element")
class OutputUnderAnotherKey(CaseRun):
    def emit(self, key: str, outputs: list[Output]) -> None:
        bundle = next((step for step in self.case.schedule.bundles if step.id == self.step and step.events), None)
        super().emit(bundle.events[0].key if bundle else key, outputs)


# Timers


@_bug("timers-never-fire", "timers never fire")
class TimersNeverFire(CaseRun):
    def fire_due(self) -> None:
        pass


@_bug("timers-one-step-late", "timers fire one advance too late")
class TimersOneStepLate(CaseRun):
    def due(self) -> list[tuple[int, tuple[str, int, str, str]]]:
        return [due for due in super().due() if due[0] <= _previous_watermark(self)]


@_bug("timers-one-step-early", "timers fire one advance too early")
class TimersOneStepEarly(CaseRun):
    def due(self) -> list[tuple[int, tuple[str, int, str, str]]]:
        return sorted((time, timer) for timer, time in self.timers.items() if time <= _next_watermark(self))


@_bug("timers-strictly-after", "a timer at exactly the watermark does not fire yet")
class TimersStrictlyAfter(CaseRun):
    def due(self) -> list[tuple[int, tuple[str, int, str, str]]]:
        return [due for due in super().due() if due[0] < self.watermark]


@_bug("timers-fire-twice", "a timer fires twice, with the state from before its first firing")
class TimersFireTwice(CaseRun):
    def fire(self, timer: tuple[str, int, str, str], time: int) -> None:
        before = copy.deepcopy(self.state)
        super().fire(timer, time)
        after, self.state = self.state, before
        super().fire(timer, time)
        self.state = after


@_bug("one-timer-per-advance", "an advance fires the earliest due timer and loses the others")
class OneTimerPerAdvance(CaseRun):
    def fire_due(self) -> None:
        if due := self.due():
            for _, timer in due:
                del self.timers[timer]
            self.fire(due[0][1], due[0][0])


@_bug("timers-shared-across-keys", "a timer of one key moves the timer of that name of another")
class TimersSharedAcrossKeys(CaseRun):
    def process(self, event: Event) -> None:
        before = set(self.timers)
        super().process(event)
        for new in set(self.timers) - before:
            for old in before:
                if old[2:] == new[2:]:
                    self.timers.pop(old, None)


@_bug("timer-state-empty", "a timer's callback finds its key's state empty")
class TimerStateEmpty(CaseRun):
    def fire(self, timer: tuple[str, int, str, str], time: int) -> None:
        self.state.pop(timer[:2], None)
        super().fire(timer, time)


@_bug("timers-in-the-order-set", "due timers fire in the order in which they were set")
class TimersInTheOrderSet(CaseRun):
    def due(self) -> list[tuple[int, tuple[str, int, str, str]]]:
        return [(time, timer) for timer, time in self.timers.items() if time <= self.watermark]


@_bug("timers-in-reverse", "due timers fire latest first")
class TimersInReverse(CaseRun):
    def due(self) -> list[tuple[int, tuple[str, int, str, str]]]:
        return super().due()[::-1]


@_bug("cleared-timers-fire", "clearing a timer does nothing")
class ClearedTimersFire(CaseRun):
    def timers_of(self, scope: Scope) -> CaseTimers:
        class Kept(CaseTimers):
            def clear(self, name: str, tag: str = "") -> None:
                pass

        return Kept(self, scope)


@_bug("timers-lost-on-advance", "an advance forgets the timers that it does not fire")
class TimersLostOnAdvance(CaseRun):
    def advance(self, step: Advance) -> None:
        super().advance(step)
        self.timers.clear()

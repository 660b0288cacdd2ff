"""Bugs of delivery and order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby, pairwise

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug
from conformance.model.schedule import Advance, Deliver, Event, Step
from conformance.model.values import canonical


@bug("the elements of a bundle are processed in reverse")
class BundleReversed(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return tuple(reversed(events))


@bug("the elements of a bundle are processed in order of event time")
class BundleSortedByTime(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return sorted(events, key=lambda event: -event.event_time)


@bug("two bundles between the same advances are processed in the wrong order")
class BundlesSwapped(CaseRun):
    def run(self) -> None:
        swapped: list[Step] = []
        for bundles, group in groupby(self.case.schedule.steps, key=lambda step: isinstance(step, Deliver)):
            steps = list(group)
            swapped += steps[::-1] if bundles else steps
        self.run_steps(swapped)


@bug("the third bundle between two advances is processed before the others")
class ThirdBundleFirst(CaseRun):
    def run(self) -> None:
        moved: list[Step] = []
        for bundles, group in groupby(self.case.schedule.steps, key=lambda step: isinstance(step, Deliver)):
            steps = list(group)
            moved += [*steps[2:3], *steps[:2], *steps[3:]] if bundles else steps
        self.run_steps(moved)


@bug("the last bundle before an advance is processed after it")
class BundleOvertakenByTheWatermark(CaseRun):
    def run(self) -> None:
        steps = list(self.case.schedule.steps)
        for place, (bundle, advance) in enumerate(pairwise(self.case.schedule.steps)):
            if isinstance(bundle, Deliver) and isinstance(advance, Advance) and not advance.coalesced:
                steps[place : place + 2] = [advance, bundle]
        self.run_steps(steps)


@bug("the last element of a bundle is dropped")
class LastOfABundleDropped(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return events[:-1]


@bug("the first element of a bundle is processed twice")
class FirstOfABundleDoubled(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return (*events[:1], *events)


@bug("the first element of every key is dropped")
class FirstOfAKeyDropped(CaseRun):
    def process(self, event: Event) -> None:
        if self.scope(event) in self.state:
            super().process(event)
        else:
            self.state[self.scope(event)] = {}


@bug("elements of a bundle with equal key, value and time count as one")
class EqualElementsCollapse(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return list({(e.key, canonical(e.value), e.event_time): e for e in reversed(events)}.values())[::-1]


@bug("only the last element of a key in a bundle is processed")
class OneElementPerKeyAndBundle(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return list({event.key: event for event in events}.values())


@bug("an element is dropped when a later one of its key came before it")
class OutOfOrderDropped(CaseRun):
    def refuses(self, event: Event) -> bool:
        self._highest = getattr(self, "_highest", {})
        highest = self._highest.get(event.key, 0)
        self._highest[event.key] = max(highest, event.event_time)
        return super().refuses(event) or event.event_time < highest


@bug("event times lose their seconds on the way in")
class TimesTruncatedToTheMinute(CaseRun):
    def process(self, event: Event) -> None:
        super().process(replace(event, event_time=event.event_time // 60_000 * 60_000))

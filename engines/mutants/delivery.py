"""Bugs of delivery and order."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby, pairwise

from conformance.engines.case_run import CaseRun
from conformance.engines.mutants.registry import bug, bug_of
from conformance.model.schedule import Advance, Deliver, Event, Step
from conformance.model.values import canonical


@bug_of(CaseRun.arrange, "the elements of a bundle are processed in reverse")
def bundle_reversed(run: CaseRun, events: tuple[Event, ...]) -> Iterable[Event]:
    return tuple(reversed(events))


@bug_of(CaseRun.arrange, "the elements of a bundle are processed in order of event time")
def bundle_sorted_by_time(run: CaseRun, events: tuple[Event, ...]) -> Iterable[Event]:
    return sorted(events, key=lambda event: -event.event_time)


@bug_of(CaseRun.run, "two bundles between the same advances are processed in the wrong order")
def bundles_swapped(run: CaseRun) -> None:
    swapped: list[Step] = []
    for bundles, group in groupby(run.case.schedule.steps, key=lambda step: isinstance(step, Deliver)):
        steps = list(group)
        swapped += steps[::-1] if bundles else steps
    run.run_steps(swapped)


@bug_of(CaseRun.run, "the third bundle between two advances is processed before the others")
def third_bundle_first(run: CaseRun) -> None:
    moved: list[Step] = []
    for bundles, group in groupby(run.case.schedule.steps, key=lambda step: isinstance(step, Deliver)):
        steps = list(group)
        moved += [*steps[2:3], *steps[:2], *steps[3:]] if bundles else steps
    run.run_steps(moved)


@bug_of(CaseRun.run, "the last bundle before an advance is processed after it")
def bundle_overtaken_by_the_watermark(run: CaseRun) -> None:
    steps = list(run.case.schedule.steps)
    for place, (bundle, advance) in enumerate(pairwise(run.case.schedule.steps)):
        if isinstance(bundle, Deliver) and isinstance(advance, Advance) and not advance.coalesced:
            steps[place : place + 2] = [advance, bundle]
    run.run_steps(steps)


@bug_of(CaseRun.arrange, "the last element of a bundle is dropped")
def last_of_a_bundle_dropped(run: CaseRun, events: tuple[Event, ...]) -> Iterable[Event]:
    return events[:-1]


@bug_of(CaseRun.arrange, "the first element of a bundle is processed twice")
def first_of_a_bundle_doubled(run: CaseRun, events: tuple[Event, ...]) -> Iterable[Event]:
    return (*events[:1], *events)


@bug_of(CaseRun.process, "the first element of every key is dropped")
def first_of_a_key_dropped(run: CaseRun, event: Event) -> None:
    if run.scope(event) in run.state:
        CaseRun.process(run, event)
    else:
        run.state[run.scope(event)] = {}


@bug_of(CaseRun.arrange, "elements of a bundle with equal key, value and time count as one")
def equal_elements_collapse(run: CaseRun, events: tuple[Event, ...]) -> Iterable[Event]:
    return list({(e.key, canonical(e.value), e.event_time): e for e in reversed(events)}.values())[::-1]


@bug_of(CaseRun.arrange, "only the last element of a key in a bundle is processed")
def one_element_per_key_and_bundle(run: CaseRun, events: tuple[Event, ...]) -> Iterable[Event]:
    return list({event.key: event for event in events}.values())


@bug("an element is dropped when a later one of its key came before it")
class OutOfOrderDropped(CaseRun):
    def refuses(self, event: Event) -> bool:
        self._highest = getattr(self, "_highest", {})
        highest = self._highest.get(event.key, 0)
        self._highest[event.key] = max(highest, event.event_time)
        return super().refuses(event) or event.event_time < highest


@bug_of(CaseRun.process, "event times lose their seconds on the way in")
def times_truncated_to_the_minute(run: CaseRun, event: Event) -> None:
    CaseRun.process(run, replace(event, event_time=event.event_time // 60_000 * 60_000))

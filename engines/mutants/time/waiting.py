"""Bugs of what comes back: keys that were quiet, visits of a key between those of others, and what waits over a
restart."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug, bug_of
from conformance.model.program import Output, State
from conformance.model.schedule import Deliver, Event
from conformance.model.values import copied


@bug_of(CaseRun.deliver, "a key that a bundle does not have loses its state with that bundle")
def quiet_keys_forgotten(run: CaseRun, step: Deliver) -> None:
    CaseRun.deliver(run, step)
    there = {run.identity(event.key) for event in step.events}
    run.state = {scope: cells for scope, cells in run.state.items() if scope[0] in there}


@bug("a key that two bundles in a row do not have loses its state")
class KeysQuietForTwoBundlesForgotten(CaseRun):
    before: frozenset[str] = frozenset()

    def deliver(self, step: Deliver) -> None:
        super().deliver(step)
        there = frozenset(self.identity(event.key) for event in step.events)
        self.state = {scope: cells for scope, cells in self.state.items() if scope[0] in there | self.before}
        self.before = there


@bug_of(CaseRun.deliver, "the timers of a key that a bundle does not have are lost with that bundle")
def timers_of_quiet_keys_lost(run: CaseRun, step: Deliver) -> None:
    there = {run.identity(event.key) for event in step.events}
    run.timers = {timer: time for timer, time in run.timers.items() if timer[0] in there}
    CaseRun.deliver(run, step)


@bug("a key that comes again in a bundle, after another one, sees the state from before the bundle")
class SecondVisitSeesOldState(CaseRun):
    def attempt(self, bundle: Deliver) -> int:
        self._before, self._seen = copied(self.state), set[Scope]()
        self._last: Scope | None = None
        return super().attempt(bundle)

    def process(self, event: Event) -> None:
        scope = self.scope(event)
        if scope in self._seen and scope != self._last:
            self.state[scope] = copied(self._before.get(scope, {}))
        super().process(event)
        self._seen.add(scope)
        self._last = scope


@bug_of(CaseRun.arrange, "of a key that comes again in a bundle, after another one, only the first visit is processed")
def second_visit_lost(run: CaseRun, events: tuple[Event, ...]) -> list[Event]:
    kept, left, last = list[Event](), set[str](), None
    for event in events:
        if event.key not in left:
            kept.append(event)
        if last is not None and last != event.key:
            left.add(last)
        last = event.key
    return kept


@bug("of timers that fire in one step, those after the third are lost")
class FourthTimerOfAStepLost(CaseRun):
    fired = (0, 0)

    def fire(self, timer: TimerId, time: int) -> None:
        step, number = self.fired
        self.fired = self.step, number + 1 if step == self.step else 1
        if self.fired[1] <= 3:
            super().fire(timer, time)


@bug_of(CaseRun.emit, "what a call puts out beyond the first is lost")
def later_output_of_a_call_lost(run: CaseRun, key: str, outputs: list[Output]) -> None:
    CaseRun.emit(run, key, outputs[:1])


@bug_of(CaseRun.emit, "of what a key puts out in a step, all beyond four is lost")
def fifth_output_of_a_step_lost(run: CaseRun, key: str, outputs: list[Output]) -> None:
    there = sum(e.step == run.step and e.key == key for e in run.emissions)
    CaseRun.emit(run, key, outputs[: max(0, 4 - there)])


@bug_of(CaseRun.restart, "timers that are due at the watermark of a restart are lost")
def due_timers_lost_on_restart(run: CaseRun) -> None:
    run.timers = {timer: time for timer, time in run.timers.items() if time > run.watermark + 1_000}


@bug("a third restart begins with empty state")
class StateLostOnTheThirdRestart(CaseRun):
    restarts = 0

    def restart(self) -> None:
        self.restarts += 1
        if self.restarts == 3:
            self.state.clear()


@bug_of(CaseRun.arrange, "an element of the very instant of the one before it, under its key, is taken for a duplicate")
def one_instant_one_element(run: CaseRun, events: tuple[Event, ...]) -> list[Event]:
    kept: dict[tuple[str, int], Event] = {}
    for event in events:
        kept.setdefault((event.key, event.event_time), event)
    return list(kept.values())


@bug_of(CaseRun.cells, "the state of a key in its second window is that of its first")
def second_window_sees_the_first(run: CaseRun, scope: Scope) -> State:
    key, window = scope
    earlier = [other for other in run.state if other[0] == key and other[1] < window]
    if scope not in run.state and earlier:
        run.state[scope] = copied(run.state[max(earlier)])
    return CaseRun.cells(run, scope)


@bug_of(CaseRun.attempt, "a late element ends the bundle that it is in")
def late_element_ends_its_bundle(run: CaseRun, bundle: Deliver) -> int:
    taken = list[Event]()
    for event in bundle.events:
        if run.refuses(event):
            break
        taken.append(event)
    for event in taken:
        run.process(event)
    return len(taken)


@bug_of(CaseRun.attempt, "a late element empties the state of its key")
def late_element_empties_its_key(run: CaseRun, bundle: Deliver) -> int:
    for event in bundle.events:
        if run.refuses(event):
            run.state.pop(run.scope(event), None)
    return CaseRun.attempt(run, bundle)


@bug("a key that its last bundle only read is given back its state from before")
class ReadOnlyVisitsGoBack(CaseRun):
    older: Mapping[Scope, Any] = MappingProxyType({})

    def deliver(self, step: Deliver) -> None:
        before = copied(self.state)
        super().deliver(step)
        for event in step.events:
            scope = self.scope(event)
            if scope in before and before[scope] == self.state.get(scope) and scope in self.older:
                self.state[scope] = self.older[scope]
        self.older = {**self.older, **{s: before[s] for s in before if before[s] != self.state.get(s)}}

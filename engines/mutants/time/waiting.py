"""Bugs of what comes back: keys that were quiet, visits of a key between those of others, and what waits over a
restart."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from conformance.engines.case_run import CaseRun, Scope, TimerId
from conformance.engines.mutants.registry import bug
from conformance.model.program import Output, State
from conformance.model.schedule import Deliver, Event
from conformance.model.values import copied


@bug("a key that a bundle does not have loses its state with that bundle")
class QuietKeysForgotten(CaseRun):
    def deliver(self, step: Deliver) -> None:
        super().deliver(step)
        there = {self.identity(event.key) for event in step.events}
        self.state = {scope: cells for scope, cells in self.state.items() if scope[0] in there}


@bug("a key that two bundles in a row do not have loses its state")
class KeysQuietForTwoBundlesForgotten(CaseRun):
    before: frozenset[str] = frozenset()

    def deliver(self, step: Deliver) -> None:
        super().deliver(step)
        there = frozenset(self.identity(event.key) for event in step.events)
        self.state = {scope: cells for scope, cells in self.state.items() if scope[0] in there | self.before}
        self.before = there


@bug("the timers of a key that a bundle does not have are lost with that bundle")
class TimersOfQuietKeysLost(CaseRun):
    def deliver(self, step: Deliver) -> None:
        there = {self.identity(event.key) for event in step.events}
        self.timers = {timer: time for timer, time in self.timers.items() if timer[0] in there}
        super().deliver(step)


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


@bug("of a key that comes again in a bundle, after another one, only the first visit is processed")
class SecondVisitLost(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> list[Event]:
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


@bug("what a call puts out beyond the first is lost")
class LaterOutputOfACallLost(CaseRun):
    def emit(self, key: str, outputs: list[Output]) -> None:
        super().emit(key, outputs[:1])


@bug("of what a key puts out in a step, all beyond four is lost")
class FifthOutputOfAStepLost(CaseRun):
    def emit(self, key: str, outputs: list[Output]) -> None:
        there = sum(e.step == self.step and e.key == key for e in self.emissions)
        super().emit(key, outputs[: max(0, 4 - there)])


@bug("timers that are due at the watermark of a restart are lost")
class DueTimersLostOnRestart(CaseRun):
    def restart(self) -> None:
        self.timers = {timer: time for timer, time in self.timers.items() if time > self.watermark + 1_000}


@bug("a third restart begins with empty state")
class StateLostOnTheThirdRestart(CaseRun):
    restarts = 0

    def restart(self) -> None:
        self.restarts += 1
        if self.restarts == 3:
            self.state.clear()


@bug("an element of the very instant of the one before it, under its key, is taken for a duplicate")
class OneInstantOneElement(CaseRun):
    def arrange(self, events: tuple[Event, ...]) -> list[Event]:
        kept: dict[tuple[str, int], Event] = {}
        for event in events:
            kept.setdefault((event.key, event.event_time), event)
        return list(kept.values())


@bug("the state of a key in its second window is that of its first")
class SecondWindowSeesTheFirst(CaseRun):
    def cells(self, scope: Scope) -> State:
        key, window = scope
        earlier = [other for other in self.state if other[0] == key and other[1] < window]
        if scope not in self.state and earlier:
            self.state[scope] = copied(self.state[max(earlier)])
        return super().cells(scope)


@bug("a late element ends the bundle that it is in")
class LateElementEndsItsBundle(CaseRun):
    def attempt(self, bundle: Deliver) -> int:
        taken = list[Event]()
        for event in bundle.events:
            if self.refuses(event):
                break
            taken.append(event)
        for event in taken:
            self.process(event)
        return len(taken)


@bug("a late element empties the state of its key")
class LateElementEmptiesItsKey(CaseRun):
    def attempt(self, bundle: Deliver) -> int:
        for event in bundle.events:
            if self.refuses(event):
                self.state.pop(self.scope(event), None)
        return super().attempt(bundle)


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

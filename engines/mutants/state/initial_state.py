"""Bugs of the state that a job starts with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from conformance.engines.case_run import CaseRun, Scope
from conformance.engines.mutants.registry import bug
from conformance.model.schedule import Advance, Event
from conformance.model.values import Json


@bug("a job starts empty, whatever it is given to start with")
class InitialStateIgnored(CaseRun):
    def start(self, events: Iterable[Event]) -> None:
        pass


@bug("what a job starts with is processed as if it were elements")
class InitialStateAsElements(CaseRun):
    def start(self, events: Iterable[Event]) -> None:
        events = list(events)
        super().start(events)
        for event in events:
            self.process(event)


@bug("a restart applies the initial state once more")
class InitialStateAgainOnRestart(CaseRun):
    def restart(self) -> None:
        super().restart()
        self.start(self.case.schedule.initial)


@bug("an advance forgets initial state that no element has come for")
class InitialStateWithTheFirstBundlesAlone(CaseRun):
    def start(self, events: Iterable[Event]) -> None:
        super().start(events)
        self._waiting = dict(self.state)

    def process(self, event: Event) -> None:
        self.waiting.pop(self.scope(event), None)
        super().process(event)

    def advance(self, step: Advance) -> None:
        if self.counts:  # not before the first bundle
            for scope in self.waiting:
                self.state.pop(scope, None)
        super().advance(step)

    @property
    def waiting(self) -> dict[Scope, dict[str, Json]]:
        return getattr(self, "_waiting", {})


@bug("every key starts with the first key's initial state, if it has none of its own")
class InitialStateForEveryKey(CaseRun):
    def start(self, events: Iterable[Event]) -> None:
        events = list(events)
        super().start(events)
        given = {event.key for event in events}
        for key in {arrival.event.key for arrival in self.case.schedule.arrivals} - given:
            for event in events[:1]:
                super().start([replace(event, key=key)])

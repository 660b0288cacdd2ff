"""Bugs of the state that a job starts with."""

from collections.abc import Iterable
from dataclasses import replace

from conformance.engines.case_run import CaseRun, Scope
from conformance.engines.mutants.registry import bug, bug_of
from conformance.model.schedule import Advance, Event
from conformance.model.values import Json


@bug_of(CaseRun.start, "a job starts empty, whatever it is given to start with")
def initial_state_ignored(run: CaseRun, events: Iterable[Event]) -> None:
    pass


@bug_of(CaseRun.start, "what a job starts with is processed as if it were elements")
def initial_state_as_elements(run: CaseRun, events: Iterable[Event]) -> None:
    events = list(events)
    CaseRun.start(run, events)
    for event in events:
        run.process(event)


@bug_of(CaseRun.restart, "a restart applies the initial state once more")
def initial_state_again_on_restart(run: CaseRun) -> None:
    CaseRun.restart(run)
    run.start(run.case.schedule.initial)


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


@bug_of(CaseRun.start, "every key starts with the first key's initial state, if it has none of its own")
def initial_state_for_every_key(run: CaseRun, events: Iterable[Event]) -> None:
    events = list(events)
    CaseRun.start(run, events)
    given = {event.key for event in events}
    for key in {arrival.event.key for arrival in run.case.schedule.arrivals} - given:
        for event in events[:1]:
            CaseRun.start(run, [replace(event, key=key)])

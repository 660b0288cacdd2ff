"""Bugs of a job that goes on after another one was killed in a bundle."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from conformance.engines.case_run import CaseRun, Scope
from conformance.engines.mutants.registry import bug, remembers
from conformance.engines.mutants.schedules import LastBundle
from conformance.model.schedule import Crash, Deliver, Event
from conformance.model.values import Json

State = dict[Scope, dict[str, Json]]


@bug("what is stored when a job is killed is taken one bundle too old")
class StateOneBundleBehindAfterAKill(CaseRun):
    _old: State | None = None

    @remembers
    def deliver(self, step: Deliver) -> None:
        before = copy.deepcopy(self.state)
        super().deliver(step)
        self._old = before

    def crash(self, bundle: Deliver, step: Crash) -> None:
        super().crash(bundle, step)
        if step.again and self._old is not None:
            self.state = copy.deepcopy(self._old)


class _Keeps(CaseRun):
    """Goes on from some of the state that a killed job had stored for a bundle that is done again."""

    def keeps(self, step: Crash, scope: Scope) -> bool:
        raise NotImplementedError

    def crash(self, bundle: Deliver, step: Crash) -> None:
        super().crash(bundle, step)
        if step.again and any(self.keeps(step, self.scope(event)) for event in bundle.events):
            before, timers, put_out = copy.deepcopy(self.state), dict(self.timers), list(self.emissions)
            self.attempt(bundle)
            stored, self.state, self.timers, self.emissions = self.state, before, timers, put_out
            self.state |= {scope: cells for scope, cells in stored.items() if self.keeps(step, scope)}


@bug("a bundle is applied twice if its state was stored when the job was killed")
class StoredBundleAppliedTwice(_Keeps):
    def keeps(self, step: Crash, scope: Scope) -> bool:
        return step.at in ("state", "sink")


@bug("a bundle is applied twice to the partition that had stored its state when the job was killed")
class StoredPartitionAppliedTwice(_Keeps):
    def keeps(self, step: Crash, scope: Scope) -> bool:
        return step.at == "partition" and sum(scope[0].encode()) % 2 == 1


@bug("state that was half written when a job was killed is read as empty state")
class HalfWrittenStateReadAsNone(CaseRun):
    def crash(self, bundle: Deliver, step: Crash) -> None:
        super().crash(bundle, step)
        if step.at == "upload":
            self.state.clear()


@bug("a snapshot that was half written when a job was killed is read as empty state")
class HalfWrittenSnapshotReadAsNone(CaseRun):
    def go_on(self, step: Crash) -> None:
        if step.at == "maintenance":
            self.state.clear()


@bug("a bundle that was planned when a job was killed is taken for done")
class PlannedBundleSkipped(CaseRun):
    _planned: int | None = None

    @remembers
    def crash(self, bundle: Deliver, step: Crash) -> None:
        super().crash(bundle, step)
        if step.at == "offsets":
            self._planned = bundle.id

    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return () if self.step == self._planned else super().arrange(events)


@bug("a bundle that was done when a job was killed is done again")
class DoneBundleDoneAgain(LastBundle):
    def go_on(self, step: Crash) -> None:
        if step.at == "commit" and self.last_bundle:
            self.attempt(self.last_bundle)


@bug("what the sink had when a job was killed stays there beside what it gets for the bundle again")
class OutputOfAKilledJobKept(CaseRun):
    def crash(self, bundle: Deliver, step: Crash) -> None:
        super().crash(bundle, step)
        if step.at == "sink":
            state, timers = copy.deepcopy(self.state), dict(self.timers)
            self.attempt(bundle)
            self.state, self.timers = state, timers


@bug("a job that is killed in a bundle goes on without timers")
class TimersLostAfterAKill(CaseRun):
    def crash(self, bundle: Deliver, step: Crash) -> None:
        super().crash(bundle, step)
        if step.again:
            self.timers.clear()


@bug("two jobs killed in one bundle, one after the other, leave empty state")
class StateLostAfterTwoKills(CaseRun):
    _killed_in: int | None = None

    def crash(self, bundle: Deliver, step: Crash) -> None:
        super().crash(bundle, step)
        if self._killed_in == bundle.id:
            self.state.clear()
        self._killed_in = bundle.id

"""Bugs of a job that goes on after another one was killed in a bundle."""

import copy
from collections.abc import Iterable

from conformance.engines.case_run import CaseRun, Scope
from conformance.engines.mutants.registry import bug, bug_of, remembers
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


@bug_of(CaseRun.crash, "state that was half written when a job was killed is read as empty state")
def half_written_state_read_as_none(run: CaseRun, bundle: Deliver, step: Crash) -> None:
    CaseRun.crash(run, bundle, step)
    if step.at == "upload":
        run.state.clear()


@bug_of(CaseRun.go_on, "a snapshot that was half written when a job was killed is read as empty state")
def half_written_snapshot_read_as_none(run: CaseRun, step: Crash) -> None:
    if step.at == "maintenance":
        run.state.clear()


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


@bug_of(CaseRun.go_on, "a bundle that was done when a job was killed is done again", LastBundle)
def done_bundle_done_again(run: LastBundle, step: Crash) -> None:
    if step.at == "commit" and run.last_bundle:
        run.attempt(run.last_bundle)


@bug_of(CaseRun.crash, "what the sink had when a job was killed stays there beside what it gets for the bundle again")
def output_of_a_killed_job_kept(run: CaseRun, bundle: Deliver, step: Crash) -> None:
    CaseRun.crash(run, bundle, step)
    if step.at == "sink":
        state, timers = copy.deepcopy(run.state), dict(run.timers)
        run.attempt(bundle)
        run.state, run.timers = state, timers


@bug_of(CaseRun.crash, "a job that is killed in a bundle goes on without timers")
def timers_lost_after_a_kill(run: CaseRun, bundle: Deliver, step: Crash) -> None:
    CaseRun.crash(run, bundle, step)
    if step.again:
        run.timers.clear()


@bug("two jobs killed in one bundle, one after the other, leave empty state")
class StateLostAfterTwoKills(CaseRun):
    _killed_in: int | None = None

    def crash(self, bundle: Deliver, step: Crash) -> None:
        super().crash(bundle, step)
        if self._killed_in == bundle.id:
            self.state.clear()
        self._killed_in = bundle.id

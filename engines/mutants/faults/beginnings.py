"""Bugs that show in few circumstances: before there is any state, in one partition, behind a long advance, with times
to live at a restart or an empty bundle."""

from conformance.engines.case_run import CaseRun, Checkpoint, Scope
from conformance.engines.mutants.faults.restarts import Restarts
from conformance.engines.mutants.registry import bug, bug_of
from conformance.engines.mutants.schedules import LastBundle
from conformance.model.schedule import Advance, Deliver, Event, Partitions
from conformance.model.values import Json, copied

DAY = 86_400_000


class _Begun(LastBundle):
    @property
    def begun(self) -> bool:
        """Whether there was a bundle."""
        return self.last_bundle is not None


@bug_of(CaseRun.go_back, "the state that a failed attempt at the first bundle wrote is kept", _Begun)
def first_failed_attempt_kept(run: _Begun, before: Checkpoint) -> None:
    state = run.state
    _Begun.go_back(run, before)
    if not run.begun:
        run.state = state


@bug("a first bundle whose first attempt failed is not tried again")
class FirstFailedBundleSkipped(_Begun):
    failed = False

    def go_back(self, before: Checkpoint) -> None:
        super().go_back(before)
        self.failed = not self.begun

    def attempt(self, bundle: Deliver) -> int:
        if self.failed and not self.begun:
            return 0
        return super().attempt(bundle)


@bug("a job whose first bundle failed, and that resumes, begins with the watermark of a new one")
class FirstResumeForgetsTheWatermark(_Begun):
    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        if resume and not self.begun:
            self.settled = 0


@bug_of(CaseRun.restart, "a restart before the first bundle forgets the watermark", _Begun)
def restart_before_forgets_the_watermark(run: _Begun) -> None:
    if not run.begun:
        run.settled = 0


@bug_of(CaseRun.restart, "a restart before the first bundle loses the initial state", _Begun)
def restart_before_loses_initial_state(run: _Begun) -> None:
    if not run.begun:
        run.state.clear()


@bug("a job that was restarted before its first bundle loses that bundle's state")
class RestartBeforeLosesTheFirstBundle(_Begun):
    restarted = False

    def restart(self) -> None:
        self.restarted = not self.begun or self.restarted

    def deliver(self, step: Deliver) -> None:
        first = not self.begun
        super().deliver(step)
        if first and self.restarted:
            self.state.clear()


class _OnePartition(CaseRun):
    @property
    def alone(self) -> bool:
        """Whether all state is in one partition."""
        return any(isinstance(step, Partitions) and step.count == 1 for step in self.case.schedule.steps)


@bug_of(CaseRun.scope, "in one partition, all keys share a state", _OnePartition)
def one_partition_shares_state(run: _OnePartition, event: Event) -> Scope:
    key, window = _OnePartition.scope(run, event)
    return (min(run.identity(a.event.key) for a in run.case.schedule.arrivals) if run.alone else key), window


@bug_of(CaseRun.fire_due, "in one partition, no timer fires before the last advance", _OnePartition)
def one_partition_fires_late(run: _OnePartition) -> None:
    if not run.alone or run.watermark == run.case.schedule.advances[-1].watermark:
        _OnePartition.fire_due(run)


class _LongAdvance(CaseRun):
    """``passes`` is called before the watermark moves by more than a day at once."""

    def advance(self, step: Advance) -> None:
        if self.watermark and step.watermark - self.watermark > DAY:
            self.passes()
        super().advance(step)

    def passes(self) -> None:
        raise NotImplementedError


@bug("an advance of more than a day loses the timers that it makes due")
class LongAdvanceLosesTimers(_LongAdvance):
    def passes(self) -> None:
        self.timers.clear()


@bug("an advance of more than a day empties the state of each key without a timer")
class LongAdvanceEmptiesState(_LongAdvance):
    def passes(self) -> None:
        waiting = {timer[:2] for timer in self.timers}
        self.state = {scope: cells for scope, cells in self.state.items() if scope in waiting}


@bug_of(CaseRun.advance, "of an advance by more than 2**31 ms the watermark takes what fits")
def long_advance_cut(run: CaseRun, step: Advance) -> None:
    before = run.watermark
    CaseRun.advance(run, step)
    if before and step.watermark - before > 2**31:
        run.settled = before


def _expiring(run: CaseRun) -> dict[Scope, dict[str, Json]]:
    """A copy of the state, cells with a TTL alone."""
    return {
        scope: {name: copied(stored) for name, stored in cells.items() if name in run.program.ttl}
        for scope, cells in run.state.items()
    }


def _written_at(stored: Json, now: int) -> Json:
    """What a cell with a TTL has stored, as if all of it had been written at a time (ms)."""
    if isinstance(stored, list):
        return [each | {"at": now} for each in stored]
    if "at" in stored:
        return stored | {"at": now}
    return {name: each | {"at": now} for name, each in stored.items()}


@bug_of(CaseRun.restart, "a restart begins every time to live anew")
def restart_begins_ttls_anew(run: CaseRun) -> None:
    for scope, cells in _expiring(run).items():
        run.state[scope] |= {name: _written_at(stored, run.now) for name, stored in cells.items()}


@bug_of(CaseRun.restart, "a restart ends every time to live")
def restart_ends_ttls(run: CaseRun) -> None:
    for scope, cells in _expiring(run).items():
        for name in cells:
            del run.state[scope][name]


@bug_of(CaseRun.restart, "a second restart loses what has a time to live", Restarts)
def ttl_state_lost_on_the_second_restart(run: Restarts) -> None:
    Restarts.restart(run)
    for scope, cells in _expiring(run).items() if run.restarts > 1 else ():
        for name in cells:
            del run.state[scope][name]


@bug_of(CaseRun.deliver, "an empty bundle begins every time to live anew")
def empty_bundle_begins_ttls_anew(run: CaseRun, step: Deliver) -> None:
    for scope, cells in _expiring(run).items() if not step.events else ():
        run.state[scope] |= {name: _written_at(stored, run.now) for name, stored in cells.items()}
    CaseRun.deliver(run, step)


@bug_of(CaseRun.deliver, "an empty bundle ends every time to live")
def empty_bundle_ends_ttls(run: CaseRun, step: Deliver) -> None:
    for scope, cells in _expiring(run).items() if not step.events else ():
        for name in cells:
            del run.state[scope][name]
    CaseRun.deliver(run, step)

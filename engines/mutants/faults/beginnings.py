"""Bugs that show in few circumstances: before there is any state, in one partition, behind a long advance, with times
to live at a restart or an empty bundle."""

from __future__ import annotations

from conformance.engines.case_run import CaseRun, Checkpoint, Scope
from conformance.engines.mutants.faults.restarts import Restarts
from conformance.engines.mutants.registry import bug
from conformance.engines.mutants.schedules import LastBundle
from conformance.model.schedule import Advance, Deliver, Event, Partitions
from conformance.model.values import Json, copied

DAY = 86_400_000


class _Begun(LastBundle):
    @property
    def begun(self) -> bool:
        """Whether there was a bundle."""
        return self.last_bundle is not None


@bug("the state that a failed attempt at the first bundle wrote is kept")
class FirstFailedAttemptKept(_Begun):
    def go_back(self, before: Checkpoint) -> None:
        state = self.state
        super().go_back(before)
        if not self.begun:
            self.state = state


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


@bug("a restart before the first bundle forgets the watermark")
class RestartBeforeForgetsTheWatermark(_Begun):
    def restart(self) -> None:
        if not self.begun:
            self.settled = 0


@bug("a restart before the first bundle loses the initial state")
class RestartBeforeLosesInitialState(_Begun):
    def restart(self) -> None:
        if not self.begun:
            self.state.clear()


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


@bug("in one partition, all keys share a state")
class OnePartitionSharesState(_OnePartition):
    def scope(self, event: Event) -> Scope:
        key, window = super().scope(event)
        return (min(self.identity(a.event.key) for a in self.case.schedule.arrivals) if self.alone else key), window


@bug("in one partition, no timer fires before the last advance")
class OnePartitionFiresLate(_OnePartition):
    def fire_due(self) -> None:
        if not self.alone or self.watermark == self.case.schedule.advances[-1].watermark:
            super().fire_due()


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


@bug("of an advance by more than 2**31 ms the watermark takes what fits")
class LongAdvanceCut(CaseRun):
    def advance(self, step: Advance) -> None:
        before = self.watermark
        super().advance(step)
        if before and step.watermark - before > 2**31:
            self.settled = before


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


@bug("a restart begins every time to live anew")
class RestartBeginsTtlsAnew(CaseRun):
    def restart(self) -> None:
        for scope, cells in _expiring(self).items():
            self.state[scope] |= {name: _written_at(stored, self.now) for name, stored in cells.items()}


@bug("a restart ends every time to live")
class RestartEndsTtls(CaseRun):
    def restart(self) -> None:
        for scope, cells in _expiring(self).items():
            for name in cells:
                del self.state[scope][name]


@bug("a second restart loses what has a time to live")
class TtlStateLostOnTheSecondRestart(Restarts):
    def restart(self) -> None:
        super().restart()
        for scope, cells in _expiring(self).items() if self.restarts > 1 else ():
            for name in cells:
                del self.state[scope][name]


@bug("an empty bundle begins every time to live anew")
class EmptyBundleBeginsTtlsAnew(CaseRun):
    def deliver(self, step: Deliver) -> None:
        for scope, cells in _expiring(self).items() if not step.events else ():
            self.state[scope] |= {name: _written_at(stored, self.now) for name, stored in cells.items()}
        super().deliver(step)


@bug("an empty bundle ends every time to live")
class EmptyBundleEndsTtls(CaseRun):
    def deliver(self, step: Deliver) -> None:
        for scope, cells in _expiring(self).items() if not step.events else ():
            for name in cells:
                del self.state[scope][name]
        super().deliver(step)

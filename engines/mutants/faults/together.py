"""Bugs that two changes of a schedule show together, and neither of them alone."""

from __future__ import annotations

from conformance.engines.case_run import Checkpoint
from conformance.engines.mutants.registry import bug, remembers
from conformance.engines.mutants.schedules import LastBundle
from conformance.engines.mutants.typed.epochs import MOST_SECONDS
from conformance.model.schedule import Advance, Deliver, Event, Partitions


class _History(LastBundle):
    """Knows what has happened to the job."""

    restarted = failed = idle = False

    @remembers
    def restart(self) -> None:
        self.restarted = True
        super().restart()

    @remembers
    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        self.failed = True

    @remembers
    def no_data(self) -> None:
        super().no_data()
        self.idle = True

    @property
    def repartitioned(self) -> bool:
        return isinstance(self.case.schedule.steps[0], Partitions)


@bug("a restart of a job that had a failed attempt begins with empty state")
class StateLostOnRestartAfterAFailure(_History):
    def restart(self) -> None:
        super().restart()
        if self.failed:
            self.state.clear()


@bug("a restart of a job that had a failed attempt forgets the timers")
class TimersLostOnRestartAfterAFailure(_History):
    def restart(self) -> None:
        super().restart()
        if self.failed:
            self.timers.clear()


@bug("a failed attempt counts in a job that was restarted, and so does the next one")
class FailedAttemptKeptAfterARestart(_History):
    def go_back(self, before: Checkpoint) -> None:
        if not self.restarted:
            super().go_back(before)


@bug("a restart with another number of partitions begins with empty state")
class StateLostOnRestartOfPartitions(_History):
    def restart(self) -> None:
        super().restart()
        if self.repartitioned:
            self.state.clear()


@bug("a failed attempt counts in a job with another number of partitions, and so does the next one")
class FailedAttemptKeptOfPartitions(_History):
    def go_back(self, before: Checkpoint) -> None:
        if not self.repartitioned:
            super().go_back(before)


@bug("a bundle without any element loses the timers of a job that was restarted")
class TimersLostWithoutDataAfterARestart(_History):
    def no_data(self) -> None:
        super().no_data()
        if self.restarted:
            self.timers.clear()


@bug("a restart begins with empty state after a bundle without any element")
class StateLostOnRestartWithoutData(_History):
    def restart(self) -> None:
        super().restart()
        if self.idle:
            self.state.clear()


@bug("an empty bundle of a job that was restarted is the bundle before once more")
class EmptyBundleRepeatsAfterARestart(_History):
    def attempt(self, bundle: Deliver) -> int:
        if self.restarted and not bundle.events and self.last_bundle:
            super().attempt(self.last_bundle)
        return super().attempt(bundle)


@bug("a job that was restarted does not wait for an advance that a bundle comes with")
class CoalescedAdvanceFiresAfterARestart(_History):
    def advance(self, step: Advance) -> None:
        super().advance(step)
        if step.coalesced and self.restarted:
            self.settle()


@bug("a restart after 2038 forgets the timers")
class TimersLostOnRestartAfter2038(_History):
    def restart(self) -> None:
        super().restart()
        if self.watermark >= MOST_SECONDS:
            self.timers.clear()


@bug("a bundle after 2038 that follows an empty one is dropped as late")
class EventsAfterAnEmptyBundleDroppedAfter2038(_History):
    def refuses(self, event: Event) -> bool:
        dropped = self.last_bundle and not self.last_bundle.events and self.watermark >= MOST_SECONDS
        return bool(dropped) or super().refuses(event)

"""Bugs that two changes of a schedule show together, and neither of them alone."""

from collections.abc import Callable

from conformance.engines.case_run import CaseRun, Checkpoint
from conformance.engines.mutants.registry import bug, bug_of, family, remembers
from conformance.engines.mutants.schedules import LastBundle
from conformance.engines.mutants.time.lateness import MOST_SECONDS
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


class _Forgets(_History):
    """A restart loses one thing where something has happened to the job."""

    change: Callable[[_History], bool]
    of: tuple[str]

    def restart(self) -> None:
        super().restart()
        if self.change(self):
            [lost] = self.of
            getattr(self, lost).clear()


at_a_restart = family(__name__, _Forgets)

at_a_restart(
    "StateLostOnRestartAfterAFailure",
    "a restart of a job that had a failed attempt begins with empty state",
    lambda run: run.failed,
    "state",
)
at_a_restart(
    "TimersLostOnRestartAfterAFailure",
    "a restart of a job that had a failed attempt forgets the timers",
    lambda run: run.failed,
    "timers",
)


@bug_of(CaseRun.go_back, "a failed attempt counts in a job that was restarted, and so does the next one", _History)
def failed_attempt_kept_after_a_restart(run: _History, before: Checkpoint) -> None:
    if not run.restarted:
        _History.go_back(run, before)


at_a_restart(
    "StateLostOnRestartOfPartitions",
    "a restart with another number of partitions begins with empty state",
    lambda run: run.repartitioned,
    "state",
)


@bug("a failed attempt counts in a job with another number of partitions, and so does the next one")
class FailedAttemptKeptOfPartitions(_History):
    def go_back(self, before: Checkpoint) -> None:
        if not self.repartitioned:
            super().go_back(before)


@bug_of(CaseRun.no_data, "a bundle without any element loses the timers of a job that was restarted", _History)
def timers_lost_without_data_after_a_restart(run: _History) -> None:
    _History.no_data(run)
    if run.restarted:
        run.timers.clear()


at_a_restart(
    "StateLostOnRestartWithoutData",
    "a restart begins with empty state after a bundle without any element",
    lambda run: run.idle,
    "state",
)


@bug_of(CaseRun.attempt, "an empty bundle of a job that was restarted is the bundle before once more", _History)
def empty_bundle_repeats_after_a_restart(run: _History, bundle: Deliver) -> int:
    if run.restarted and not bundle.events and run.last_bundle:
        _History.attempt(run, run.last_bundle)
    return _History.attempt(run, bundle)


@bug_of(CaseRun.advance, "a job that was restarted does not wait for an advance that a bundle comes with", _History)
def coalesced_advance_fires_after_a_restart(run: _History, step: Advance) -> None:
    _History.advance(run, step)
    if step.coalesced and run.restarted:
        run.settle()


at_a_restart(
    "TimersLostOnRestartAfter2038",
    "a restart after 2038 forgets the timers",
    lambda run: run.watermark >= MOST_SECONDS,
    "timers",
)


@bug_of(CaseRun.refuses, "a bundle after 2038 that follows an empty one is dropped as late", _History)
def events_after_an_empty_bundle_dropped_after2038(run: _History, event: Event) -> bool:
    dropped = run.last_bundle and not run.last_bundle.events and run.watermark >= MOST_SECONDS
    return bool(dropped) or _History.refuses(run, event)

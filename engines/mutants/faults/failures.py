"""Bugs of a failed attempt and of the next one."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace

from conformance.engines.case_run import CaseRun, Checkpoint
from conformance.engines.mutants.registry import bug
from conformance.engines.mutants.schedules import LastBundle, bundle_of
from conformance.model.schedule import Deliver, Event


@bug("a failed attempt counts, and so does the next one")
class FailedAttemptKept(CaseRun):
    def go_back(self, before: Checkpoint) -> None:
        pass


@bug("the state that a failed attempt wrote is kept")
class StateOfAFailedAttemptKept(CaseRun):
    def go_back(self, before: Checkpoint) -> None:
        super().go_back(replace(before, state=self.state))


@bug("what the first element of a failed attempt wrote is kept")
class FirstWriteOfAFailedAttemptKept(CaseRun):
    def go_back(self, before: Checkpoint) -> None:
        super().go_back(before)
        kept = len(self.emissions)
        if bundle := bundle_of(self):
            self.attempt(replace(bundle, events=bundle.events[:1]))
        del self.emissions[kept:]


@bug("what a failed attempt put out comes out, and again with the next one")
class OutputOfAFailedAttemptKept(CaseRun):
    def go_back(self, before: Checkpoint) -> None:
        super().go_back(replace(before, emissions=self.emissions))


class _Retries(CaseRun):
    """Knows the bundle that is tried again."""

    retried: int | None = None

    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        self.retried = bundle.id


@bug("what a bundle that is tried again puts out is lost")
class RetryLosesItsOutput(_Retries):
    def deliver(self, step: Deliver) -> None:
        before = list(self.emissions)
        super().deliver(step)
        if step.id == self.retried:
            self.emissions = before


@bug("what a bundle that is tried again writes is lost")
class RetryLosesItsWrites(_Retries):
    def deliver(self, step: Deliver) -> None:
        before = copy.deepcopy(self.state)
        super().deliver(step)
        if step.id == self.retried:
            self.state = before


@bug("a bundle whose first attempt failed is not tried again")
class FailedBundleSkipped(_Retries):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return () if self.step == self.retried else super().arrange(events)


@bug("a bundle that is tried again is processed in reverse")
class RetryInReverse(_Retries):
    def arrange(self, events: tuple[Event, ...]) -> Iterable[Event]:
        return events[::-1] if self.step == self.retried else super().arrange(events)


@bug("a job that resumes after a failure has no timers")
class TimersLostOnResume(CaseRun):
    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        if resume:
            self.timers.clear()


@bug("a job that resumes after a failure processes the bundle before once more")
class LastBundleReadAgainOnResume(LastBundle):
    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        if resume and self.last_bundle:
            self.attempt(self.last_bundle)

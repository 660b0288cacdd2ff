"""Bugs of a failed attempt and of the next one."""

import copy
from collections.abc import Iterable
from dataclasses import replace

from conformance.engines.case_run import CaseRun, Checkpoint
from conformance.engines.mutants.registry import bug_of
from conformance.engines.mutants.schedules import LastBundle, bundle_of
from conformance.model.schedule import Deliver, Event


@bug_of(CaseRun.go_back, "a failed attempt counts, and so does the next one")
def failed_attempt_kept(run: CaseRun, before: Checkpoint) -> None:
    pass


@bug_of(CaseRun.go_back, "the state that a failed attempt wrote is kept")
def state_of_a_failed_attempt_kept(run: CaseRun, before: Checkpoint) -> None:
    CaseRun.go_back(run, replace(before, state=run.state))


@bug_of(CaseRun.go_back, "what the first element of a failed attempt wrote is kept")
def first_write_of_a_failed_attempt_kept(run: CaseRun, before: Checkpoint) -> None:
    CaseRun.go_back(run, before)
    kept = len(run.emissions)
    if bundle := bundle_of(run):
        run.attempt(replace(bundle, events=bundle.events[:1]))
    del run.emissions[kept:]


@bug_of(CaseRun.go_back, "what a failed attempt put out comes out, and again with the next one")
def output_of_a_failed_attempt_kept(run: CaseRun, before: Checkpoint) -> None:
    CaseRun.go_back(run, replace(before, emissions=run.emissions))


class _Retries(CaseRun):
    """Knows the bundle that is tried again."""

    retried: int | None = None

    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        self.retried = bundle.id


@bug_of(CaseRun.deliver, "what a bundle that is tried again puts out is lost", _Retries)
def retry_loses_its_output(run: _Retries, step: Deliver) -> None:
    before = list(run.emissions)
    _Retries.deliver(run, step)
    if step.id == run.retried:
        run.emissions = before


@bug_of(CaseRun.deliver, "what a bundle that is tried again writes is lost", _Retries)
def retry_loses_its_writes(run: _Retries, step: Deliver) -> None:
    before = copy.deepcopy(run.state)
    _Retries.deliver(run, step)
    if step.id == run.retried:
        run.state = before


@bug_of(CaseRun.arrange, "a bundle whose first attempt failed is not tried again", _Retries)
def failed_bundle_skipped(run: _Retries, events: tuple[Event, ...]) -> Iterable[Event]:
    return () if run.step == run.retried else _Retries.arrange(run, events)


@bug_of(CaseRun.arrange, "a bundle that is tried again is processed in reverse", _Retries)
def retry_in_reverse(run: _Retries, events: tuple[Event, ...]) -> Iterable[Event]:
    return events[::-1] if run.step == run.retried else _Retries.arrange(run, events)


@bug_of(CaseRun.fail_once, "a job that resumes after a failure has no timers")
def timers_lost_on_resume(run: CaseRun, bundle: Deliver, resume: bool) -> None:
    CaseRun.fail_once(run, bundle, resume)
    if resume:
        run.timers.clear()


@bug_of(CaseRun.fail_once, "a job that resumes after a failure processes the bundle before once more", LastBundle)
def last_bundle_read_again_on_resume(run: LastBundle, bundle: Deliver, resume: bool) -> None:
    LastBundle.fail_once(run, bundle, resume)
    if resume and run.last_bundle:
        run.attempt(run.last_bundle)

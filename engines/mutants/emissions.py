"""Bugs of what comes out: when, under which key, how often, and whether it is whole; and of the counts of rows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from conformance.engines.case_run import CaseRun, TimerId
from conformance.engines.mutants.registry import bug, bug_of, family
from conformance.engines.mutants.schedules import bundle_of
from conformance.model.case import program_ref
from conformance.model.program import Output
from conformance.model.runs import StepCount
from conformance.model.schedule import Advance, Deliver, Event
from conformance.model.trace import DRAIN, Emission

Emissions = list[Emission]


class _Changed(CaseRun):
    """What came out is changed when the case is over."""

    change: Callable[[CaseRun, Emissions], Emissions]

    def run(self) -> None:
        super().run()
        self.emissions = self.change(self, self.emissions)


class _ChangedAfterARestart(CaseRun):
    """What comes out after the first restart is changed."""

    change: Callable[[CaseRun, Emissions], Emissions]
    _has_restarted = False

    def restart(self) -> None:
        super().restart()
        self._has_restarted = True
        self._emitted_by_the_restart = len(self.emissions)

    def run(self) -> None:
        super().run()
        if self._has_restarted:
            kept = self._emitted_by_the_restart
            self.emissions[kept:] = self.change(self, self.emissions[kept:])


changed = family(__name__, _Changed)
after_a_restart = family(__name__, _ChangedAfterARestart)


def _spoiled(value: Any) -> Any:
    """A value that came back broken."""
    return dict.fromkeys(value) if isinstance(value, dict) else None


def _at_the_end(emissions: Emissions) -> Emissions:
    return [replace(e, step=DRAIN) for e in emissions]


def _last_advance_at_the_end(run: CaseRun, emissions: Emissions) -> Emissions:
    last = run.case.schedule.steps[-1].id
    return [replace(e, step=DRAIN) if e.step == last else e for e in emissions]


def _first_of_a_key_lost(run: CaseRun, emissions: Emissions) -> Emissions:
    seen: set[str] = set()
    return [e for e in emissions if e.key in seen or seen.add(e.key)]  # type: ignore[func-returns-value]


def _not_null(run: CaseRun, emissions: Emissions) -> Emissions:
    return [e for e in emissions if e.value is not None or e.error]


def _each_once(run: CaseRun, emissions: Emissions) -> Emissions:
    return [e for number, e in enumerate(emissions) if e not in emissions[:number]]


def _held_for_an_advance(run: CaseRun, emissions: Emissions) -> Emissions:
    steps = run.case.schedule.steps
    after = {s.id: next((a.id for a in steps if isinstance(a, Advance) and a.id > s.id), s.id) for s in steps}
    bundles = {bundle.id for bundle in run.case.schedule.bundles}
    return [replace(e, step=after[e.step]) if e.step in bundles else e for e in emissions]


def _last_of_a_key_null(run: CaseRun, emissions: Emissions) -> Emissions:
    last = {e.key: number for number, e in enumerate(emissions)}
    return [replace(e, value=None) if last[e.key] == number else e for number, e in enumerate(emissions)]


def _without_last_field(run: CaseRun, emissions: Emissions) -> Emissions:
    def kept(value: Any) -> Any:
        return dict(list(value.items())[:-1]) if isinstance(value, dict) and len(value) > 1 else value

    return [replace(e, value=kept(e.value)) for e in emissions]


def _in_each_field(change: Callable[[Any], Any]) -> Callable[[CaseRun, Emissions], Emissions]:
    """Changes what is put out, and the fields of what has any."""

    def within(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: within(field) for name, field in value.items()}
        return change(value)

    return lambda run, emissions: [replace(e, value=within(e.value)) for e in emissions]


def _cut(value: Any) -> Any:
    return value[:20] if isinstance(value, str) else value


def _wrapped(value: Any) -> Any:
    return (value + 2**15) % 2**16 - 2**15 if isinstance(value, int) and not isinstance(value, bool) else value


def _under_one_key(run: CaseRun, emissions: Emissions) -> Emissions:
    return [replace(e, key=run.case.schedule.arrivals[0].event.key) for e in emissions]


def _garbage(run: CaseRun, emissions: Emissions) -> Emissions:
    return [replace(e, value=_spoiled(e.value)) for e in emissions[:-1]]


changed(
    "LastOutputAtTheEndOfTheStream",
    "the last output of a case comes out at the end of the stream",
    lambda run, emissions: [*emissions[:-1], *_at_the_end(emissions[-1:])],
)
changed(
    "LastAdvanceAtTheEndOfTheStream",
    "what the last advance makes due comes out at the end of the stream",
    _last_advance_at_the_end,
)
changed(
    "OutputAgainAtTheEndOfTheStream",
    "all output comes out once more at the end of the stream",
    lambda run, emissions: [*emissions, *_at_the_end(emissions)],
)
changed(
    "OutputUnderAKeyThatIsNone",
    "the first output of a case comes out again under a key that no element has",
    lambda run, emissions: [*emissions, *(replace(e, key="\0none") for e in emissions[:1])],
)


@bug_of(CaseRun.fire, "output of timers comes out under the empty key")
def output_of_timers_under_the_empty_key(run: CaseRun, timer: TimerId, time: int) -> None:
    kept = len(run.emissions)
    CaseRun.fire(run, timer, time)
    run.emissions[kept:] = [replace(e, key="") for e in run.emissions[kept:]]


changed("LastOutputLost", "the last output of a case is lost", lambda run, emissions: emissions[:-1])
changed("FirstOutputOfAKeyLost", "the first output of each key is lost", _first_of_a_key_lost)
changed("NullOutputLost", "output that is null is lost", _not_null)
changed("NothingComesOut", "nothing comes out", lambda run, emissions: [])
changed("EqualOutputsCollapse", "equal outputs of a key in a step come out once", _each_once)
changed("OutputHeldForAnAdvance", "the output of a bundle comes out with the advance after it", _held_for_an_advance)
changed("LastOutputOfAKeyIsNull", "the last output of each key is null", _last_of_a_key_null)
changed("FieldsOfOutputLost", "fields of output whose name begins like another one's are lost", _without_last_field)
changed("TextsInOutputCutOff", "texts in output are cut off after 20 characters", _in_each_field(_cut))
changed("NumbersInOutputWrapAround", "numbers in output above 32,767 wrap around", _in_each_field(_wrapped))
after_a_restart(
    "OutputAfterARestartTwice",
    "what comes out after a restart comes out twice",
    lambda run, emissions: [emission for emission in emissions for _ in range(2)],
)
after_a_restart(
    "FirstOutputAfterARestartLost", "the first output after a restart is lost", lambda run, emissions: emissions[1:]
)
after_a_restart("GarbageAfterARestart", "the last output after a restart is lost, and the others are nulls", _garbage)
after_a_restart("NothingAfterARestart", "nothing comes out after a restart", lambda run, emissions: [])
after_a_restart(
    "OutputAfterARestartUnderOneKey",
    "output after a restart comes out under the first key of the case",
    _under_one_key,
)


@bug("what comes out after a failure that resumed is broken")
class GarbageAfterAResume(CaseRun):
    _has_resumed = False

    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        self._has_resumed = self._has_resumed or resume

    def emit(self, key: str, outputs: list[Output]) -> None:
        super().emit(key, [replace(o, value=_spoiled(o.value)) for o in outputs] if self._has_resumed else outputs)


@bug("the output of the bundle that is tried again comes out after the next advance")
class OutputOfARetryHeld(CaseRun):
    _failed_bundle = -1

    def fail_once(self, bundle: Deliver, resume: bool) -> None:
        super().fail_once(bundle, resume)
        self._failed_bundle = bundle.id

    def run(self) -> None:
        super().run()
        after = next((a.id for a in self.case.schedule.advances if a.id > self._failed_bundle), self._failed_bundle)
        self.emissions = [replace(e, step=after) if e.step == self._failed_bundle else e for e in self.emissions]


@bug(
    "the first program of a pack loses the last row of a bundle, and the last program gets its own twice",
    looks_around=True,
)
class RowOfOneProgramForAnother(CaseRun):
    """Alone in its pack, a program loses the row."""

    def arrange(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        programs = sorted({program_ref(case.scenario, case.program) for case in self.pack.cases})
        mine = program_ref(self.case.scenario, self.case.program)
        if mine == programs[0]:
            return events[:-1]
        return (*events, *events[-1:]) if mine == programs[-1] else events

    def count(self, step: Deliver, delivered: int, received: int) -> StepCount:
        return StepCount(step.id, delivered, received, sum(map(self.refuses, step.events)))


@bug_of(CaseRun.process, "the last element of a bundle gives no output")
def last_output_of_a_bundle_lost(run: CaseRun, event: Event) -> None:
    kept = len(run.emissions)
    CaseRun.process(run, event)
    bundle = bundle_of(run)
    if bundle and event is bundle.events[-1]:
        del run.emissions[kept:]


@bug_of(CaseRun.emit, "every output comes out twice")
def output_twice(run: CaseRun, key: str, outputs: list[Output]) -> None:
    CaseRun.emit(run, key, [output for output in outputs for _ in range(2)])


@bug_of(CaseRun.fire, "what a timer's callback puts out is lost")
def output_of_timers_lost(run: CaseRun, timer: TimerId, time: int) -> None:
    kept = len(run.emissions)
    CaseRun.fire(run, timer, time)
    del run.emissions[kept:]


@bug_of(CaseRun.emit, "output of a bundle comes out under the key of the bundle's first element")
def output_under_another_key(run: CaseRun, key: str, outputs: list[Output]) -> None:
    bundle = bundle_of(run)
    CaseRun.emit(run, bundle.events[0].key if bundle and bundle.events else key, outputs)

"""The toy engine with one fault of its adapter each, what the kit must say of it, and harmless quirks that it must bear
with."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from toy_engine import CAPABILITIES, Bag, Combining, Job, Map, Set, Timers, Toy, Value

from conformance.model.engine import CannotRun, NotDriven
from conformance.model.feature import NATIVE, Feature, emulated, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import Cell, EngineFault, call
from conformance.model.schedule import FailOnce
from conformance.model.trace import DRAIN, Trace

BROKEN: dict[str, tuple[type, str]] = {}
"""Name -> (the engine's class, what a message about it says: a regular expression)."""

QUIRKS: dict[str, tuple[type, str]] = {}
"""Name -> (the engine's class, what a remark about it says, "" for none)."""


def broken(says: str) -> Callable[[type], type]:
    """Register an engine, or a toy that runs packs by this job."""

    def register(bugged: type) -> type:
        engine = bugged if issubclass(bugged, Toy) else type(bugged.__name__, (Toy,), {"job": bugged})
        BROKEN[bugged.__name__] = engine, says
        return bugged

    return register


def quirk(remark: str) -> Callable[[type], type]:
    def register(odd: type) -> type:
        QUIRKS[odd.__name__] = type(odd.__name__, (Toy,), {"job": odd}), remark
        return odd

    return register


def broken_in(method, says: str, register=broken):
    """Register a toy that has the function in the place of this method of the toy, or of its job."""

    def of(function):
        base = Toy if method.__qualname__.startswith("Toy.") else Job
        name = "".join(part.capitalize() for part in function.__name__.split("_"))
        register(says)(type(name, (base,), {method.__name__: function}))
        return function

    return of


def quirk_in(method, remark: str):
    return broken_in(method, remark, quirk)


def cell_of(kind: Cell, says: str) -> Callable[[type], type]:
    """Register a toy with this cell."""

    def register(bugged: type) -> type:
        broken(says)(type(bugged.__name__, (Job,), {"cells": {**Job.cells, kind: bugged}}))
        return bugged

    return register


def declaring(features=None, **fields):
    """Capabilities of the toy with other words."""
    return replace(CAPABILITIES, features={**CAPABILITIES.features, **(features or {})}, **fields)


# Declarations


@broken("capabilities are {}; make them a")
class CapabilitiesThatAreADict(Toy):
    capabilities = {}


@broken("capabilities call a number of partitions to choose unsupported without a word; .* give the reason")
class UnsupportedWithoutAReason(Toy):
    capabilities = declaring({Feature.PARTITIONS: unsupported("")})


@broken("title is '';")
class NoTitle(Toy):
    title = ""


@broken("capabilities.parallel is 0;")
class NoPackAtATime(Toy):
    capabilities = declaring(parallel=0)


@broken("in one partition .*NotImplementedError: toy 0.1 knows no Partitions; .* unsupported")
class ClaimsPartitions(Toy):
    capabilities = declaring({Feature.PARTITIONS: NATIVE})

    def evidence(self):
        return {}


@broken("lateness around a coalesced advance .* 'k3000'.* is missing, .* by the watermark before")
class ClaimsCoalescedAdvances(Toy):
    capabilities = declaring({Feature.COALESCED: NATIVE})


@broken("lateness in the global window .* a row far behind the watermark was dropped, though .* for 'never'")
class ClaimsThatNothingIsLate(Toy):
    capabilities = declaring(lateness=LatenessProfile(Lateness.NEVER, Lateness.WINDOW_EXPIRED))


@broken(
    "lateness in the global window .* a row at the watermark was dropped, though .* 'event time < watermark'; declare"
)
class ClaimsToKeepRowsAtTheWatermark(Toy):
    capabilities = declaring(lateness=LatenessProfile(Lateness.BEHIND, Lateness.WINDOW_EXPIRED))


@broken("lateness in fixed windows .* a row 1 ms behind the watermark, of an open window was processed, though")
class ClaimsToFilterWindowsByRow(Toy):
    capabilities = declaring(lateness=LatenessProfile(Lateness.AT_OR_BEHIND, Lateness.AT_OR_BEHIND))


@broken("rows are reported as late by an engine whose counter of late rows is unsupported")
class CountsWhatItCallsUncounted(Toy):
    capabilities = declaring({Feature.LATE_COUNTER: unsupported("toy 0.1 has none")})


@broken_in(Toy.evidence, r"evidence\(\) speaks of value state, which the capabilities do not call unsupported")
def evidence_against_what_it_can(self):
    return {Feature.VALUE: "no"}


@broken_in(Toy.evidence, r"evidence\(\) says '' of a number of partitions")
def empty_evidence(self):
    return {Feature.PARTITIONS: ""}


@broken_in(Toy.environment, r"environment\(\) says 'toy': ''; give strings that are not empty")
def empty_version(self):
    return {"toy": ""}


# Life and death


@broken_in(Toy.check, r"check\(\) raised ImportError: no toy; all it may raise is CannotRun")
def check_raises(self):
    raise ImportError("no toy")


@broken_in(Toy.open, r"open\(\) raised OSError: no\s?room")
def open_raises(self, folder):
    raise OSError("no\nroom")


@broken_in(Toy.open, r"close\(\) left the thread 'toy' running")
def does_not_close(self, folder):
    Toy.open(self, folder)
    self.ended = threading.Event()  # a test ends what the engine leaves
    threading.Thread(target=self.ended.wait, name="toy").start()


@broken_in(Toy.close, r"close\(\) raised AttributeError: .* a second time; let it end")
def closes_once(self):
    del self.folder


@broken_in(Toy.run, r"run\(\) is called from 2 threads at once")
def one_job_for_all_threads(self, pack, programs):
    self.current = Job(pack, programs, self.folder / "checkpoint.json")
    time.sleep(0.02)
    return self.current.run()


@broken(r"run a second time: .*; let nothing outlive a run")
class StateOutlivesARun(Toy):
    def __init__(self):
        super().__init__()
        self.state = {}

    def run(self, pack, programs):
        job = Job(pack, programs, self.folder / "checkpoint.json")
        job.state = self.state
        return job.run()


@broken(r"run a second time: .* is missing, which came out the first time; .* nothing depend on chance")
class ForgetsNowAndThen(Toy):
    """A case that it has seen before."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def run(self, pack, programs):
        run = super().run(pack, programs)
        traces = {case: Trace(()) if case in self.seen else trace for case, trace in run.traces.items()}
        self.seen |= run.traces.keys()
        return replace(run, traces=traces)


@broken("raised OSError: no luck; .* when it ran again, it came out right: let nothing depend on chance")
class FailsAtFirst(Toy):
    """Its first run."""

    capabilities = declaring(parallel=1)
    began = False

    def run(self, pack, programs):
        if not self.began:
            self.began = True
            raise OSError("no luck")
        return super().run(pack, programs)


# Rows and output


@broken_in(Job.process, "value state .* key 'b': .* is missing, which came out in the reference")
def loses_rows(self, case, event):
    if event.key != "b":
        Job.process(self, case, event)


@broken_in(Job.state_of, "value state of another case with an equal key .* came out, not")
def leaks_state_between_cases(self, scope):
    return Job.state_of(self, (scope[0], "", *scope[2:]))


@broken_in(Job.set_timer, "timers .* is missing, .* known by its name and tag")
def leaks_timers_between_cases(self, scope, name, tag, time):
    for other in [which for which in self.timers if which[0][2] == scope[2] and which[1:] == (name, tag)]:
        del self.timers[other]
    Job.set_timer(self, scope, name, tag, time)


@broken_in(Job.emit, "beside the cases of other trials, .* came out, not .*; keep cases of a pack apart")
def changes_beside_windows(self, scope, output):
    windows = any(case.program == "windows" for case in self.pack.cases)
    Job.emit(self, scope, replace(output, event_time=1) if windows and scope[0].endswith("/value") else output)


@broken_in(Job.emit, "value state .* came out, not .* as when it runs alone; keep cases of a pack apart")
def changes_when_it_is_alone(self, scope, output):
    alone = len(self.pack.cases) == 1 and "value" in str(output.value)
    Job.emit(self, scope, replace(output, event_time=1) if alone else output)


@broken("put out .* in step 1, not in step 2, as in the reference")
class TimersInTheStepThatSetThem(Job):
    def set_timer(self, scope, name, tag, time):
        super().set_timer(scope, name, tag, time)
        self.set_in = {**getattr(self, "set_in", {}), (scope, name, tag): self.step}

    def call(self, scope, callback, subject):
        step = self.step
        if callback == "on_timer" and step != DRAIN:
            self.step = self.set_in[scope, subject.name, subject.tag]
        super().call(scope, callback, subject)
        self.step = step


@broken_in(Job.emit, "put out .* in step 0, not in step 1, .* the step of its bundle")
def steps_counted_from_the_bundles(self, scope, output):
    step, self.step = self.step, max(0, self.step - 1)
    Job.emit(self, scope, output)
    self.step = step


@broken_in(Job.end, "a timer beyond the last advance .* came out, unlike in the reference; .* the step DRAIN")
def drains_into_the_last_step(self):
    last = self.step
    Job.end(self)
    self.emissions = {
        case: [replace(e, step=last) if e.step == DRAIN else e for e in found] for case, found in self.emissions.items()
    }


@broken_in(Job.emit, "came out in step 99, which the timeline does not have")
def unknown_steps(self, scope, output):
    step, self.step = self.step, 99
    Job.emit(self, scope, output)
    self.step = step


@broken_in(Job.emit, "came out under the key 'A', not 'a'")
def keys_in_capitals(self, scope, output):
    Job.emit(self, (*scope[:2], scope[2].upper(), scope[3]), output)


@broken_in(Job.process, "keys and event times .*1700000000000.* came out, not .*1700000000001")
def times_in_seconds(self, case, event):
    scope = self.scope(case, event)
    seconds = event.event_time // 1000 * 1000
    self.call(scope, "on_event", replace(event, event_time=seconds) if seconds >= 1_700_000_000_000 else event)


@broken_in(Job.emit, r"keys and event times .* came out, not .*1700000000005")
def emissions_without_their_time(self, scope, output):
    Job.emit(self, scope, replace(output, event_time=None))


@broken_in(Job.result, "no element .*there is no trace of it; give every case one")
def no_trace_of_what_is_empty(self):
    run = Job.result(self)
    return replace(run, traces={case: trace for case, trace in run.traces.items() if trace.emissions})


@broken_in(Job.emit, "not the same after it travelled as JSON")
def values_that_are_not_json(self, scope, output):
    value = tuple(output.value) if isinstance(output.value, list) else output.value
    Job.emit(self, scope, replace(output, value=value))


@broken("equal elements .* is missing")
class EqualElementsCollapse(Job):
    def attempt(self, step):
        self.seen = set()
        return super().attempt(step)

    def process(self, case, event):
        row = (case.id, event.key, json.dumps(event.value), event.event_time)
        if row not in self.seen:
            super().process(case, event)
        self.seen.add(row)


@broken_in(Job.result, "speaks of the case 'other'")
def traces_of_others(self):
    run = Job.result(self)
    return replace(run, traces={**run.traces, "other": Trace(())})


@broken_in(Job.process, "another id than in the reference")
def ids_of_its_own(self, case, event):
    Job.process(self, case, replace(event, id=f"row {event.id}"))


# Counts


@broken_in(Job.result, "rows are counted as received, programs got")
def counts_all_as_received(self):
    run = Job.result(self)
    return replace(run, counts=tuple(replace(count, received=count.delivered) for count in run.counts))


@broken_in(Job.result, "None rows are reported as late, .* were dropped; read the engine's counter")
def no_number_of_late_rows(self):
    run = Job.result(self)
    return replace(run, counts=tuple(replace(count, reported_late=None) for count in run.counts))


@broken_in(Job.result, "there are counts of the steps .* one StepCount a bundle")
def no_counts(self):
    return replace(Job.result(self), counts=())


@broken_in(Job.result, "counts .* rows as delivered, the schedule has")
def counts_cases_instead_of_rows(self):
    run = Job.result(self)
    return replace(run, counts=tuple(replace(count, delivered=1) for count in run.counts))


# Exceptions and failures


@broken_in(Job.emit, r"a program that raises .*\"an exception\"\] is missing, .* conformance.model.program.call")
def swallows_exceptions(self, scope, output):
    if output.error is None:
        Job.emit(self, scope, output)


@broken_in(Job.emit, r"a program that raises .* run\(\) raised ValueError: no luck")
def an_exception_ends_the_pack(self, scope, output):
    if output.error:
        raise ValueError(output.error.partition(": ")[2])
    Job.emit(self, scope, output)


@broken_in(Job.result, "its trace is not in order of step and key, or goes on behind an exception")
def goes_on_behind_an_exception(self):
    run = Job.result(self)
    return replace(run, traces={case: Trace(tuple(found)) for case, found in self.emissions.items()})


@broken_in(Job.emit, "tell it in one line")
def exceptions_with_all_their_lines(self, scope, output):
    Job.emit(self, scope, replace(output, error=output.error and output.error + "\n  at line 1"))


@broken(r"an engine's failure in a call .* raised EngineFault: toy 0.1 cannot .* without naming the case; .*\[case ")
class FailuresWithoutTheirCase(Job):
    def call(self, scope, callback, subject):
        try:
            super().call(scope, callback, subject)
        except EngineFault as fault:
            raise fault.__cause__ from None


class CarelessTimers(Timers):
    def set(self, name, time, tag=""):
        try:
            super().set(name, time, tag)
        except EngineFault as fault:
            raise TypeError(str(fault)) from None


@broken_in(Job.call, r"an engine's failure in a call .* told as the program's exception \(TypeError: toy 0.1 cannot")
def failures_as_the_programs_own(self, scope, callback, subject):
    state = self.state_of(scope)
    timers = CarelessTimers(self, scope, self.programs[scope[0]].timers)
    for output in call(getattr(self.programs[scope[0]], callback), subject, state, timers):
        self.emit(scope, output)


@broken_in(Job.run, r"run\(\) raised NotDriven: the watermark")
def is_not_driven(self):
    if len(self.pack.timeline) > 3:
        raise NotDriven("the watermark was elsewhere")
    return Job.run(self)


@broken_in(Job.load, "over a retry .*; leave nothing of the attempt that failed")
def keeps_what_a_failed_attempt_wrote(self):
    state = dict(self.state)
    Job.load(self)
    if isinstance(self.pack.timeline[2], FailOnce):
        self.state = state


@broken_in(Job.fail, "a retry: all cases that write state in the bundle that fails are called untouched")
def calls_all_untouched(self, step):
    Job.fail(self, step)
    self.untouched = {case.id for case in self.pack.cases}


@broken(r"a retry: value state of a case without the bundle of a retry \(case \w+\) is not called untouched")
class CallsTheWrongOnesUntouched(Job):
    def fail(self, step):
        super().fail(step)
        self.untouched = {case.id for case in self.pack.cases if case.program == "plain"}


@broken_in(Job.result, "cases are called untouched though no attempt was to fail")
def calls_cases_untouched_for_nothing(self):
    return replace(Job.result(self), untouched=frozenset(case.id for case in self.pack.cases))


@broken_in(Job.restart, "timers over a restart .* is missing, .* take up state and timers from the checkpoint")
def restarts_without_timers(self):
    Job.restart(self)
    self.timers = {}


@broken_in(Job.restart, "value state over a restart .* came out, not")
def restarts_without_state(self):
    Job.restart(self)
    self.state = {}


# Cells and timers


@cell_of(Cell.VALUE, r'value state \(.* \["value","get","default",null\] came out, not \["value","get",null,null\]')
class NullIsNothing(Value):
    def get(self, default=None):
        found = super().get(default)
        return default if found is None else found


@cell_of(Cell.BAG, r"bag state \(")
class BagsInAscii(Bag):
    def add(self, value):
        super().add(json.loads(json.dumps(value, ensure_ascii=False).encode("ascii", "replace")))


@cell_of(Cell.MAP, r"map state \(")
class MapsWithoutNull(Map):
    def put(self, key, value):
        if value is not None:
            super().put(key, value)


@cell_of(Cell.SET, r"set state \(")
class SetsWithDuplicates(Set):
    def get(self):
        return [value for value in super().get() for _ in range(2)]


@cell_of(Cell.COMBINING, r"sum state \(")
class SumsThatCannotBeCleared(Combining):
    def clear(self):
        pass


@broken_in(Job.set_timer, r"timers \(.* is missing, .* known by its name and tag")
def timers_without_tags(self, scope, name, tag, time):
    for other in [which for which in self.timers if which[:2] == (scope, name)]:
        del self.timers[other]
    Job.set_timer(self, scope, name, tag, time)


@broken_in(Job.scope, "value state in windows .* keep state and timers by key and window")
def windows_share_their_state(self, case, event):
    return (*Job.scope(self, case, event)[:3], 0)


# What an engine may do


@broken("the elements came out as e3, e2, e1, not e1, e2, e3; hand the elements of a bundle over as they are delivered")
class BundlesInReverse(Job):
    def attempt(self, step):
        true = self.pack
        self.pack = type("Reversed", (), {"bundle": lambda _, step: reversed(list(true.bundle(step)))})()
        try:
            return super().attempt(step)
        finally:
            self.pack = true


@quirk_in(Job.fire, "another order than in the reference; .* timers")
def latest_timers_first(self):
    while due := [(when, which) for which, when in self.timers.items() if when <= self.watermark]:
        when, which = max(due)
        del self.timers[which]
        self.fire_one(when, which)


@quirk_in(Job.result, "the counter of late rows is above 0 where rows were dropped, but differs from their number")
def counts_late_rows_twice(self):
    run = Job.result(self)
    return replace(run, counts=tuple(replace(c, reported_late=2 * c.reported_late) for c in run.counts))


@quirk("a timer set by a timer: ")
class SettlesOnce(Job):
    """A timer that is set while timers fire waits for the next step."""

    def fire(self):
        for when, which in sorted((when, which) for which, when in self.timers.items() if when <= self.watermark):
            if self.timers.get(which) == when:
                del self.timers[which]
                self.fire_one(when, which)


@quirk_in(Job.fail, "no case is called untouched")
def fails_as_a_whole(self, step):
    Job.fail(self, step)
    self.untouched = set()


class LastOutputs(Job):
    """Of what a call puts out (a bundle, or what falls due, for one key) the last alone comes out."""

    kept = -1

    def within_a_call(self, work, *arguments):
        before = {case: len(found) for case, found in self.emissions.items()}
        result = work(*arguments)
        for case, found in self.emissions.items():
            mine = {}
            for emission in found[before[case] :]:
                mine.setdefault(emission.key, []).append(emission)
            found[before[case] :] = [emissions[self.kept] for emissions in mine.values() if self.kept is not None]
        return result

    def attempt(self, step):
        return self.within_a_call(super().attempt, step)

    def fire(self):
        self.within_a_call(super().fire)


class PutsOutTheLast(Toy):
    """By design; its capabilities say so."""

    capabilities = declaring({Feature.EMISSIONS: emulated("one row per key and call, its last emission")})
    job = LastOutputs


@broken("all is missing that came out in the reference")
class PutsOutNothing(PutsOutTheLast):
    job = type("NoOutputs", (LastOutputs,), {"kept": None})


@broken("value state .* is missing|value state .* came out, not")
class PutsOutTheLastInSecret(Toy):
    job = LastOutputs


class NotHere(Toy):
    def check(self):
        raise CannotRun("toy is not installed: pip install toy")

"""The checks of the adapter kit, and what they compare up to what: see ``check_engine``."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from conformance import tables
from conformance.engine import CannotRun, Capabilities, Engine, Feature, LatenessProfile, Support, case_needs
from conformance.model import DRAIN, Case, Deliver, FailOnce, Pack, PackRun, Trace, program_ref
from conformance.packing import packs_of
from conformance.testing.calls import reference
from conformance.testing.comparison import Difference, difference, elements, in_order, short, stray
from conformance.testing.probes import CELLS, CHAIN, PROBES, PROGRAMS, REFUSED, ROWS_AND_TIMER, Probe

GRACE = 2.0
"""Seconds that threads get to end after close()."""


class AdapterFault(AssertionError):
    """What an adapter does wrong, where, and how to mend it, in one line."""


@dataclass(frozen=True)
class Report:
    """What ``check_engine`` found in order.

    Attributes:
        checked: what was checked.
        cases: how many distinct cases were run; ``runs``: in how many engine runs.
        skipped: what was not checked -> why.
        remarks: differences from the reference that may be the engine's own: fine if it is the engine that does so.
    """

    engine: str
    checked: tuple[str, ...]
    cases: int
    runs: int
    skipped: Mapping[str, str]
    remarks: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.engine}: {self.cases} cases in {self.runs} runs", f"  checked: {', '.join(self.checked)}"]
        lines += [f"  not checked: {what} ({why})" for what, why in self.skipped.items()]
        return "\n".join([*lines, *(f"  remark: {remark}" for remark in self.remarks)])


def check_engine(engine: Engine) -> Report:
    """Certify that an adapter keeps the protocol ``conformance.engine.Engine``: open it in a temporary folder, run small
    cases on it, close it in any event.

    Traces are compared with those of the reference, reading lateness as the engine's capabilities say:

    - up to the order of what different keys, different elements of a bundle, and different timers of a step put out, and up
      to the order of a bag. Engines may differ in it; where this one does, the report has a remark. The outputs of one
      element keep their order, and every output its step;
    - where any number of emissions per call is emulated: that nothing else comes out than in the reference, and something
      wherever there is something to put out;
    - without what came out after the last step (``DRAIN``), and up to the words of an exception;
    - counts of rows: exactly for those delivered and those that programs received. A counter of late rows must be 0 in a
      bundle without late rows and above 0 in one that lost some; another difference is a remark.

    Some cases are not put, because their answer is the engine's, and scenarios ask for it: timers at exactly the watermark,
    behind it, or cleared by another timer's callback; late rows after a restart; state of a window that has expired. One
    timer setting another may lead to a remark. That the engine held the schedule at all (its own watermark, its own
    partitions) cannot be seen from outside: an adapter proves that itself, and raises NotDriven.

    Raises:
        CannotRun: the engine is not to be had here.
        AdapterFault: what is wrong, where, and how to mend it.
    """
    name = str(getattr(engine, "id", "") or type(engine).__name__)
    try:
        _declarations(engine)
        try:
            engine.check()
        except CannotRun:
            raise
        except Exception as error:
            raise AdapterFault(f"check() raised {_told(error)}; all it may raise is CannotRun") from error
        before = set(threading.enumerate())
        with tempfile.TemporaryDirectory(prefix="adapter-kit-", ignore_cleanup_errors=True) as folder:
            try:
                _open(engine, Path(folder))
                report = _Kit(engine, name).check()
            except BaseException:
                with suppress(Exception):
                    engine.close()
                raise
            _close(engine, before)
        return report
    except AdapterFault as fault:
        raise AdapterFault(" ".join(f"{name}: {fault}".split())) from fault.__cause__


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _declarations(engine: Engine) -> None:
    for attribute in ("id", "title"):
        if not isinstance(found := getattr(engine, attribute, None), str) or not found.strip():
            raise AdapterFault(f"{attribute} is {found!r}; give the engine a name in words")
    can = getattr(engine, "capabilities", None)
    if not isinstance(can, Capabilities):
        raise AdapterFault(f"capabilities are {can!r}; make them a conformance.engine.Capabilities")
    for feature in Feature:
        support = can.features.get(feature)
        if not isinstance(support, Support) or support.how not in ("native", "emulated", "unsupported"):
            raise AdapterFault(
                f"capabilities say {support!r} of {feature.value}; say NATIVE, emulated(how) or unsupported(reason)"
            )
        if support.how != "native" and not support.note.strip():
            raise AdapterFault(
                f"capabilities call {feature.value} {support.how} without a word; name the emulation, or give the reason "
                "and the version it was seen on"
            )
    if not isinstance(can.lateness, LatenessProfile):
        raise AdapterFault(f"capabilities.lateness is {can.lateness!r}; make it a LatenessProfile")
    for number in ("largest_pack", "parallel"):
        if type(found := getattr(can, number)) is not int or found < 1:
            raise AdapterFault(f"capabilities.{number} is {found!r}; it is a whole number above 0")


def _open(engine: Engine, folder: Path) -> None:
    try:
        engine.open(folder)
    except CannotRun:
        raise
    except Exception as error:
        raise AdapterFault(f"open() raised {_told(error)}; raise CannotRun where something is missing") from error


def _close(engine: Engine, before: set[threading.Thread]) -> None:
    for time in ("", " a second time"):
        try:
            engine.close()
        except Exception as error:
            raise AdapterFault(
                f"close() raised {_told(error)} when it was called{time}; let it end what is there, and else do nothing"
            ) from error
    for thread in set(threading.enumerate()) - before:
        if not thread.daemon:
            thread.join(GRACE)
        if not thread.daemon and thread.is_alive():
            raise AdapterFault(
                f"close() left the thread {thread.name!r} running, and no process ends before it; end it, or make it a daemon"
            )


class _Kit:
    """The checks on an engine that is open."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine, self.name = engine, name
        self.can = engine.capabilities
        self.specification = reference(self.can.lateness)
        self.checked: list[str] = []
        self.skipped: dict[str, str] = {}
        self.remarks: list[str] = []
        self.reordered: list[str] = []
        self.exercised: set[Feature] = set()
        self.cases: set[str] = set()
        self.runs = 0
        self.every = self.can.features[Feature.EMISSIONS].how == "native"
        self.labels: dict[str, str] = {}
        self.wanted: dict[str, Trace] = {}
        self.passed: list[tuple[Pack, PackRun]] = []
        self._lock = threading.Lock()

    def check(self) -> Report:
        self._environment()
        self._evidence()
        for probe in PROBES:
            self._probe(probe)
        if not self.passed:
            raise AdapterFault(f"there is nothing that it can run: {'; '.join(sorted(set(self.skipped.values())))}")
        self._chain()
        self._again()
        self._alone()
        self._together()
        self._refused()
        for feature, support in self.can.features.items():
            if support.how != "unsupported" and feature not in self.exercised:
                self.skipped.setdefault(feature.value, "no case of the kit asks for it with what else the engine lacks")
        if not self.every:
            self.skipped["every output of a call"] = self.can.features[Feature.EMISSIONS].note
        if self.reordered:
            self.remarks.insert(
                0,
                "elements of a bundle, timers of a step or a bag are in another order than in the reference; fine if the "
                f"engine does so, not if the adapter does; seen in: {', '.join(dict.fromkeys(self.reordered))}",
            )
        remarks = tuple(dict.fromkeys(self.remarks))
        return Report(self.name, tuple(self.checked), len(self.cases), self.runs, self.skipped, remarks)

    def _environment(self) -> None:
        try:
            found = self.engine.environment()
        except Exception as error:
            raise AdapterFault(f"environment() raised {_told(error)}") from error
        if not isinstance(found, dict) or not found:
            raise AdapterFault(f"environment() gave {short(found)}; give the version of the engine at least")
        for name, value in found.items():
            if not isinstance(name, str) or not isinstance(value, str) or not name.strip() or not value.strip():
                raise AdapterFault(f"environment() says {name!r}: {value!r}; give strings that are not empty")
        self.checked.append("environment")

    def _evidence(self) -> None:
        try:
            found = self.engine.evidence()
        except Exception as error:
            raise AdapterFault(f"evidence() raised {_told(error)}") from error
        if not isinstance(found, dict):
            raise AdapterFault(f"evidence() gave {short(found)}; give a dict from Feature to text")
        for feature, text in found.items():
            if not isinstance(feature, Feature) or self.can.features[feature].how != "unsupported":
                what = feature.value if isinstance(feature, Feature) else repr(feature)
                raise AdapterFault(
                    f"evidence() speaks of {what}, which the capabilities do not call unsupported; leave it out"
                )
            if not isinstance(text, str) or not text.strip():
                raise AdapterFault(
                    f"evidence() says {text!r} of {feature.value}; say what the engine answered, or leave the feature out"
                )
        self.checked.append("evidence")

    def _probe(self, probe: Probe) -> None:
        """Run what can be expressed of a probe, and compare it with the reference."""
        wanted, missing = [], None
        for label, case in probe.cases.items():
            needs = case_needs(case, PROGRAMS[program_ref(case.scenario, case.program)])
            lacks = self.can.first_missing(needs)
            if label == ROWS_AND_TIMER and self.can.features[Feature.EVENT_TIMERS].how == "emulated":
                self.skipped[label] = "timers are emulated: one of a key that has elements in the bundle may wait"
                continue
            if lacks is None:
                wanted.append(case)
                self.exercised |= needs | ({Feature.NULL} if Feature.VALUE in needs else set())  # STATE writes a null
                self.labels[case.id] = label
            missing = missing or lacks
            if lacks:
                self.skipped[label] = self.can.why_not(lacks)
        if not wanted:
            for label in probe.cases:
                self.skipped.pop(label, None)
            assert missing
            self.skipped[probe.about] = self.can.why_not(missing)
            return
        untouched: set[str] = set()
        packs = packs_of(wanted, self.can.largest_pack)
        with ThreadPoolExecutor(max_workers=self.can.parallel) as pool:
            runs = list(pool.map(self._run, packs))
        for pack, run in zip(packs, runs, strict=True):
            specified = self.specification.run(pack, PROGRAMS)
            if probe.places:
                self._lateness(probe, pack, run, specified)
            self._compare(pack, run, specified.traces, probe.mend)
            if not any(trace.error for trace in specified.traces.values()):
                self._counts(f"{probe.about}, ", run, specified)
            untouched |= run.untouched
            self.passed.append((pack, run))
        if probe.reached:
            self._untouched(probe, untouched)
        self.checked.append(probe.about)

    def _run(self, pack: Pack) -> PackRun:
        """One engine run, and whether what it gave is as the protocol says.

        Raises:
            AdapterFault: it raised, or gave something else than a PackRun of this pack.
        """
        where = self._where(pack)
        try:
            run = self.engine.run(pack, PROGRAMS)
        except Exception as error:
            raise AdapterFault(
                f"{where}: run() raised {_told(error)}; run it, or call what the engine lacks unsupported"
            ) from error
        with self._lock:
            self.runs += 1
            self.cases |= {case.id for case in pack.cases}
        self._sound(pack, run, where)
        return run

    def _where(self, pack: Pack) -> str:
        """What a pack is about, for messages."""
        first = pack.cases[0]
        label = self.labels.get(first.id, first.program)
        return label if len(pack.cases) == 1 else f"{label} (with {len(pack.cases) - 1} other cases)"

    def _at(self, case: Case) -> str:
        return f"{self.labels.get(case.id, case.program)} (case {case.id})"

    def _sound(self, pack: Pack, run: PackRun, where: str) -> None:
        if not isinstance(run, PackRun):
            raise AdapterFault(f"{where}: run() gave {short(run)}; give a PackRun")
        ids = {case.id for case in pack.cases}
        for case in pack.cases:
            if case.id not in run.traces:
                raise AdapterFault(f"{self._at(case)}: there is no trace of it; give every case one, an empty one too")
        if foreign := sorted(set(run.traces) - ids) + sorted(set(run.untouched) - ids):
            raise AdapterFault(
                f"{where}: run() speaks of the case {foreign[0]!r}, which is not in the pack; leave it out"
            )
        steps = {step.id for step in pack.clock} | {DRAIN}
        for case in pack.cases:
            trace = run.traces[case.id]
            for emission in trace.emissions:
                if emission.step not in steps:
                    raise AdapterFault(
                        f"{self._at(case)}: {short(emission.value)} came out in step {emission.step!r}, which the clock "
                        "does not have; give it the id of its step, or DRAIN"
                    )
                if emission.error is not None and (not emission.error.strip() or "\n" in emission.error):
                    raise AdapterFault(
                        f"{self._at(case)}: the exception is told as {emission.error!r}; tell it in one line, as "
                        "conformance.program.call does"
                    )
            if Trace.collect(trace.emissions) != trace:
                raise AdapterFault(
                    f"{self._at(case)}: its trace is not in order of step and key, or goes on behind an exception; make it "
                    "by Trace.collect"
                )
        try:
            same = tables.pack_run_of(tables.pack_run_table(pack, run), pack) == run
        except (TypeError, ValueError) as error:
            raise AdapterFault(
                f"{where}: what run() gave is not JSON ({_told(error)}); emit what the program emitted"
            ) from error
        if not same:
            raise AdapterFault(
                f"{where}: what run() gave is not the same after it travelled as JSON; give tuples of emissions and counts, "
                "and values of lists, dicts with text as keys, text and numbers"
            )
        bundles = [step.id for step in pack.clock if isinstance(step, Deliver) and not step.initial]
        if [count.step for count in run.counts] != bundles:
            raise AdapterFault(
                f"{where}: there are counts of the steps {[count.step for count in run.counts]}, the bundles are {bundles}; "
                "give one StepCount a bundle, in order"
            )
        for count in run.counts:
            if count.delivered != (rows := sum(1 for _ in pack.bundle(count.step))):
                raise AdapterFault(
                    f"{where}: step {count.step} counts {count.delivered} rows as delivered, the schedule has {rows}; count "
                    "the rows of all cases of the pack"
                )
        if run.untouched and not _fails(pack):
            raise AdapterFault(
                f"{where}: cases are called untouched though no attempt was to fail; leave untouched empty"
            )

    def _compare(self, pack: Pack, run: PackRun, wanted: Mapping[str, Trace], mend: str) -> None:
        """Each trace with what it shall be, up to what engines may differ in."""
        for case in pack.cases:
            got = run.traces[case.id]
            self.wanted[case.id] = wanted[case.id]
            if unlike := self._difference(case, got):
                raise AdapterFault(f"{self._at(case)}: {unlike.words}; {unlike.mend or mend}")
            if self.every and in_order(got) != in_order(wanted[case.id]):
                self.reordered.append(self.labels[case.id])

    def _difference(
        self, case: Case, got: Trace, other: Trace | None = None, whence: str = "in the reference"
    ) -> Difference | None:
        """From another trace of the case, or from the reference's; always from the reference's where not all comes out."""
        wanted = self.wanted[case.id]
        return difference(got, other or wanted, whence) if self.every else stray(got, wanted)

    def _lateness(self, probe: Probe, pack: Pack, run: PackRun, specified: PackRun) -> None:
        """Whether the declared reading of late is what the engine does, row by row."""
        assert probe.places
        for case in pack.cases:
            took, takes = (elements(found.traces[case.id]) for found in (run, specified))
            for arrival in case.schedule.arrivals:
                event = arrival.event.id
                if (event in took) != (event in takes):
                    profile = self.can.lateness
                    declared = profile.global_window if case.program == "plain" else profile.fixed_windows
                    raise AdapterFault(
                        f"lateness in {self._at(case)}, step {arrival.step}: a row {probe.places[event]} was "
                        f"{'processed' if event in took else 'dropped'}, though the declared reading is that a row is late "
                        f"for {declared.value!r}; {probe.mend}"
                    )

    def _counts(self, where: str, run: PackRun, specified: PackRun) -> None:
        counted = self.can.features[Feature.LATE_COUNTER].how != "unsupported"
        for count, wanted in zip(run.counts, specified.counts, strict=True):
            if count.received != wanted.received:
                raise AdapterFault(
                    f"{where}step {count.step}: {count.received} of {count.delivered} rows are counted as received, programs got "
                    f"{wanted.received}; count what on_event was called with, without attempts that failed"
                )
            late = wanted.delivered - wanted.received
            if not counted:
                if count.reported_late is not None:
                    raise AdapterFault(
                        f"{where}step {count.step}: {count.reported_late} rows are reported as late by an engine whose counter of "
                        "late rows is unsupported; report None, or declare the counter"
                    )
                continue
            self.exercised.add(Feature.LATE_COUNTER)
            reported = count.reported_late
            if type(reported) is not int or bool(reported) != bool(late) or reported < 0:
                raise AdapterFault(
                    f"{where}step {count.step}: {reported} rows are reported as late, {late} of {count.delivered} were dropped; read "
                    "the engine's counter for each bundle, or call it unsupported"
                )
            if reported != late:
                self.remarks.append("the counter of late rows is above 0 where rows were dropped, but another number")

    def _untouched(self, probe: Probe, untouched: set[str]) -> None:
        """Whether the attempt that failed had reached what it could, and is not said to have reached what it could not."""
        reached, idle = (
            [probe.cases[label].id for label in labels if probe.cases[label].id in self.labels]
            for labels in (probe.reached, probe.idle)
        )
        if reached and untouched.issuperset(reached):
            raise AdapterFault(
                f"{probe.about}: all cases that write state in the bundle that fails are called untouched; let the attempt "
                "fail behind the last row, and name the cases that had written no state in it"
            )
        if untouched & set(reached):
            self.remarks.append(f"{probe.about}: a case that writes state in the bundle that fails is called untouched")
        if touched := [case for case in idle if case not in untouched]:
            if untouched:
                raise AdapterFault(
                    f"{probe.about}: {self.labels[touched[0]]} (case {touched[0]}) is not called untouched; name every case "
                    "that had written no state in the attempt that failed"
                )
            self.remarks.append(
                f"{probe.about}: no case is called untouched, not one with nothing in the bundle that fails; fine if the "
                "failure takes every case back"
            )

    def _chain(self) -> None:
        needs = case_needs(CHAIN, PROGRAMS[program_ref(CHAIN.scenario, CHAIN.program)])
        if lacks := self.can.first_missing(needs):
            self.skipped["a timer set by a timer"] = self.can.why_not(lacks)
            return
        self.labels[CHAIN.id] = "a timer set by a timer"
        pack = Pack((CHAIN,))
        self.wanted[CHAIN.id] = self.specification.run(pack, PROGRAMS).traces[CHAIN.id]
        if unlike := self._difference(CHAIN, self._run(pack).traces[CHAIN.id]):
            self.remarks.append(
                f"a timer set by a timer: {unlike.words}; fine if the engine does so, not if the adapter does not settle an "
                "advance for Program.timer_chain"
            )

    def _alone(self) -> None:
        """Some cases by themselves: of state, timers and neither, in one bundle and in several."""
        chosen: dict[tuple[str, bool], tuple[Case, PackRun]] = {}
        for pack, run in self.passed:
            for case in pack.cases if len(pack.cases) > 1 else ():
                kind = case.program if case.program in ("plain", "timed") else "state"
                if case.program in (*CELLS, "plain", "timed"):
                    chosen.setdefault((kind, len(case.schedule.bundles) > 1), (case, run))
        for case, packed in chosen.values():
            alone = self._run(Pack((case,)))
            if unlike := self._difference(case, packed.traces[case.id], alone.traces[case.id], "when it runs alone"):
                raise AdapterFault(
                    f"{self._at(case)}: {unlike.words}; keep cases of a pack apart: state and timers belong to (program, case, "
                    "key)"
                )
        if chosen:
            self.checked.append("packed and alone")
        else:
            self.skipped["packed and alone"] = "no pack has two cases"

    def _again(self) -> None:
        """The packs of most cases once more."""
        for pack, before in sorted(self.passed, key=lambda done: -len(done[0].cases))[:2]:
            again = self._run(pack)
            for case in pack.cases:
                got, wanted = again.traces[case.id], before.traces[case.id]
                if unlike := self._difference(case, got, wanted, "the first time"):
                    raise AdapterFault(
                        f"{self._at(case)}, run a second time: {unlike.words}; let nothing outlive a run, and nothing depend on "
                        "chance"
                    )
                if in_order(got) != in_order(wanted):
                    self.remarks.append(f"{self.labels[case.id]}: a second run puts out the same in another order")
            if again.counts != before.counts or again.untouched != before.untouched:
                raise AdapterFault(
                    f"{self._where(pack)}, run a second time: the counts or the untouched cases are others; let nothing "
                    "outlive a run"
                )
        self.checked.append("one pack twice")

    def _together(self) -> None:
        """As many packs at a time as the capabilities say."""
        if (parallel := self.can.parallel) == 1:
            self.skipped["packs at the same time"] = "the capabilities say: one at a time"
            return
        chosen = [self.passed[n % len(self.passed)] for n in range(2 * parallel)]
        with ThreadPoolExecutor(max_workers=parallel) as pool:
            running = [pool.submit(self._run, pack) for pack, _ in chosen]
        for (pack, before), future in zip(chosen, running, strict=True):
            hint = f"run() is called from {parallel} threads at once, as capabilities.parallel says: share nothing, or say 1"
            try:
                run = future.result()
            except AdapterFault as fault:
                raise AdapterFault(f"beside other runs, {fault}; {hint}") from fault.__cause__
            for case in pack.cases:
                if unlike := self._difference(case, run.traces[case.id], before.traces[case.id], "by itself"):
                    raise AdapterFault(f"{self._at(case)}, beside other runs: {unlike.words}; {hint}")
        self.checked.append(f"{parallel} packs at the same time")

    def _refused(self) -> None:
        """A call that an engine cannot serve."""
        what = "an engine's failure in a call"
        needs = case_needs(REFUSED, PROGRAMS[program_ref(REFUSED.scenario, REFUSED.program)])
        if lacks := self.can.first_missing(needs):
            self.skipped[what] = self.can.why_not(lacks)
            return
        where, mend = (
            f"{what} (a word for a timer's time)",
            f"raise EngineFault, and say [case {REFUSED.id}] in what run() raises",
        )
        try:
            trace = self.engine.run(Pack((REFUSED,)), PROGRAMS).traces.get(REFUSED.id, Trace(()))
        except Exception as error:
            if f"[case {REFUSED.id}]" in str(error):
                self.checked.append(what)
            elif any("EngineFault" in _told(cause) for cause in _causes(error)):
                raise AdapterFault(f"{where}: run() raised {_told(error)} without naming the case; {mend}") from error
            else:
                self.remarks.append(f"{where}: run() raised {_told(error)}; if that was within the call, {mend}")
            return
        if trace.error:
            raise AdapterFault(f"{where}: it is told as the program's exception ({trace.error}); {mend}")
        self.remarks.append(f"{where}: the engine took it")


def _fails(pack: Pack) -> bool:
    return any(isinstance(step, FailOnce) for step in pack.clock)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__

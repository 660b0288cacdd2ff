"""The adapter kit: ``check_engine`` runs small cases on an engine and compares its traces with the reference's."""

import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from conformance.execution.packing import packs_of
from conformance.model.case import Case, program_ref
from conformance.model.engine import CannotRun, Engine, case_needs
from conformance.model.feature import ON_A_CHECKPOINT, Feature
from conformance.model.program import FixedWindows
from conformance.model.runs import Pack, PackRun
from conformance.model.trace import Trace
from conformance.testing import declared, pack_run
from conformance.testing.calls import reference
from conformance.testing.comparison import Difference, difference, elements, in_order, out_of_order, stray
from conformance.testing.report import AdapterFault, Report, causes, told
from conformance.testing.trials import CELLS, CHAIN, PROGRAMS, REFUSED, ROWS_AND_TIMER, TRIALS, Trial, plan, together

UNTRIED = (Feature.CURRENT_TIME, *ON_A_CHECKPOINT)
"""What the kit has no trial of: what only an operator is asked for, and what each engine may answer in its own way."""


def check_engine(engine: Engine, reorders: str = "") -> Report:
    """Certify that an adapter keeps the protocol ``conformance.model.Engine``: open it in a temporary folder, run
    small cases on it, and close it in any event.

    The kit compares the traces with those of the reference, which reads lateness as the engine's capabilities say:

    - Order: the outputs of different keys and of different timers of a step may come in any order, as may a bag. If the
      order differs, the report has a remark. The elements of a key in a bundle keep the order of their delivery, unless
      ``reorders`` says why the engine itself gives them another one. The outputs of one element keep their order, and
      every output keeps its step.
    - If any number of emissions per call is emulated, the engine puts out nothing that the reference lacks, and
      something in every place where the reference does.
    - Emissions after the last step (``DRAIN``) and the words of an exception do not count.
    - Counts of rows: the numbers of delivered and received rows are exact. A counter of late rows is 0 in a bundle
      without late rows and above 0 in one that lost some; another difference is a remark.

    The kit leaves out cases that each engine may answer in its own way; scenarios ask them: timers at exactly the
    watermark, behind it, or cleared by another timer's callback; late rows after a restart; state of an expired window.
    One timer setting another may lead to a remark. Whether the engine held the schedule (its own watermark, its own
    partitions) cannot be seen from outside. The adapter proves it by itself, and raises NotDriven otherwise.

    Args:
        reorders: why the engine hands out the elements of a key in another order than they were delivered in, such as
            "by event time (beam 2.77.0)"; "" if it does not.

    Raises:
        CannotRun: the engine is not available here.
        AdapterFault: what is wrong, where, and how to mend it.
    """
    name = str(getattr(engine, "id", "") or type(engine).__name__)
    try:
        declared.declarations(engine)
        try:
            engine.check()
        except CannotRun:
            raise
        except Exception as error:
            raise AdapterFault(f"check() raised {told(error)}; all it may raise is CannotRun") from error
        before = set(threading.enumerate())
        with tempfile.TemporaryDirectory(prefix="adapter-kit-", ignore_cleanup_errors=True) as folder:
            try:
                declared.opened(engine, Path(folder))
                report = _Kit(engine, name, reorders).report()
            except BaseException:
                with suppress(Exception):
                    engine.close()
                raise
            declared.closed(engine, before)
        return report
    except AdapterFault as fault:
        raise AdapterFault(" ".join(f"{name}: {fault}".split())) from fault.__cause__


class _Kit:
    """The checks on an open engine."""

    def __init__(self, engine: Engine, name: str, reorders: str) -> None:
        self.engine, self.name, self.reorders = engine, name, reorders
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

    def report(self) -> Report:
        """Run all checks, one after the other. Raise AdapterFault at the first fault."""
        for part in (declared.environment, declared.evidence):
            part(self.engine)
            self.checked.append(part.__name__)
        tried = {trial.about for trial in TRIALS}
        own = (plan(known.id) for known in self.can.plans if known.always and known.id not in tried)
        self._trials([trial for trial in (*TRIALS, *own) if self._asked(trial)])
        if not self.passed:
            raise AdapterFault(f"there is nothing that it can run: {'; '.join(sorted(set(self.skipped.values())))}")
        self._chain()
        self._again()
        self._alone()
        self._refused()
        for feature, support in self.can.features.items():
            if support.how != "unsupported" and feature not in (*self.exercised, *UNTRIED):
                self.skipped.setdefault(feature.value, "no case of the kit asks for it with what else the engine lacks")
        if not self.every:
            self.skipped["every output of a call"] = self.can.features[Feature.EMISSIONS].note
        if self.reordered:
            self.remarks.insert(
                0,
                "elements of a bundle, timers of a step or a bag are in another order than in the reference; fine "
                f"if the engine does so, not if the adapter does; seen in: {', '.join(dict.fromkeys(self.reordered))}",
            )
        if self.reorders:
            self.remarks.append(f"elements of a bundle may come in another order: {self.reorders}")
        remarks = tuple(dict.fromkeys(self.remarks))
        return Report(self.name, tuple(self.checked), len(self.cases), self.runs, self.skipped, remarks)

    def _asked(self, trial: Trial) -> bool:
        """Whether the engine can express any case of a trial. What it cannot express is skipped."""
        missing = None
        if any(self.can.no_plan(case.schedule) for case in trial.cases.values()):
            return False
        for label, case in trial.cases.items():
            needs = case_needs(case, PROGRAMS[program_ref(case.scenario, case.program)])
            lacks = self.can.first_missing(needs)
            if label == ROWS_AND_TIMER and self.can.features[Feature.EVENT_TIMERS].how == "emulated":
                self.skipped[label] = "timers are emulated: one of a key that has elements in the bundle may wait"
                continue
            if lacks is None:
                self.exercised |= needs | ({Feature.NULL} if Feature.VALUE in needs else set())  # STATE writes a null
                self.labels[case.id] = label
            missing = missing or lacks
            if lacks:
                self.skipped[label] = self.can.why_not(lacks)
        if any(case.id in self.labels for case in trial.cases.values()):
            return True
        for label in trial.cases:
            self.skipped.pop(label, None)
        assert missing
        self.skipped[trial.about] = self.can.why_not(missing)
        return False

    def _trials(self, trials: Sequence[Trial]) -> None:
        """Run trials, as many packs at a time as the capabilities say. The cases of trials that share a timeline share
        a pack."""
        groups = [(group, self._packs(group)) for group in together(trials)]
        pool = ThreadPoolExecutor(max_workers=self.can.parallel)
        try:
            running = [[pool.submit(self._run, pack) for pack in packs] for _, packs in groups]
            for (group, packs), futures in zip(groups, running, strict=True):
                self._judge(group, packs, (future.result() for future in futures))
        except AdapterFault as fault:
            pool.shutdown(cancel_futures=True)
            left = [trial for trial in trials if trial.about not in self.checked]
            raise self._traced(left, group, packs, fault) from fault.__cause__
        finally:
            pool.shutdown(cancel_futures=True)
        if self.can.parallel > 1:
            self.checked.append(f"{self.can.parallel} packs at the same time")
        else:
            self.skipped["packs at the same time"] = "the capabilities say: one at a time"

    def _packs(self, trials: Iterable[Trial]) -> list[Pack]:
        cases = {case.id: case for trial in trials for case in trial.cases.values() if case.id in self.labels}
        return packs_of(cases.values(), self.can.largest_pack)

    def _traced(
        self, left: Iterable[Trial], group: Sequence[Trial], packs: Iterable[Pack], fault: AdapterFault
    ) -> AdapterFault:
        """A fault of a group among other runs, by what is left of it without them. What passed runs again first, and
        then each trial that is left by itself: a fault of its own is raised, and names it."""
        self._again()
        for trial in left:
            mine = self._packs([trial])
            self._judge([trial], mine, map(self._run, mine))
        try:
            self._judge(group, packs, map(self._run, packs))
        except AdapterFault as beside:
            return AdapterFault(f"beside the cases of other trials, {beside}; keep cases of a pack apart")
        if (parallel := self.can.parallel) == 1:
            return AdapterFault(f"{fault}; when it ran again, it came out right: let nothing depend on chance")
        return AdapterFault(
            f"beside other runs, {fault}; run() is called from {parallel} threads at once, as capabilities.parallel "
            "says: share nothing, or say 1"
        )

    def _judge(self, group: Sequence[Trial], packs: Iterable[Pack], runs: Iterable[PackRun]) -> None:
        """Compare the runs of the packs of some trials with the reference."""
        about = ", ".join(trial.about for trial in group)
        mends = {case.id: trial.mend for trial in group for case in trial.cases.values()}
        untouched: set[str] = set()
        for pack, run in zip(packs, runs, strict=True):
            specified = self.specification.run(pack, PROGRAMS)
            for trial in (trial for trial in group if trial.places):
                self._lateness(trial, pack, run, specified)
            self._compare(pack, run, specified.traces, mends)
            if not any(trace.error for trace in specified.traces.values()):
                self.remarks += pack_run.counts(self.can, f"{about}, ", run, specified)
                if self.can.features[Feature.LATE_COUNTER].how != "unsupported":
                    self.exercised.add(Feature.LATE_COUNTER)
            untouched |= run.untouched
            self.passed.append((pack, run))
        for trial in group:
            if trial.reached:
                self.remarks += pack_run.untouched(trial, untouched, self.labels)
        self.checked += [trial.about for trial in group]

    def _run(self, pack: Pack) -> PackRun:
        """Run a pack and check the form of the result.

        Raises:
            AdapterFault: ``run`` raised, or returned something other than a PackRun of this pack.
        """
        where = self._where(pack)
        try:
            run = self.engine.run(pack, PROGRAMS)
        except Exception as error:
            raise AdapterFault(
                f"{where}: run() raised {told(error)}; run it, or call what the engine lacks unsupported"
            ) from error
        with self._lock:
            self.runs += 1
            self.cases |= {case.id for case in pack.cases}
        pack_run.form(pack, run, where, self._at)
        return run

    def _where(self, pack: Pack) -> str:
        """The subject of a pack, for messages."""
        first = pack.cases[0]
        label = self.labels.get(first.id, first.program)
        return label if len(pack.cases) == 1 else f"{label} (with {len(pack.cases) - 1} other cases)"

    def _at(self, case: Case) -> str:
        return f"{self.labels.get(case.id, case.program)} (case {case.id})"

    def _compare(self, pack: Pack, run: PackRun, wanted: Mapping[str, Trace], mends: Mapping[str, str]) -> None:
        """Compare each trace with the wanted one, except in what engines may differ. ``mends`` has the advice for each
        case (id)."""
        for case in pack.cases:
            got = run.traces[case.id]
            self.wanted[case.id] = wanted[case.id]
            if unlike := self._difference(case, got):
                raise AdapterFault(f"{self._at(case)}: {unlike.words}; {unlike.mend or mends[case.id]}")
            # Elements of different windows are those of different groups on an engine that keeps the window in the key.
            windows = isinstance(PROGRAMS[program_ref(case.scenario, case.program)].windowing, FixedWindows)
            ordered = self.every and not self.reorders and not windows
            if ordered and (other := out_of_order(got, wanted[case.id])):
                raise AdapterFault(
                    f"{self._at(case)}: {other.words}; hand the elements of a bundle over as they are delivered, or "
                    "say why the engine itself does not: check_engine(engine, reorders=WHY)"
                )
            if self.every and in_order(got) != in_order(wanted[case.id]):
                self.reordered.append(self.labels[case.id])

    def _difference(
        self, case: Case, got: Trace, other: Trace | None = None, whence: str = "in the reference"
    ) -> Difference | None:
        """The difference from another trace of the case, or from the reference's. If the engine puts out only some
        emissions, the reference's trace is always the one to compare with."""
        wanted = self.wanted[case.id]
        return difference(got, other or wanted, whence) if self.every else stray(got, wanted)

    def _lateness(self, trial: Trial, pack: Pack, run: PackRun, specified: PackRun) -> None:
        """Check, row by row, that the engine reads *late* as declared."""
        assert trial.places
        for case in (case for case in pack.cases if self.labels[case.id] in trial.cases):
            took, takes = (elements(found.traces[case.id]) for found in (run, specified))
            for arrival in case.schedule.arrivals:
                event = arrival.event.id
                if (event in took) != (event in takes):
                    profile = self.can.lateness
                    declared = profile.global_window if case.program == "plain" else profile.fixed_windows
                    raise AdapterFault(
                        f"lateness in {self._at(case)}, step {arrival.step}: a row {trial.places[event]} was "
                        f"{'processed' if event in took else 'dropped'}, though the declared reading is that a row "
                        f"is late for {declared.value!r}; {trial.mend}"
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
                f"a timer set by a timer: {unlike.words}; fine if the engine does so, not if the adapter does not "
                "settle an advance for Program.timer_chain"
            )

    def _alone(self) -> None:
        """Run some cases alone: with state, with timers and with neither, in one bundle and in several."""
        chosen: dict[tuple[str, bool], tuple[Case, PackRun]] = {}
        for pack, run in self.passed:
            for case in pack.cases if len(pack.cases) > 1 else ():
                kind = case.program if case.program in ("plain", "timed") else "state"
                if case.program in (*CELLS, "plain", "timed"):
                    chosen.setdefault((kind, len(case.schedule.bundles) > 1), (case, run))
        with ThreadPoolExecutor(max_workers=self.can.parallel) as pool:
            runs = list(pool.map(self._run, [Pack((case,)) for case, _ in chosen.values()]))
        for (case, packed), alone in zip(chosen.values(), runs, strict=True):
            if unlike := self._difference(case, packed.traces[case.id], alone.traces[case.id], "when it runs alone"):
                raise AdapterFault(
                    f"{self._at(case)}: {unlike.words}; keep cases of a pack apart: state and timers belong to "
                    "(program, case, key)"
                )
        if chosen:
            self.checked.append("packed and alone")
        else:
            self.skipped["packed and alone"] = "no pack has two cases"

    def _again(self) -> None:
        """Run the packs with the most cases a second time."""
        for pack, before in sorted(self.passed, key=lambda done: -len(done[0].cases))[:2]:
            again = self._run(pack)
            for case in pack.cases:
                got, wanted = again.traces[case.id], before.traces[case.id]
                if unlike := self._difference(case, got, wanted, "the first time"):
                    raise AdapterFault(
                        f"{self._at(case)}, run a second time: {unlike.words}; let nothing outlive a run, and "
                        "nothing depend on chance"
                    )
                if in_order(got) != in_order(wanted):
                    self.remarks.append(f"{self.labels[case.id]}: a second run puts out the same in another order")
            if again.counts != before.counts or again.untouched != before.untouched:
                raise AdapterFault(
                    f"{self._where(pack)}, run a second time: the counts or the untouched cases differ; let nothing "
                    "outlive a run"
                )
        self.checked.append("one pack twice")

    def _refused(self) -> None:
        """Make a call that an engine should refuse."""
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
            elif any("EngineFault" in told(cause) for cause in causes(error)):
                raise AdapterFault(f"{where}: run() raised {told(error)} without naming the case; {mend}") from error
            else:
                self.remarks.append(f"{where}: run() raised {told(error)}; if that was within the call, {mend}")
            return
        if trace.error:
            raise AdapterFault(f"{where}: it is told as the program's exception ({trace.error}); {mend}")
        self.remarks.append(f"{where}: the engine took it")

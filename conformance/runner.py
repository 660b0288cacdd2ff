"""One run: draw or read the cases, run them on every engine, judge, confirm, and put the results together.

The runner reports what happens as events and prints nothing. Engines run side by side, each in its own process.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from conformance import checking
from conformance.checking import Against, Runs, Traces
from conformance.engine import CannotRun, EngineInfo, Lateness, LatenessProfile, NotDriven, case_needs
from conformance.generation import Exercised, draw_cases
from conformance.guarantees import Guarantee, Scenario, program_ref, programs_of
from conformance.lattice import Survival, survey
from conformance.model import Case, Pack, PackRun, Trace, canonical
from conformance.perturbation import BY_ID
from conformance.process import EngineDown, EngineProcess
from conformance.program import Program
from conformance.registry import load_engine
from conformance.results import Cell, Results, Verdict
from conformance.witnesses import Witness

CONFIRMATIONS = 3
"""How many of the smallest failing cases are tried alone before a cell is called unknown."""


class UnusableCases(ValueError):
    """A file of cases that cannot be read or that names what is not there; the message says which."""


@dataclass(frozen=True)
class Options:
    """What to run. ``wanted`` is how many cases shall put each guarantee to the test; ``timeout`` is seconds for one
    pack on one engine."""

    engines: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    out: Path
    wanted: int = 200
    seed: int = 0
    cases_from: Path | None = None
    timeout: float = 600.0


@dataclass(frozen=True)
class RunStarted:
    cases: int
    clocks: int


@dataclass(frozen=True)
class EngineReady:
    engine: str
    packs: int


@dataclass(frozen=True)
class PackDone:
    engine: str


@dataclass(frozen=True)
class Confirming:
    engine: str
    cells: int


@dataclass(frozen=True)
class CellDone:
    cell: Cell


@dataclass(frozen=True)
class EngineDone:
    """``failure`` is empty for an engine that ran to its end; ``available`` is False for one that never started."""

    engine: str
    seconds: float
    failure: str
    available: bool


Event = RunStarted | EngineReady | PackDone | Confirming | CellDone | EngineDone


@dataclass
class EngineOutcome:
    """What one engine gave."""

    info: EngineInfo
    cells: list[Cell] = field(default_factory=list)
    survivals: list[Survival] = field(default_factory=list)
    witnesses: dict[str, Witness] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    available: bool = True


def reference_traces(programs: Mapping[str, Any], lateness: LatenessProfile | None = None) -> checking.Reference:
    """A function that runs cases on the reference engine, each alone, reading lateness as ``lateness`` says."""
    engine: Any = load_engine("reference")
    if lateness is not None:
        engine = engine.reading(lateness)

    def traces(cases: list[Case]) -> Traces:
        found: dict[str, Trace] = {}
        for case in cases:
            found |= engine.run(Pack((case,)), programs).traces
        return found

    return traces


READINGS = (
    None,
    LatenessProfile(Lateness.AT_OR_BEHIND, Lateness.AT_OR_BEHIND),
    LatenessProfile(Lateness.NEVER, Lateness.NEVER),
)
"""How engines may read *late*. Cases are drawn for all of them, so that the same file of cases serves every engine."""


def exercised_by_any_reading(scenarios: Iterable[Scenario]) -> Exercised:
    """A function that says which guarantees (ids) each of some cases tests, whichever way an engine reads *late*."""
    scenarios = list(scenarios)
    references = [reference_traces(programs_of(scenarios), reading) for reading in READINGS]

    def exercised(cases: list[Case]) -> list[frozenset[str]]:
        found = checking.exercised(scenarios, cases, references[0](cases))
        # A case without late events is the same under every reading.
        late = [i for i, case in enumerate(cases) if not all(a.on_time for a in case.schedule.arrivals)]
        for reference in references[1:]:
            read = [cases[i] for i in late]
            for i, tested in zip(late, checking.exercised(scenarios, read, reference(read)), strict=True):
                found[i] &= tested
        return found

    return exercised


def packs_of(cases: Iterable[Case], largest: int) -> list[Pack]:
    """Cases with one clock go together, in the order given, at most ``largest`` to a pack. A case of a sparse
    perturbation shares its pack with cases of that perturbation and other programs alone."""
    groups: dict[object, list[Case]] = {}
    before: Counter[object] = Counter()
    for case in cases:
        group: object = case.schedule.clock
        if case.perturbation and BY_ID[case.perturbation].sparse:
            mine = (group, case.perturbation, case.scenario, case.program)
            group = (group, case.perturbation, before[mine])
            before[mine] += 1
        groups.setdefault(group, []).append(case)
    return [Pack(tuple(group[i : i + largest])) for group in groups.values() for i in range(0, len(group), largest)]


def write_cases(path: Path, cases: Iterable[Case]) -> str:
    """Write a file of cases, one a line; returns the hash of its content."""
    text = "".join(canonical(case.to_json()) + "\n" for case in cases)
    path.write_text(text, encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()


def read_cases(path: Path, scenarios: Iterable[Scenario]) -> list[Case]:
    """The cases of a file that are of these scenarios. Raises UnusableCases."""
    known = programs_of(scenarios)
    try:
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableCases(f"cannot read {path}: {error}") from None
    cases = []
    for number, line in enumerate(lines, 1):
        try:
            cases.append(Case.from_json(json.loads(line)))
        except ValueError as error:
            raise UnusableCases(f"{path}, line {number}: not a case: {error}") from None
    cases = [case for case in cases if program_ref(case.scenario, case.program) in known]
    if not cases:
        raise UnusableCases(f"{path} holds no case of the scenarios asked for")
    if len({case.id for case in cases}) != len(cases):
        raise UnusableCases(f"{path} holds a case twice")
    if missing := {case.base for case in cases if case.base} - {case.id for case in cases}:
        raise UnusableCases(f"{path} lacks the case {min(missing)} that another is the twin of")
    return cases


class Run:
    """One run, from options to results."""

    def __init__(self, options: Options, on_event: Callable[[Event], None] = lambda event: None) -> None:
        self.options, self.on_event = options, on_event
        self.programs = programs_of(options.scenarios)
        self.processes: dict[str, EngineProcess] = {}
        self.interrupted = threading.Event()
        self._lock = threading.Lock()  # of processes: lanes start them, an interrupt ends them
        self.outcomes: dict[str, EngineOutcome] = {}

    def execute(self) -> Results:
        """Run everything that was asked for.

        Raises:
            UnusableCases: the file of cases is of no use.
        """
        options = self.options
        started = time.monotonic()
        (options.out / "logs").mkdir(parents=True, exist_ok=True)
        infos = {name: self._info(name) for name in options.engines}
        lanes = [[i for i in infos.values() if i.capabilities.heavy is heavy] for heavy in (True, False)]
        try:
            for lane in filter(None, lanes):
                self._start(lane[0])  # it comes up while the cases are drawn
            cases = self._cases()
            digest = write_cases(options.out / "cases.jsonl", cases)
            clocks = len({case.schedule.clock for case in cases})
            drawn = time.monotonic() - started
            self.on_event(RunStarted(len(cases), clocks))
            with ThreadPoolExecutor(max_workers=len(lanes)) as pool:
                jobs = [pool.submit(self._run_lane, lane, cases) for lane in lanes]
                try:
                    wait(jobs)
                except KeyboardInterrupt:
                    self.interrupt()
                for job in jobs:
                    job.result()
        finally:
            self._close_all()
        return self._results(cases, clocks, digest, drawn, time.monotonic() - started)

    def interrupt(self) -> None:
        """End the run early: engines stop at once, what they have given so far is judged, results are partial."""
        self.interrupted.set()
        self._close_all()

    def _close_all(self) -> None:
        with self._lock:
            for process in self.processes.values():
                process.close()

    def _start(self, info: EngineInfo) -> EngineProcess:
        """The engine's process, started if it was not yet. Raises CannotRun after an interrupt."""
        with self._lock:
            if self.interrupted.is_set():
                raise CannotRun("interrupted")
            if info.id not in self.processes:
                log = self.options.out / "logs" / f"{_file_name(info.id)}.log"
                self.processes[info.id] = EngineProcess(info.id, log, self.options.timeout)
            return self.processes[info.id]

    def _run_lane(self, lane: list[EngineInfo], cases: list[Case]) -> None:
        for info in lane:
            self._run_engine(info, cases)

    def _info(self, name: str) -> EngineInfo:
        engine = load_engine(name)
        return EngineInfo(name, engine.title, engine.capabilities)

    def _cases(self) -> list[Case]:
        options = self.options
        if options.cases_from:
            return read_cases(options.cases_from, options.scenarios)
        return draw_cases(options.scenarios, options.wanted, options.seed, exercised_by_any_reading(options.scenarios))

    def _run_engine(self, info: EngineInfo, cases: list[Case]) -> None:
        outcome = self.outcomes[info.id] = EngineOutcome(info)
        started = time.monotonic()
        try:
            process = self._start(info)
            info.environment, info.evidence = process.start()
        except CannotRun as error:
            outcome.available = False
            info.failure = "interrupted" if self.interrupted.is_set() else str(error)
            self.on_event(EngineDone(info.id, 0.0, info.failure, available=False))
            return
        outcome.seconds["start"] = time.monotonic() - started
        can = info.capabilities
        mine = [c for c in cases if can.first_missing(case_needs(c, self._program(c))) is None]
        packs = packs_of(mine, can.largest_pack)
        self.on_event(EngineReady(info.id, len(packs)))
        runs = Runs()
        for pack in packs:
            self._run_pack(process, pack, runs, info)
            self.on_event(PackDone(info.id))
        outcome.seconds["packs"] = time.monotonic() - started - outcome.seconds["start"]
        self._judge(outcome, mine, runs, process)
        outcome.seconds["all"] = time.monotonic() - started
        process.close()
        self.on_event(EngineDone(info.id, outcome.seconds["all"], info.failure, available=True))

    def _program(self, case: Case) -> Any:
        return self.programs[program_ref(case.scenario, case.program)]

    def _run_pack(self, process: EngineProcess, pack: Pack, runs: Runs, info: EngineInfo) -> None:
        """Run a pack; if the engine fails in one case's call, run it again without that case."""
        while True:
            try:
                runs.add(pack, process.run(pack))
                return
            except NotDriven as error:
                runs.faults |= {case.id: f"the schedule was not driven: {error}" for case in pack.cases}
                return
            except EngineDown as error:
                cause = "interrupted" if self.interrupted.is_set() else str(error)
                guilty = [case for case in pack.cases if f"[case {case.id}]" in cause]
                if guilty and process.alive:
                    runs.lost[guilty[0].id] = cause
                    pack = Pack(tuple(case for case in pack.cases if case is not guilty[0]))
                    if pack.cases:
                        continue
                    return
                runs.lost |= {case.id: cause for case in pack.cases}
                info.failure = info.failure or cause
                return

    def _judge(self, outcome: EngineOutcome, cases: list[Case], runs: Runs, process: EngineProcess) -> None:
        info = outcome.info
        reference = reference_traces(self.programs, info.capabilities.lateness)
        violated: list[tuple[Cell, Guarantee, list[Against]]] = []
        for cell, guarantee, evidence in checking.judge(self.options.scenarios, cases, runs, info, reference):
            outcome.cells.append(cell)
            if cell.verdict is Verdict.VIOLATED:
                violated.append((cell, guarantee, sorted(evidence.against, key=lambda a: a.size)))
        outcome.survivals = list(survey(self.options.scenarios, cases, runs, info, reference))
        self.on_event(Confirming(info.id, len(violated)))
        alone = Alone(process, self.programs)
        confirmed = {id(cell): self._confirm(cell, g, against, alone, outcome) for cell, g, against in violated}
        outcome.cells = [confirmed.get(id(cell), cell) for cell in outcome.cells]
        for cell in outcome.cells:
            self.on_event(CellDone(cell))

    def _confirm(
        self, cell: Cell, guarantee: Guarantee, against: list[Against], alone: Alone, outcome: EngineOutcome
    ) -> Cell:
        """A violated cell gets its witness: the smallest failing case that fails again in an engine run of its own."""
        for candidate in against[:CONFIRMATIONS]:
            try:
                witness = alone.witness(guarantee, candidate, outcome.info)
            except checking.Unjudgeable as error:
                return replace(
                    cell, verdict=Verdict.ERROR, reason=f"fails in a pack; alone it could not be judged: {error}"
                )
            except NotDriven as error:
                return replace(cell, verdict=Verdict.ERROR, reason=f"fails in a pack; alone it was not driven: {error}")
            except EngineDown as error:
                cause = "interrupted" if self.interrupted.is_set() else str(error)
                outcome.info.failure = outcome.info.failure or cause
                return replace(
                    cell, verdict=Verdict.UNKNOWN, reason=f"fails in a pack; alone it could not be run: {cause}"
                )
            if witness:
                outcome.witnesses[witness.id] = witness
                return replace(cell, witness=witness.id, reason=witness.message)
        tried = min(CONFIRMATIONS, len(against))
        return replace(
            cell,
            verdict=Verdict.UNKNOWN,
            reason=f"fails only in a pack, not alone ({tried} cases tried): {cell.reason}",
        )

    def _results(self, cases: list[Case], clocks: int, digest: str, drawn: float, seconds: float) -> Results:
        options = self.options
        outcomes = [self.outcomes[name] for name in options.engines if name in self.outcomes]
        witnesses = {name: w.to_json() for outcome in outcomes for name, w in sorted(outcome.witnesses.items())}
        return Results(
            run={
                "harness": version("conformance"),
                "seed": None if options.cases_from else options.seed,
                "wanted": options.wanted,
                "cases": len({case.digest for case in cases}),
                "cases_digest": digest,
                "clocks": clocks,
                "partial": self.interrupted.is_set(),
                "options": {"scenarios": [s.id for s in options.scenarios], "engines": list(options.engines)},
            },
            environment={outcome.info.id: environment(outcome.info) for outcome in outcomes},
            scenarios={scenario.id: describe(scenario) for scenario in options.scenarios},
            cells=[cell for outcome in outcomes for cell in outcome.cells],
            survivals=[survival.to_json() for outcome in outcomes for survival in outcome.survivals],
            witnesses=witnesses,
            timing={
                "cpus": os.cpu_count(),
                "drawing": round(drawn, 2),
                "seconds": round(seconds, 2),
                "engines": {o.info.id: {k: round(v, 2) for k, v in o.seconds.items()} for o in outcomes},
            },
        )


class Alone:
    """Runs cases one by one on an engine, each once."""

    def __init__(self, process: EngineProcess, programs: Mapping[str, Any]) -> None:
        self._process, self._programs = process, programs
        self._done: dict[str, PackRun] = {}

    def run(self, case: Case) -> PackRun:
        if case.id not in self._done:
            self._done[case.id] = self._process.run(Pack((case,)))
        return self._done[case.id]

    def witness(self, guarantee: Guarantee, candidate: Against, info: EngineInfo) -> Witness | None:
        """The candidate as a witness if it fails when run alone: without the pack's empty bundles, or else with them.

        Raises:
            Unjudgeable: alone, the program stopped or the predicate failed.
        """
        for strip in (True, False):
            base = candidate.base and (_stripped(candidate.base) if strip else candidate.base)
            case = _stripped(candidate.case, base) if strip else candidate.case
            run = self.run(case)
            base_run = self.run(base) if base else None
            message = failure(
                self._programs[program_ref(case.scenario, case.program)], guarantee, case, run, base, base_run
            )
            if message:
                break
        else:
            return None
        specified = reference_traces(self._programs)([case])[case.id]
        return Witness(
            guarantee=guarantee.id,
            claim=guarantee.claim,
            case=case,
            base=base,
            engine=info.id,
            versions=info.environment,
            message=message,
            seen=run.traces[case.id],
            specified=specified,
            base_seen=base_run.traces[base.id] if base and base_run else None,
        )


def failure(
    program: Program, guarantee: Guarantee, case: Case, run: PackRun, base: Case | None, base_run: PackRun | None
) -> str:
    """How a case (with its base, for a relation) that was run alone speaks against a guarantee; "" if it does not.

    Raises:
        Unjudgeable: the program stopped or the predicate failed.
    """
    traces = {**run.traces, **(base_run.traces if base_run else {})}
    for member in (base, case):
        if member and (stopped := traces[member.id].error):
            raise checking.Unjudgeable(f"the program stopped: {stopped}")
    if guarantee.accounting:
        return next((finding for finding in guarantee.accounting(run) if isinstance(finding, str)), "")
    if guarantee.same_under:
        assert base
        return checking.pair_differs(program, guarantee, base, case, traces)
    _, against = checking.findings_against(guarantee, case, traces[case.id])
    return against[0] if against else ""


def _stripped(case: Case, base: Case | None = None) -> Case:
    return replace(case, schedule=case.schedule.without_empty_bundles(), base=base.id if base else "")


def environment(info: EngineInfo) -> dict[str, Any]:
    """What results record of an engine."""
    lateness = info.capabilities.lateness
    return {
        "title": info.title,
        "versions": info.environment,
        "lateness": {"global window": lateness.global_window.value, "fixed windows": lateness.fixed_windows.value},
        "features": {
            feature.value: {"how": support.how, "note": support.note, "evidence": info.evidence.get(feature, "")}
            for feature, support in info.capabilities.features.items()
        },
        "failure": info.failure,
    }


def describe(scenario: Scenario) -> dict[str, Any]:
    """What results record of a scenario."""
    return {
        "name": scenario.name,
        "summary": scenario.summary,
        "guarantees": {
            g.id: {
                "claim": g.claim,
                "program": g.program,
                "source": g.source.document,
                "quote": g.source.quote,
                "url": g.source.url,
            }
            for g in scenario.guarantees
        },
    }


def _file_name(engine: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", engine)

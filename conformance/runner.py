"""One run: draw or read the cases, run them on every engine, judge, confirm, and put the results together.

The runner reports what happens as events and prints nothing. Engines run side by side, each in its own process.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from conformance import checking, tables
from conformance.checking import Against, Runs
from conformance.checks import Checks, agreements_of
from conformance.claims import opposed
from conformance.confirmation import ALONE, STILL_FAILS, Confirmer, Replay, Violation, replay_all, settled
from conformance.engine import CannotRun, EngineInfo, Lateness, LatenessProfile, NotDriven, bare
from conformance.environments import Release, python_of
from conformance.generation import Exercised, draw_cases, seeded
from conformance.guarantees import Guarantee, Scenario, asked_by, programs_of
from conformance.judging import Judgement
from conformance.lattice import Survival
from conformance.model import Case, Pack, PackRun, program_ref
from conformance.model import digest as digest_of
from conformance.packing import chosen, halves, packs_of
from conformance.process import AnyEngine, EngineDown, Host, open_in
from conformance.registry import adapter_digest, load_engine, releases_of
from conformance.results import AS_DRAWN, Cell, Results, Verdict, fold
from conformance.specified import reference_traces
from conformance.storage import Digest, Store, file_name, read_cases
from conformance.witnesses import Witness, stored_witnesses

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """What to run. ``wanted`` is how many cases shall put each guarantee to the test; ``witnesses`` are folders of stored
    witnesses, which are replayed first; ``timeout`` is seconds for one pack on one engine; ``checker`` says where cases are
    checked: "local", "spark", or "auto", by their number; ``all_packs`` lets slow engines run all packs, ``share`` makes them run only
    this part of their choice. ``brief`` is for a first look, and for runs of which what differs is asked again: a new witness is run
    alone once, in the process that is there, and every stored one is replayed in a pack, settled or not."""

    engines: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    out: Path
    wanted: int = 200
    seed: int = 0
    cases_from: Path | None = None
    witnesses: tuple[Path, ...] = ()
    timeout: float = 600.0
    checker: str = "auto"
    all_packs: bool = False
    share: float = 1.0
    brief: bool = False


@dataclass(frozen=True)
class RunStarted:
    cases: int
    clocks: int


@dataclass(frozen=True)
class BatchBegun:
    """``packs`` of a batch of cases are to be run, of as many as were drawn."""

    engine: str
    batch: int
    batches: int
    packs: int
    drawn: int


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


Event = RunStarted | BatchBegun | PackDone | Confirming | CellDone | EngineDone


@dataclass
class EngineOutcome:
    """What one engine gave; ``answered`` says whether it gave a trace at all."""

    info: EngineInfo
    cells: list[Cell] = field(default_factory=list)
    survivals: list[Survival] = field(default_factory=list)
    witnesses: dict[str, Witness] = field(default_factory=dict)
    replays: list[Replay] = field(default_factory=list)
    answered: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    effort: dict[str, int] = field(default_factory=dict)
    available: bool = True


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


def with_replays(cell: Cell, replays: list[Replay]) -> Cell:
    """A stored witness that still fails speaks against its cell, whatever the cases of this run say."""
    for found in replays:
        witness = found.witness
        where = (witness.case.scenario, witness.guarantee, witness.case.perturbation or AS_DRAWN)
        if found.answer == STILL_FAILS and where == (*cell.row, cell.perturbation):
            if cell.verdict in (Verdict.VIOLATED, Verdict.UNSUPPORTED):
                return cell
            reason = f"a stored witness still fails: {found.message}"
            return replace(cell, verdict=Verdict.VIOLATED, reason=reason, violations=1, witness=witness.id)
    return cell


BATCH = 200
"""So many cases for each guarantee are drawn, run and checked at a time: what is kept in memory is one batch."""


@dataclass
class Drawn:
    """How many distinct cases all batches of a run have, and on which clocks."""

    cases: int = 0
    clocks: set[object] = field(default_factory=set)
    digest: Digest = field(default_factory=Digest)


class Run:
    """One run, from options to results."""

    def __init__(self, options: Options, on_event: Callable[[Event], None] = lambda event: None) -> None:
        self.options, self.on_event = options, on_event
        self.programs = programs_of(options.scenarios)
        self.store = Store(options.out)
        self.checks = Checks(options.scenarios, self.store, options.checker, lambda: self._host("checker"))
        self.hosts: dict[str, Host] = {}
        self._hosts_started: Counter[str] = Counter()
        self.interrupted = threading.Event()
        self._drawing = self._stop_asked = False
        self._drawn, self._nothing_to_run = threading.Event(), False
        self._lock = threading.Lock()  # of hosts: lanes start them, an interrupt ends them
        self.outcomes: dict[str, EngineOutcome] = {}
        self.stored = stored_witnesses(options.witnesses, options.scenarios)

    def execute(self) -> Results:
        """Run everything that was asked for.

        Raises:
            UnusableCases: the file of cases is of no use.
        """
        options = self.options
        started = time.monotonic()
        (options.out / "logs").mkdir(parents=True, exist_ok=True)
        infos = {name: self._info(name) for name in options.engines}
        lanes = list(_lanes(infos.values()))
        try:
            with ThreadPoolExecutor(max_workers=len(lanes)) as pool:
                jobs = [pool.submit(self._run_lane, lane) for lane in lanes]
                try:
                    drawn = self._draw()
                    seconds = time.monotonic() - started
                    self.on_event(RunStarted(drawn.cases, len(drawn.clocks)))
                except BaseException:
                    self._nothing_to_run = True
                    self.interrupt()
                    raise
                finally:
                    self._drawn.set()
                try:
                    wait(jobs)
                except KeyboardInterrupt:
                    self.interrupt()
                for job in jobs:
                    job.result()
        finally:
            self._close_all()
        return self._results(drawn, seconds, started)

    def stop(self, *_: object) -> None:
        """A handler of signals: raises KeyboardInterrupt, but while cases are drawn only as soon as may be. Hypothesis is
        called by Python's garbage collector then, where an exception is lost."""
        self._stop_asked = True
        if not self._drawing:
            raise KeyboardInterrupt

    def interrupt(self) -> None:
        """End the run early: engines stop at once, what they have given so far is judged, results are partial."""
        self.interrupted.set()
        self._close_all()

    def _close_all(self) -> None:
        with self._lock:
            for host in self.hosts.values():
                host.close()

    def _close(self, name: str) -> None:
        with self._lock:
            for host in (self.hosts.pop(name, None), self.hosts.pop(f"{name}-confirmation", None)):
                if host:
                    host.close()

    def _hosts(self, info: EngineInfo, suffix: str = "", hash_seed: int = 0) -> list[Host]:
        """The processes that an engine runs in: one, or one for each of two releases. Raises CannotRun."""
        releases: list[Release | None] = [*releases_of(info.id)]
        named = zip(_host_names(info), releases or [None], strict=True)
        return [self._host(name + suffix, hash_seed, release) for name, release in named]

    def _host(self, name: str, hash_seed: int = 0, release: Release | None = None) -> Host:
        """The process of this name, started if there is none that lives, in the environment of a release if it is of one.

        Raises:
            CannotRun: the run was interrupted, or the release cannot be had.
        """
        if release:
            python_of(release)  # it may take a minute to build: not while others wait for the lock
        with self._lock:
            if self.interrupted.is_set():
                raise CannotRun("interrupted")
            if name in self.hosts and not self.hosts[name].alive:
                self.hosts.pop(name).close()
            if name not in self.hosts:
                number = self._hosts_started[name]
                log = self.options.out / "logs" / (f"{name}-{number}.log" if number else f"{name}.log")
                self.hosts[name] = Host(log, self.options.timeout, hash_seed, release)
                self._hosts_started[name] += 1
            return self.hosts[name]

    def _start_again(self, info: EngineInfo) -> AnyEngine:
        """The engine in another process. Raises EngineDown where it does not start."""
        try:
            return open_in(info.id, self._hosts(info, "-confirmation", 1))
        except CannotRun as error:
            raise EngineDown(str(error)) from None

    def _run_lane(self, lane: list[EngineInfo]) -> None:
        """Run engines, one after the other. Those of the first host replay their witnesses while the cases are drawn; another host is a
        process more, and starts when it is its turn."""
        begun = {
            info.id: self._guarded(info, self._begin) for info in lane if _host_names(info) == _host_names(lane[0])
        }
        self._drawn.wait()
        if self._nothing_to_run:
            return
        for number, info in enumerate(lane):
            engine = begun[info.id] if info.id in begun else self._guarded(info, self._begin)
            if engine and not engine.alive:  # its host was ended since, with another engine
                engine = self._guarded(info, self._open)
            if engine:
                self._guarded(info, partial(self._run_engine, engine))
            still_needed = {name for later in lane[number + 1 :] for name in _host_names(later)}
            for name in {*_host_names(info)} - still_needed:
                self._close(name)

    def _info(self, name: str) -> EngineInfo:
        engine = load_engine(name)
        return EngineInfo(name, engine.title, engine.capabilities, adapter=adapter_digest(engine))

    def _draw(self) -> Drawn:
        """Draw the cases, or read them, and store them in batches."""
        drawn = Drawn()
        for cases in self.store.replaced_by(self._batches()):
            drawn.digest.add(cases)
            drawn.cases += len({case.digest for case in cases})
            drawn.clocks |= {case.schedule.clock for case in cases}
        return drawn

    def _batches(self) -> Iterator[list[Case]]:
        options = self.options
        if options.cases_from:
            yield from read_cases(options.cases_from, options.scenarios)
            return
        exercised = exercised_by_any_reading(options.scenarios)

        def until_stopped(cases: list[Case]) -> list[frozenset[str]]:
            if self._stop_asked:
                raise KeyboardInterrupt
            return exercised(cases)

        known: set[str] = set()
        number = -(-options.wanted // BATCH)
        for batch in range(number):
            wanted = options.wanted // number + (batch < options.wanted % number)
            seed = seeded(options.seed, "batch", batch) if batch else options.seed
            self._drawing = True
            try:
                cases = draw_cases(options.scenarios, wanted, seed, until_stopped, known)
            finally:
                self._drawing = False
            if self._stop_asked:
                raise KeyboardInterrupt
            known |= {case.digest for case in cases}
            yield cases

    def _guarded(self, info: EngineInfo, do: Callable[[EngineInfo], T]) -> T | None:
        """A defect of the harness is no reason to lose the other columns."""
        try:
            return do(info)
        except Exception as error:
            self._broken(info, error)
            return None

    def _begin(self, info: EngineInfo) -> AnyEngine | None:
        """Start an engine and replay its stored witnesses; None where it cannot be started."""
        outcome = self.outcomes[info.id] = EngineOutcome(info)
        started = time.monotonic()
        if not (engine := self._open(info)):
            return None
        outcome.seconds["start"] = time.monotonic() - started
        stored = [] if info.lacks else [w for w in self.stored if bare(w.engine) == bare(info.id)]
        packed = {w.id for w in stored if self.options.brief or settled(w, info)}
        outcome.replays = replay_all(engine, stored, self.options.scenarios, info.capabilities, packed)
        outcome.seconds["stored witnesses"] = time.monotonic() - started - outcome.seconds["start"]
        return engine

    def _open(self, info: EngineInfo) -> AnyEngine | None:
        try:
            engine = open_in(info.id, self._hosts(info))
        except CannotRun as error:
            self.outcomes[info.id].available = False
            info.failure = "interrupted" if self.interrupted.is_set() else str(error)
            self.on_event(EngineDone(info.id, 0.0, info.failure, available=False))
            return None
        info.environment, info.evidence, info.lacks = engine.environment, engine.evidence, engine.lacks
        return engine

    def _run_engine(self, engine: AnyEngine, info: EngineInfo) -> None:
        outcome, started = self.outcomes[info.id], time.monotonic()
        outcome.seconds |= {"packs": 0.0, "checks": 0.0}
        judgement = Judgement(self.options.scenarios, info)
        for batch in () if info.lacks else self.store.batches:
            begun = time.monotonic()
            cases, runs = self._run_batch(engine, info, batch)
            outcome.answered |= bool(runs.traces)
            ran = time.monotonic()
            self._check_batch(info, batch, cases, runs, judgement)
            outcome.seconds["packs"] += ran - begun
            outcome.seconds["checks"] += time.monotonic() - ran
        self._conclude(outcome, judgement, engine)
        if not info.lacks:
            self.store.write_engine(info, self.options.engines.index(info.id))
        before = outcome.seconds["start"] + outcome.seconds["stored witnesses"]
        outcome.seconds["all"] = before + time.monotonic() - started
        self.on_event(EngineDone(info.id, outcome.seconds["all"], info.failure, available=True))

    def _broken(self, info: EngineInfo, error: Exception) -> None:
        log = self.options.out / "logs" / f"{file_name(info.id)}-harness.log"
        log.write_text(traceback.format_exc(), encoding="utf-8")
        info.failure = f"the harness failed: {type(error).__name__}: {error}; the full log is in {log}"
        outcome = self.outcomes[info.id]
        fault = checking.Tally(fault=info.failure)
        asked = checking.cells_asked(self.options.scenarios, info)
        outcome.cells = [checking.conclude(*place, info, fault) for place in asked]
        self.on_event(EngineDone(info.id, 0.0, info.failure, available=True))

    def _run_batch(self, engine: AnyEngine, info: EngineInfo, batch: int) -> tuple[list[Case], Runs]:
        """Run a batch of cases on an engine, and store what it gave; those that it was handed, and that."""
        can = info.capabilities
        mine = [case for case in self.store.read_cases(batch) if can.takes(case, self._program(case))]
        drawn = packs_of(mine, can.largest_pack, can.largest_waiting_pack, broad=can.heavy)
        most = max(2, round(can.packs * self.options.share))  # a twin needs the pack of its base, too
        packs = drawn if self.options.all_packs else chosen(drawn, most, asked_by(self.options.scenarios))
        info.packs = info.packs[0] + len(packs), info.packs[1] + len(drawn)
        handed = [case for pack in packs for case in pack.cases]
        self.on_event(BatchBegun(info.id, batch, len(self.store.batches), len(packs), len(drawn)))
        runs = Runs()
        with ThreadPoolExecutor(max_workers=can.parallel) as pool:
            for given, failure in pool.map(lambda pack: self._run_pack(engine, pack, info.id), packs):
                runs.merge(given)
                info.failure = info.failure or failure
        tables.write(self.store.traces(info.id, batch), tables.run_table(handed, runs))
        return handed, runs

    def _check_batch(self, info: EngineInfo, batch: int, cases: list[Case], runs: Runs, judgement: Judgement) -> None:
        try:
            checked = self.checks.check(info, batch, cases, runs)
        except EngineDown as error:
            info.failure = info.failure or f"not checked on {self.checks.checker}, but here: {error}"
            checked = self.checks.check_here(info, batch, cases, runs)
        judgement.add(checked, {case.id: case for case in cases}, runs.traces, runs.notes)

    def _program(self, case: Case) -> Any:
        return self.programs[program_ref(case.scenario, case.program)]

    def _run_pack(self, engine: AnyEngine, pack: Pack, name: str) -> tuple[Runs, str]:
        found = self._try_pack(engine, pack)
        self.on_event(PackDone(name))
        return found

    def _try_pack(self, engine: AnyEngine, pack: Pack) -> tuple[Runs, str]:
        """Run a pack, again without a case in whose call the engine fails, in halves where it was too slow; what it gave, and what the
        engine's process failed with."""
        runs = Runs()
        failure = ""
        while pack.cases:
            try:
                run = engine.run(pack)
                if _too_slow(pack, run) and len(smaller := halves(pack)) > 1:
                    for half in smaller:
                        given, why = self._try_pack(engine, half)
                        runs.merge(given)
                        failure = failure or why
                    return runs, failure
                runs.add(pack, run)
                break
            except NotDriven as error:
                runs.faults |= {case.id: f"the schedule was not driven: {error}" for case in pack.cases}
                break
            except EngineDown as error:
                cause = "interrupted" if self.interrupted.is_set() else str(error)
                guilty = [case for case in pack.cases if f"[case {case.id}]" in cause]
                if not guilty or not engine.alive:
                    runs.lost |= {case.id: cause for case in pack.cases}
                    failure = cause
                    break
                runs.lost[guilty[0].id] = cause
                left = tuple(case for case in pack.cases if case is not guilty[0])
                if not left:
                    break
                pack = Pack(left)
        return runs, failure

    def _conclude(self, outcome: EngineOutcome, judgement: Judgement, engine: AnyEngine) -> None:
        """From what all batches say to cells; what is violated is confirmed."""
        info, replays = outcome.info, outcome.replays
        violations: list[Violation] = []
        cells: list[Cell] = []
        for judged, guarantee, against in judgement.cells():
            cell = with_replays(judged, replays)
            cells.append(cell)
            if cell.verdict is Verdict.VIOLATED:
                violations.append(Violation(cell, guarantee, tuple(against) if cell is judged else ()))
        violations += self._contradicting(info, cells)
        outcome.survivals = list(judgement.survivals())
        self.on_event(Confirming(info.id, len(violations)))
        started = time.monotonic()
        brief = self.options.brief
        confirmer = Confirmer(
            info,
            self.options.scenarios,
            reference=self.checks.reference(info.capabilities.lateness),
            specified=self.checks.reference(None),
            start=lambda: engine if brief and engine.alive else self._start_again(info),
            alone=1 if brief else ALONE,
        )
        confirmed = confirmer.confirm(violations, judgement.runs, judgement.cases, replays)
        by_cell = {id(v.cell): cell for v, cell in zip(violations, confirmed, strict=True)}
        outcome.cells = [by_cell.get(id(cell), cell) for cell in cells]
        still = {r.witness.id: r.witness for r in replays if r.answer == STILL_FAILS}
        outcome.witnesses = still | confirmer.witnesses
        outcome.seconds["witnesses"] = time.monotonic() - started
        outcome.effort = {"rounds": confirmer.rounds, "runs alone": confirmer.alone_runs}
        for cell in outcome.cells:
            self.on_event(CellDone(cell))

    def _contradicting(self, info: EngineInfo, cells: list[Cell]) -> Iterator[Violation]:
        """For each guarantee that holds and thereby contradicts a claim about the engine: what to find a witness for, the cases
        that put it to the test. No cell is about it."""
        claimed = opposed(info.id)
        for scenario in self.options.scenarios:
            for guarantee in scenario.guarantees:
                row = scenario.id, guarantee.id
                mine = [cell for cell in cells if cell.row == row] if row in claimed else []
                if mine and fold(mine).verdict is Verdict.HOLDS:
                    opposite = guarantee.opposite
                    cell = replace(mine[0], guarantee=opposite.id, verdict=Verdict.VIOLATED)
                    if against := sorted(self._against(info, scenario, opposite), key=lambda a: a.size):
                        yield Violation(cell, opposite, tuple(against))

    def _against(self, info: EngineInfo, scenario: Scenario, guarantee: Guarantee) -> Iterator[Against]:
        """The stored cases as drawn that speak against a guarantee of one engine."""
        program, reference = scenario.programs[guarantee.program], self.checks.reference(info.capabilities.lateness)
        for batch in self.store.batches:
            cases, runs = self.store.read_batch(info.id, batch)
            mine = [case for case in cases if (case.scenario, case.program) == (scenario.id, guarantee.program)]
            yield from checking.gather(program, guarantee, None, mine, runs, reference).against

    def _agreements(self, outcomes: list[EngineOutcome]) -> list[dict[str, Any]]:
        compared = [o.info for o in outcomes if o.answered and (not (i := o.info.capabilities.idiom) or i.compared)]
        return [found.to_json() for found in agreements_of(self.options.scenarios, compared, self.store, self.checks)]

    def _results(self, drawn: Drawn, drawing: float, started: float) -> Results:
        options = self.options
        outcomes = [self.outcomes[name] for name in options.engines if name in self.outcomes]
        witnesses = {name: w.to_json() for outcome in outcomes for name, w in sorted(outcome.witnesses.items())}
        return Results(
            run={
                "harness": version("conformance"),
                "seed": None if options.cases_from else options.seed,
                "wanted": options.wanted,
                "cases": drawn.cases,
                "cases_digest": str(drawn.digest),
                "clocks": len(drawn.clocks),
                "partial": self.interrupted.is_set(),
                "stored_witnesses": digest_of([witness.to_json() for witness in self.stored]),
                "options": {"scenarios": [s.id for s in options.scenarios], "engines": list(options.engines)},
            },
            environment={outcome.info.id: environment(outcome.info) for outcome in outcomes},
            scenarios={scenario.id: describe(scenario) for scenario in options.scenarios},
            cells=[cell for outcome in outcomes for cell in outcome.cells],
            survivals=[survival.to_json() for outcome in outcomes for survival in outcome.survivals],
            witnesses=witnesses,
            agreements=self._agreements(outcomes),
            replays=[replay.to_json() for outcome in outcomes for replay in outcome.replays],
            timing={
                "cpus": os.cpu_count(),
                "drawing": round(drawing, 2),
                "seconds": round(time.monotonic() - started, 2),
                "engines": {o.info.id: {k: round(v, 2) for k, v in o.seconds.items()} | o.effort for o in outcomes},
            },
        )


def environment(info: EngineInfo) -> dict[str, Any]:
    """What results record of an engine."""
    lateness, idiom = info.capabilities.lateness, info.capabilities.idiom
    base, at, versions = info.id.partition("@")
    return {
        "title": info.title,
        "column": base.partition(":")[0] + at + versions if idiom and not idiom.compared else info.id,
        "idiom": idiom.words if idiom else "",
        "versions": info.environment,
        "lateness": {"global window": lateness.global_window.value, "fixed windows": lateness.fixed_windows.value},
        "features": {
            feature.value: {"how": support.how, "note": support.note, "evidence": info.evidence.get(feature, "")}
            for feature, support in info.capabilities.features.items()
        },
        "packs": {"run": info.packs[0], "drawn": info.packs[1]},
        "failure": info.failure,
    }


def _too_slow(pack: Pack, run: PackRun) -> bool:
    """Whether a pack says nothing because more processing time passed than was waited for."""
    return pack.cases[0].schedule.waits and all(case.id in run.untouched for case in pack.cases)


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


HEAVY_LANES = 2
"""So many heavy engines run at a time, where they are of several releases: each release has a process of its own."""


def _lanes(infos: Iterable[EngineInfo]) -> Iterator[list[EngineInfo]]:
    """Engines that run one after the other, lane beside lane: heavy ones by release, the light ones in one."""
    infos = list(infos)
    releases = list(dict.fromkeys(i.id.partition("@")[2] for i in infos if i.capabilities.heavy))
    for number in range(min(len(releases), HEAVY_LANES)):
        mine = releases[number::HEAVY_LANES]
        yield [i for i in infos if i.capabilities.heavy and i.id.partition("@")[2] in mine]
    if light := [i for i in infos if not i.capabilities.heavy]:
        yield light


def _host_names(info: EngineInfo) -> list[str]:
    """What the processes that it runs in are called, and their logs."""
    base, at, versions = (info.capabilities.host or info.id).partition("@")
    return [file_name(base + at + version) for version in versions.split("+")]

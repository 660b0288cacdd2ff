"""One engine's turn: start the engine, replay its stored witnesses, run its packs, judge the results, and confirm the
violations."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TypeVar

from conformance.confirmation.confirmer import RUNS_ALONE, Confirmer
from conformance.confirmation.isolation import ENDED_ALIKE, Isolation, known_of
from conformance.confirmation.replay import (
    FAILS,
    STILL_FAILS,
    known_here,
    resting,
    saying_who_ran_once,
    with_replays,
    without_more_runs,
)
from conformance.confirmation.replays import replay_all
from conformance.confirmation.targets import Violation
from conformance.execution.cached import Cached, Process, Shelf, shelf_of
from conformance.execution.carried import AnyEngine
from conformance.execution.host import EngineDown
from conformance.execution.kept import Kept
from conformance.execution.watched import FirstRuns, Watched
from conformance.generation.suite import Suite
from conformance.judgement.batches import Checked, Isolated, Judgement, cells_asked
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.contradiction import contradictions
from conformance.judgement.evidence import Runs
from conformance.judgement.verdict import broken
from conformance.model.case import Case, program_ref
from conformance.model.engine import CannotRun, EngineInfo, bare
from conformance.model.perturbation import factors_of
from conformance.model.perturbation import parts_of as perturbations_of
from conformance.model.plan import is_plan
from conformance.model.program import Program
from conformance.model.runs import Pack
from conformance.model.scenario import programs_of
from conformance.plugins.adapter import adapter_digest
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.results import tables
from conformance.results.catalogue import opposed
from conformance.results.record import LEFT_OUT
from conformance.results.store import Store, file_name
from conformance.results.witness import Witness
from conformance.run.checks import Checks
from conformance.run.events import BatchBegun, CellDone, Confirming, EngineDone, Event, PackDone
from conformance.run.hosts import Hosts
from conformance.run.options import Options, Part
from conformance.run.outcome import EngineOutcome
from conformance.run.packs import Processes, packs_for, parts_of, run_packs

T = TypeVar("T")
P = TypeVar("P")

CONFIRMING = 1
"""The seed for hashes of the process that confirms witnesses: another one than that of the first process."""


ISOLATIONS = 2
"""How often the failures of a batch are taken apart: what the first time asks for may fail, too."""


@dataclass(frozen=True)
class Shared:
    """Data that all engines of a run share. ``stored`` holds the stored witnesses, ``kept`` the traces of earlier runs, ``spent`` says
    whether the run's time is over."""

    options: Options
    store: Store
    checks: Checks
    hosts: Hosts
    stored: list[Witness]
    on_event: Callable[[Event], None]
    kept: Kept | None = None
    spent: Callable[[], bool] = lambda: False


class Turn:
    """One engine of a run. A defect of the harness in one turn becomes errors in that engine's cells, and the other
    engines keep their results."""

    def __init__(self, name: str, shared: Shared) -> None:
        engine = load_engine(name)
        self._engine = engine
        self.info = EngineInfo(name, engine.title, engine.capabilities, adapter=adapter_digest(engine))
        self.outcome = EngineOutcome(self.info)
        self._first_runs = FirstRuns()
        self._shelf: Shelf | None = None
        self._serving: Processes | None = None
        self._packs: list[Pack] = []
        self._part = shared.options.parts.get(name, Part())
        self._run, self._options, self._store = shared, shared.options, shared.store

    def run(self) -> None:
        """Starts the engine, replays its stored witnesses, and runs, judges and confirms all batches of cases. Of an engine that several
        shards share, runs this shard's packs alone."""
        if engine := self._guarded(self._begin):
            self._guarded(partial(self._run_batches if self._part.whole else self._run_part, engine))

    def _guarded(self, do: Callable[[], T]) -> T | None:
        try:
            return do()
        except Exception as error:
            self._broken(error)
            return None

    def _broken(self, error: Exception) -> None:
        info = self.info
        log = self._options.out / "logs" / f"{file_name(info.id)}-harness.log"
        with suppress(OSError):  # a full disk may be what failed
            log.write_text(traceback.format_exc(), encoding="utf-8")
        info.failure = f"the harness failed: {type(error).__name__}: {error}; the full log is in {log}"
        asked = cells_asked(self._options.scenarios, info)
        self.outcome.cells = [broken(*place, info, info.failure) for place in asked]
        self._run.on_event(EngineDone(info.id, 0.0, info.failure, available=True))

    def _begin(self) -> Process | None:
        info, outcome, started = self.info, self.outcome, time.monotonic()
        if not (engine := self._open()):
            return None
        outcome.seconds["start"] = time.monotonic() - started
        mine = not info.lacks and 0 in self._part.numbers
        stored = [w for w in self._run.stored if mine and bare(w.engine) == bare(info.id)]
        rest = resting(stored, info)
        packed = {w.id for w in stored} if self._options.brief else rest
        can = info.capabilities
        here = {w.id for w in stored if known_here(w, info)}
        sampled = rest if self._options.sampled else set()
        outcome.replays = replay_all(
            engine,
            stored,
            self._options.scenarios,
            can,
            packed,
            packed - rest,
            here,
            lambda: not self._run.spent(),
            sampled,
        )
        outcome.seconds["stored witnesses"] = time.monotonic() - started - outcome.seconds["start"]
        return engine

    def _open(self) -> Process | None:
        info, hosts, kept = self.info, self._run.hosts, self._run.kept
        if self._run.spent():
            self.outcome.available = False
            info.failure = LEFT_OUT
            self._run.on_event(EngineDone(info.id, 0.0, info.failure, available=False))
            return None
        if kept and not self._shelf:
            options, elsewhere = self._options, self._options.shelves.get(info.id, "")
            self._shelf = shelf_of(self._engine, info.adapter, kept, self._programs, options.fresh, elsewhere)
        try:
            engine = self._behind(self._start)
            info.environment, info.evidence, info.lacks = engine.environment, engine.evidence, engine.lacks
            info.answers = engine.answers
        except CannotRun as error:
            self.outcome.available = False
            info.failure = "interrupted" if hosts.interrupted else str(error)
            if not hosts.interrupted:  # the run says that by itself
                self._run.on_event(EngineDone(info.id, 0.0, info.failure, available=False))
            return None
        return engine

    @cached_property
    def _programs(self) -> Mapping[str, Program]:
        """Those of all scenarios: a stored witness may have neighbours of scenarios that the run does not ask for."""
        return {**programs_of(load_scenarios()), **programs_of(self._options.scenarios)}

    def _parts(self, pack: Pack) -> Sequence[Pack]:
        return parts_of(self._programs, pack)

    def _start(self) -> Process:
        return Watched(self._run.hosts.open(self.info), self._first_runs, self._parts)

    def _start_beside(self) -> Process:
        return Watched(self._run.hosts.open_beside(self.info), self._first_runs, self._parts)

    def _start_again(self) -> AnyEngine:
        return self._run.hosts.open_again(self.info)

    def _behind(self, start: Callable[[], P], hash_seed: int = 0) -> P | Cached:
        """An engine behind its kept traces if there are any, otherwise the engine itself. Raises what ``start`` raises."""
        return Cached(self._shelf, start, hash_seed) if self._shelf else start()

    def _run_batches(self, engine: Process) -> None:
        info, outcome, started = self.info, self.outcome, time.monotonic()
        outcome.seconds |= {"packs": 0.0, "checks": 0.0}
        judgement = Judgement(self._options.scenarios, info)
        for batch in () if info.lacks else self._store.batches:
            begun = time.monotonic()
            cases, runs = self._run_batch(engine, batch)
            outcome.answered |= bool(runs.traces)
            ran = time.monotonic()
            self._judge_batch(batch, cases, runs, judgement, engine)
            outcome.seconds["packs"] += ran - begun
            outcome.seconds["checks"] += time.monotonic() - ran
        self._conclude(judgement, engine)
        self._packs = []
        info.kept = self._shelf.age if self._shelf else info.kept
        if not info.lacks:
            self._store.write_engine(info, self._options.engines.index(info.id))
        outcome.seconds["all"] = outcome.seconds["start"] + outcome.seconds["stored witnesses"]
        outcome.seconds["all"] += time.monotonic() - started
        for cell in outcome.cells:
            self._run.on_event(CellDone(cell))
        self._run.on_event(EngineDone(info.id, outcome.seconds["all"], info.failure, available=True))

    def _run_part(self, engine: Process) -> None:
        info, started = self.info, time.monotonic()
        for batch in () if info.lacks else self._store.batches:
            self._run_batch(engine, batch)
        info.kept = self._shelf.age if self._shelf else info.kept
        self._run.on_event(EngineDone(info.id, time.monotonic() - started, info.failure, available=True))

    def _run_batch(self, engine: Process, batch: int) -> tuple[list[Case], Runs]:
        """Runs a batch of cases. Returns the cases that the engine received, and the results."""
        info, on_event = self.info, self._run.on_event
        suite = self.suite(batch)
        self.outcome.effort["left out as known"] = self.outcome.effort.get("left out as known", 0) + suite.left_out
        every = packs_for(suite.cases, info.capabilities, self._programs)
        packs = self._part.taken(every)
        on_event(BatchBegun(info.id, batch, len(self._store.batches), len(packs)))
        given = run_packs(
            self._processes(engine),
            packs,
            info.capabilities.parallel,
            done=lambda: on_event(PackDone(info.id)),
            go_on=lambda: not self._run.spent(),
        )
        info.failure = info.failure or given.failure
        ran = [pack for pack in packs if pack not in given.left_out]
        info.packs = info.packs[0] + len(ran), info.packs[1] + len(every)
        self.outcome.left_out += len(given.left_out)
        self._packs += ran
        return _without([case for pack in packs for case in pack.cases], given.left_out), given.runs

    def suite(self, batch: int) -> Suite:
        """What the engine is asked of a batch."""
        options, can = self._options, self.info.capabilities
        return Suite(
            options.scenarios,
            can,
            self._store.read_cases(batch),
            options.seed,
            self._run.checks.reference(can.lateness),
            every=options.cases_from is not None,
            designed="+" not in self.info.id,  # a job that is carried over takes the cases that are given
            known=self._ending_queries(),
            most=options.rows,
        )

    def _ending_queries(self) -> dict[str, frozenset[str]]:
        """Program -> plans (ids) under which a stored witness of this very engine ends with an error. A plan that ends the queries of
        ENDED_ALIKE programs ends those of all."""
        found: dict[str, frozenset[str]] = {}
        for witness in self._run.stored:
            mine = bare(witness.engine) == bare(self.info.id) and known_here(witness, self.info)
            if mine and _ends_a_query(witness):
                ref = program_ref(witness.case.scenario, witness.case.program)
                found[ref] = found.get(ref, frozenset()) | set(factors_of(witness.case.perturbation))
        times = Counter(plan for plans in found.values() for plan in plans)
        of_all = frozenset(plan for plan, programs in times.items() if programs >= ENDED_ALIKE)
        return {ref: found.get(ref, frozenset()) | of_all for ref in self._programs} if of_all else found

    def _processes(self, engine: Process) -> Processes:
        """Those of the whole turn: each process opens its engine once."""
        if self._serving is None:
            hosts = self._run.hosts
            self._serving = Processes(
                engine,
                restart=lambda: self._behind(self._start),
                beside=lambda: self._behind(self._start_beside),
                interrupted=lambda: hosts.interrupted,
                parts=self._parts,
            )
        return self._serving

    def _judge_batch(self, batch: int, cases: list[Case], runs: Runs, judgement: Judgement, engine: Process) -> None:
        """Checks the cases of a batch, and takes apart what fails under several perturbations."""
        by_id = {case.id: case for case in cases}
        isolated = Isolated()
        checked = self._check_batch(batch, [*by_id.values()], runs)
        for _ in range(ISOLATIONS):
            entangled = {failure: against for failure, against in checked.entangled.items() if failure not in isolated}
            lost = [
                by_id[name]
                for name in {**runs.lost, **runs.faults}
                if name in by_id and len(perturbations_of(by_id[name].perturbation)) > 1
            ]
            if not (entangled or lost) or self._run.spent() or self._run.hosts.interrupted:
                break
            isolation = self._isolation(engine, runs)
            found = isolation.isolate(entangled, lost, by_id)
            isolated.explained |= found.explained
            isolated.smallest |= found.smallest
            by_id |= isolation.cases
            by_id = {c.id: c for c in by_id.values() if (c.scenario, "", c.id) not in isolated.explained}
            checked = self._check_batch(batch, [*by_id.values()], runs)
        # What could not be taken apart any further needs what it has.
        isolated.smallest |= {failure for failure in checked.entangled if failure not in isolated.explained}
        judgement.add(checked.settled(isolated), by_id, runs.traces, runs.notes)

    def _isolation(self, engine: Process, runs: Runs) -> Isolation:
        can, scenarios = self.info.capabilities, self._options.scenarios
        known = known_of((r.witness for r in self.outcome.replays if r.answer in FAILS), scenarios)

        def go_on() -> bool:
            return not (self._run.spent() or self._run.hosts.interrupted)

        def run(cases: list[Case]) -> Runs:
            packs = tuple(packs_for(cases, can, self._programs))
            given = run_packs(self._processes(engine), packs, can.parallel, lambda: None, go_on)
            self.outcome.effort["isolation"] = self.outcome.effort.get("isolation", 0) + len(packs)
            self._packs += packs
            return given.runs

        reference = self._run.checks.reference(can.lateness)
        return Isolation(scenarios, can, self._options.seed, reference, run, runs, known, go_on)

    def _check_batch(self, batch: int, cases: list[Case], runs: Runs) -> Checked:
        """Stores what an engine was asked and answered, and checks it."""
        info, checks = self.info, self._run.checks
        self._store.write_handed(info.id, batch, cases)
        tables.write(self._store.traces(info.id, batch), tables.run_table(cases, runs))
        try:
            return checks.check(info, batch, cases, runs)
        except EngineDown as error:
            info.failure = info.failure or f"not checked on {checks.checker}, but here: {error}"
            return checks.check_here(info, batch, cases, runs)

    def _conclude(self, judgement: Judgement, engine: Process) -> None:
        """Makes cells from the results of all batches, and confirms the violated cells."""
        outcome, replays, on_event = self.outcome, self.outcome.replays, self._run.on_event
        violations: list[Violation] = []
        cells: list[MatrixCell] = []
        for judged, guarantee, against in judgement.cells():
            cell = with_replays(judged, replays)
            cells.append(cell)
            if cell.verdict is Verdict.VIOLATED:
                violations.append(Violation(cell, guarantee, tuple(against) if cell is judged else ()))
        violations += self._contradicting(cells)
        outcome.stabilities = list(judgement.stabilities())
        on_event(Confirming(self.info.id, len(violations)))
        started = time.monotonic()
        confirmer = self._confirmer(engine)
        if not self._run.spent():
            confirmed = confirmer.confirm(violations, judgement.runs, judgement.cases, replays)
        else:
            confirmed = [without_more_runs(v.cell, replays, self.info) for v in violations]
        by_cell = {id(v.cell): cell for v, cell in zip(violations, confirmed, strict=True)}
        self._doubt(engine, violations, confirmed)
        outcome.cells = [by_cell.get(id(cell), cell) for cell in cells]
        still = {r.witness.id: r.witness for r in replays if r.answer in FAILS}
        outcome.witnesses = still | confirmer.witnesses
        resting_on = {r.witness.id: outcome.witnesses[r.witness.id] for r in replays if r.answer == STILL_FAILS}
        outcome.cells = saying_who_ran_once(outcome.cells, resting_on, self.info)
        outcome.seconds["witnesses"] = time.monotonic() - started
        outcome.effort |= {"rounds": confirmer.rounds, "runs alone": confirmer.alone_runs}

    def _doubt(self, engine: Process, violations: list[Violation], confirmed: list[MatrixCell]) -> None:
        """Asks the engine again, in the next run, for packs with failures that did not happen again."""
        for violation, cell in zip(violations, confirmed, strict=True):
            if isinstance(engine, Cached) and cell.verdict is Verdict.UNKNOWN and not self._run.hosts.interrupted:
                for pack in filter(None, map(self._pack_of, (against.case for against in violation.against[:1]))):
                    engine.doubt(pack)

    def _confirmer(self, engine: Process) -> Confirmer:
        info, checks, brief = self.info, self._run.checks, self._options.brief
        return Confirmer(
            info,
            self._options.scenarios,
            reference=checks.reference(info.capabilities.lateness),
            specified=checks.reference(None),
            start=lambda: engine if brief and engine.alive else self._behind(self._start_again, CONFIRMING),
            alone=1 if brief else RUNS_ALONE,
            pack_of=self._pack_of,
        )

    def _pack_of(self, case: Case) -> Pack | None:
        """The pack in which the engine ran this case, whatever the case's origin."""
        return next((pack for pack in self._packs if any(member.digest == case.digest for member in pack.cases)), None)

    def _contradicting(self, cells: list[MatrixCell]) -> list[Violation]:
        """The guarantees that need a witness against their opposites because they hold: see ``contradictions``."""
        info, store = self.info, self._store
        found = contradictions(
            self._options.scenarios,
            opposed(info.id),
            cells,
            cache(lambda: [store.read_batch(info.id, batch) for batch in store.batches]),
            self._run.checks.reference(info.capabilities.lateness),
        )
        return [Violation(*violation) for violation in found]


def _ends_a_query(witness: Witness) -> bool:
    """Whether a witness shows a plan under which a program ends the query that it runs in."""
    return bool(witness.seen.error) and is_plan(witness.case.perturbation)


def _without(cases: list[Case], packs: list[Pack]) -> list[Case]:
    """The cases that are in none of the packs, without twins of cases that are."""
    gone = {case.id for pack in packs for case in pack.cases}
    return [case for case in cases if case.id not in gone and case.base not in gone]

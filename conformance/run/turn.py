"""One engine's turn: start the engine, replay its stored witnesses, run its packs, judge the results, and confirm the
violations."""

import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

from conformance.confirmation.confirmer import Confirmer
from conformance.confirmation.isolation import Asking, Isolation, Known, known_of, told_apart
from conformance.confirmation.owed import Mode, concerns, known_here, owed_to_stored
from conformance.confirmation.replay import FAILS, STILL_FAILS, saying_who_ran_once, with_replays, without_more_runs
from conformance.confirmation.replays import replay_all
from conformance.confirmation.targets import Violation
from conformance.execution.ask import Ask, packs_for, parts_of
from conformance.execution.host import EngineDown
from conformance.execution.kept import Kept
from conformance.execution.process import FirstRuns, Process, shelf_of
from conformance.generation.suite import Scope, Suite
from conformance.judgement.batches import Checked, Isolated, Judgement, cells_asked
from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.contradiction import contradictions
from conformance.judgement.evidence import Runs
from conformance.judgement.verdict import broken
from conformance.model.case import Case
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
from conformance.results.store import Store, file_name, write_cases
from conformance.results.witness import Witness
from conformance.run.checks import Checks
from conformance.run.events import BatchBegun, CellDone, Confirming, EngineDone, Event, PackDone, TakingApart
from conformance.run.hosts import Hosts, host_names
from conformance.run.options import Options, Part
from conformance.run.outcome import EngineOutcome

CONFIRMING = 1
"""The seed for hashes of the process that confirms witnesses: another one than that of the first process."""


ISOLATIONS = 2
"""How often the failures of a batch are taken apart: what the first time asks for may fail, too."""


@dataclass(frozen=True)
class Shared:
    """Data that all engines of a run share. ``stored`` holds the stored witnesses, ``kept`` the traces of earlier runs,
    ``spent`` says whether the run's time is over."""

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
        self._watch = FirstRuns()
        self._packs: list[Pack] = []
        self._part = shared.options.parts.get(name, Part())
        self._run, self._options, self._store = shared, shared.options, shared.store

    @property
    def hosts(self) -> list[str]:
        return host_names(self.info)

    @property
    def heavy(self) -> bool:
        return self.info.capabilities.heavy

    def run(self) -> None:
        """Starts the engine, replays its stored witnesses, and runs, judges and confirms all batches of cases. Of an
        engine that several shards share, runs this shard's packs alone."""
        info = self.info
        try:
            if self._begin():
                self._replay()
                self._run_batches()
        except Exception as error:
            log = self._options.out / "logs" / f"{file_name(info.id)}-harness.log"
            with suppress(OSError):  # a full disk may be what failed
                log.write_text(traceback.format_exc(), encoding="utf-8")
            info.failure = f"the harness failed: {type(error).__name__}: {error}; the full log is in {log}"
            asked = cells_asked(self._options.scenarios, info)
            self.outcome.cells = [broken(*place, info, info.failure) for place in asked]
            self._done()

    def _done(self, seconds: float = 0.0, available: bool = True) -> None:
        self.outcome.available = available
        self._run.on_event(EngineDone(self.info.id, seconds, self.info.failure, available))

    def _begin(self) -> bool:
        """Whether the engine is there, and can be asked."""
        info, run, started = self.info, self._run, time.monotonic()
        if run.spent():
            info.failure = LEFT_OUT
            self._done(available=False)
            return False
        traces, hosts, parts = self._options.traces, run.hosts, partial(parts_of, self._programs)
        shelf, elsewhere = None, traces.shelves.get(info.id, "")
        if run.kept:
            shelf = shelf_of(self._engine, info.adapter, run.kept, self._programs, traces.fresh, elsewhere)
        first, beside = (
            Process(partial(start, info), shelf, self._watch, parts) for start in (hosts.open, hosts.open_beside)
        )
        self._shelf, self._first = shelf, first
        self._again = Process(partial(hosts.open_again, info), shelf, hash_seed=CONFIRMING, again=False)
        stopped, parallel = (lambda: hosts.interrupted), info.capabilities.parallel
        self._ask = Ask(first, beside, stopped, parts, parallel, go_on=lambda: not run.spent())
        try:
            met = first.met()
        except CannotRun as error:
            info.failure = "interrupted" if hosts.interrupted else str(error)
            self.outcome.available = False
            if not hosts.interrupted:  # the run says that by itself
                self._done(available=False)
            return False
        info.environment, info.evidence, info.lacks, info.answers = (
            met.environment,
            met.evidence,
            met.lacks,
            met.answers,
        )
        self.outcome.seconds["start"] = time.monotonic() - started
        return True

    @property
    def _mode(self) -> Mode:
        return Mode.BRIEF if self._options.brief else Mode.FULL

    def _replay(self) -> None:
        info, started = self.info, time.monotonic()
        mine = not info.lacks and 0 in self._part.numbers
        stored = [w for w in self._run.stored if mine and concerns(w, info)]
        owed = owed_to_stored(stored, info, self._mode)
        scenarios, can = self._options.scenarios, info.capabilities
        self.outcome.replays = replay_all(self._first, stored, owed, scenarios, can, lambda: not self._run.spent())
        self.outcome.seconds["stored witnesses"] = time.monotonic() - started

    @cached_property
    def _programs(self) -> Mapping[str, Program]:
        """Those of all scenarios: a stored witness may have neighbours of scenarios that the run does not ask for."""
        return {**programs_of(load_scenarios()), **programs_of(self._options.scenarios)}

    def _run_batches(self) -> None:
        """Runs all batches of cases. Those of a shard are judged where the shards are merged."""
        info, outcome, started = self.info, self.outcome, time.monotonic()
        outcome.seconds |= {"packs": 0.0, "checks": 0.0}
        judgement = Judgement(self._options.scenarios, info)
        for batch in () if info.lacks else self._store.batches:
            begun = time.monotonic()
            cases, runs = self._run_batch(batch)
            ran = time.monotonic()
            if self._part.whole:
                outcome.answered |= bool(runs.traces)
                self._judge_batch(batch, cases, runs, judgement)
            outcome.seconds["packs"] += ran - begun
            outcome.seconds["checks"] += time.monotonic() - ran
        if self._part.whole:
            self._conclude(judgement)
        self._packs = []
        info.kept = self._shelf.age if self._shelf else info.kept
        if self._part.whole and not info.lacks:
            self._store.write_engine(info, self._options.engines.index(info.id))
        outcome.seconds["all"] = outcome.seconds["start"] + outcome.seconds["stored witnesses"]
        outcome.seconds["all"] += time.monotonic() - started
        for cell in outcome.cells:
            self._run.on_event(CellDone(cell))
        self._done(outcome.seconds["all"])

    def _run_batch(self, batch: int) -> tuple[list[Case], Runs]:
        """Runs a batch of cases. Returns the cases that the engine received, and the results."""
        info, on_event = self.info, self._run.on_event
        suite = self.suite(batch)
        self._spent("left out as known", suite.left_out)
        every = packs_for(suite.cases, info.capabilities)
        packs = self._part.taken(every)
        on_event(BatchBegun(info.id, batch, len(self._store.batches), len(packs)))
        runs = self._ask.packs(packs, done=lambda: on_event(PackDone(info.id)))
        info.failure = info.failure or runs.failure
        ran = [pack for pack in packs if pack not in runs.left_out]
        info.packs = info.packs[0] + len(ran), info.packs[1] + len(every)
        self.outcome.left_out += len(runs.left_out)
        self._packs += ran
        return _without([case for pack in packs for case in pack.cases], runs.left_out), runs

    def _spent(self, what: str, times: int) -> None:
        self.outcome.effort[what] = self.outcome.effort.get(what, 0) + times

    def suite(self, batch: int) -> Suite:
        """What the engine is asked of a batch."""
        options, can = self._options, self.info.capabilities
        return Suite(
            options.scenarios,
            can,
            self._store.read_cases(batch),
            options.seed,
            self._run.checks.reference(can.lateness),
            Scope(
                every=options.cases_from is not None,
                designed=options.wanted > 0,
                known=self._ending_queries(),
                most=options.excerpt.rows,
                only=options.excerpt.perturbations,
            ),
        )

    def _ending_queries(self) -> list[tuple[str, str]]:
        """(program, plan) under which a stored witness of this very engine ends with an error."""
        mine = (w for w in self._run.stored if bare(w.engine) == bare(self.info.id) and known_here(w, self.info))
        ending = [witness.case for witness in mine if _ends_a_query(witness)]
        return [(c.ref, plan) for c in ending for plan in factors_of(c.perturbation)]

    def _judge_batch(self, batch: int, cases: list[Case], runs: Runs, judgement: Judgement) -> None:
        """Checks the cases of a batch, and takes apart what fails under several perturbations."""
        by_id = {case.id: case for case in cases}
        isolated = Isolated()
        checked = self._check_batch(batch, [*by_id.values()], runs)
        looks = self._mode is Mode.BRIEF and self._options.excerpt.rows > 0
        if looks:  # a first look takes nothing apart: what its failures need is what they had
            isolated = told_apart(checked, by_id.values(), runs.traces, self._options.scenarios, self._known())
        for _ in range(0 if looks else ISOLATIONS):
            entangled = {failure: against for failure, against in checked.entangled.items() if failure not in isolated}
            lost = [
                by_id[name]
                for name in {**runs.lost, **runs.faults}
                if name in by_id and len(perturbations_of(by_id[name].perturbation)) > 1
            ]
            if not (entangled or lost) or self._run.spent() or self._run.hosts.interrupted:
                break
            isolation = self._isolation(runs)
            found = isolation.isolate(entangled, lost, by_id, checked.kept_under)
            isolated.explained |= found.explained
            isolated.smallest |= found.smallest
            by_id |= isolation.cases
            by_id = {c.id: c for c in by_id.values() if (c.scenario, "", c.id) not in isolated.explained}
            checked = self._check_batch(batch, [*by_id.values()], runs)
        # What could not be taken apart any further needs what it has.
        isolated.smallest |= {failure for failure in checked.entangled if failure not in isolated.explained}
        judgement.add(checked.settled(isolated), by_id, runs.traces, runs.notes)

    def _known(self) -> Known:
        """What the stored witnesses show that failed again."""
        return known_of((r.witness for r in self.outcome.replays if r.answer in FAILS), self._options.scenarios)

    def _isolation(self, runs: Runs) -> Isolation:
        can, scenarios = self.info.capabilities, self._options.scenarios
        known = self._known()

        def go_on() -> bool:
            return not (self._run.spent() or self._run.hosts.interrupted)

        def run(cases: list[Case]) -> Runs:
            packs = packs_for(cases, can)
            self._spent("isolation", len(packs))
            self._run.on_event(TakingApart(self.info.id, len(packs)))
            self._packs += packs
            return replace(self._ask, go_on=go_on).packs(packs)

        reference = self._run.checks.reference(can.lateness)
        return Isolation(scenarios, can, self._options.seed, reference, Asking(run, runs, go_on), known)

    def _check_batch(self, batch: int, cases: list[Case], runs: Runs) -> Checked:
        """Stores what an engine was asked and answered, and checks it."""
        info, checks = self.info, self._run.checks
        write_cases(self._store.handed(info.id, batch), cases)
        tables.write(self._store.traces(info.id, batch), tables.run_table(cases, runs))
        try:
            return checks.check(info, batch, cases, runs)
        except EngineDown as error:
            info.failure = info.failure or f"not checked on {checks.checker}, but here: {error}"
            return checks.check_here(info, cases, runs)

    def _conclude(self, judgement: Judgement) -> None:
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
        confirmer = self._confirmer()
        if not self._run.spent():
            confirmed = confirmer.confirm(violations, judgement.runs, judgement.cases, replays)
        else:
            confirmed = [without_more_runs(v.cell, replays, self.info) for v in violations]
        by_cell = {id(v.cell): cell for v, cell in zip(violations, confirmed, strict=True)}
        outcome.cells = [by_cell.get(id(cell), cell) for cell in cells]
        still = {r.witness.id: r.witness for r in replays if r.answer in FAILS}
        outcome.witnesses = still | confirmer.witnesses
        resting_on = {r.witness.id: outcome.witnesses[r.witness.id] for r in replays if r.answer == STILL_FAILS}
        outcome.cells = saying_who_ran_once(outcome.cells, resting_on, self.info)
        outcome.seconds["witnesses"] = time.monotonic() - started
        outcome.effort |= {"rounds": confirmer.rounds, "runs alone": confirmer.alone_runs}

    def _confirmer(self) -> Confirmer:
        info, checks = self.info, self._run.checks
        return Confirmer(
            info,
            self._options.scenarios,
            references=checks.reference,
            process=self._first if self._options.brief else self._again,
            mode=self._mode,
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

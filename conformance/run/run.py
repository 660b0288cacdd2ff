"""One run: generates or reads the cases, gives every engine its turn, and combines the results.

The run reports its progress as events and prints nothing. Engines run in processes of their own, in parallel queues.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime, timezone
from importlib.metadata import version

from conformance.execution.kept import Kept
from conformance.model.values import digest as digest_of
from conformance.plugins.points import DISTRIBUTION
from conformance.plugins.registry import load_scenarios
from conformance.results.record import EngineRecord, RunRecord, ScenarioRecord
from conformance.results.results import Results
from conformance.results.store import Store
from conformance.results.witness import stored_witnesses
from conformance.run.checks import Checks, agreements_of
from conformance.run.drawing import Drawing, Drawn
from conformance.run.events import Event, RunStarted, Unusable, WitnessUnknown
from conformance.run.hosts import Hosts
from conformance.run.options import Options
from conformance.run.outcome import EngineOutcome
from conformance.run.queue import AT_ONCE, Deadline, Queue, Taken, by_value
from conformance.run.subjects import SubjectsTurn
from conformance.run.turn import Shared, Turn

__all__ = ["Options", "Run"]


class Run:
    """One run, from options to results."""

    def __init__(self, options: Options, on_event: Callable[[Event], None] = lambda event: None) -> None:
        self.options, self.on_event = options, on_event
        self.store = Store(options.out)
        self.hosts = Hosts(options.out / "logs", options.timeout)
        self.kept: Kept | None = None
        traces = options.traces
        if traces.folder:
            self.kept = Kept(traces.folder, traces.beside, traces.out, lambda line: on_event(Unusable(line)))
        self.checks = Checks(options.scenarios, self.store, options.checker, lambda: self.hosts.named("checker"))
        there = [scenario.id for scenario in load_scenarios()]
        stored = stored_witnesses(options.witnesses, options.scenarios, there)
        self.stored, self._unknown = stored.asked, stored.unknown
        self._drawing = Drawing(options, self.store)

    def execute(self) -> Results:
        """Runs everything that the options ask for.

        Raises:
            UnusableCases: the file of cases is of no use.
            KeyboardInterrupt: the run was stopped before any result existed.
        """
        with self._drawing.begun():
            return self._execute(time.monotonic())

    def _execute(self, started: float) -> Results:
        options = self.options
        (options.out / "logs").mkdir(parents=True, exist_ok=True)
        for witness in self._unknown:
            self.on_event(WitnessUnknown(witness.id, witness.case.scenario, witness.case.program, witness.guarantee))
        deadline = Deadline(options.budget)
        drawn = self._drawing.execute()
        seconds = time.monotonic() - started
        self.on_event(RunStarted(drawn.cases, drawn.timelines))
        shared = Shared(
            options,
            self.store,
            self.checks,
            self.hosts,
            self.stored,
            self.on_event,
            kept=self.kept,
            spent=lambda: deadline.spent,
        )
        turns = {name: Turn(name, shared) for name in options.engines}
        first, others = by_value(turn.info for turn in turns.values())
        subjects = [SubjectsTurn(name, shared) for name in options.subjects]
        in_turn: list[Taken] = [turns[info.id] for info in first]
        in_turn += [*subjects, *(turns[info.id] for info in others)]
        queue = Queue(in_turn, self.hosts)
        try:
            with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
                jobs = [pool.submit(queue.run) for _ in range(AT_ONCE)]
                try:
                    wait(jobs)
                except KeyboardInterrupt:
                    self.interrupt()
                for job in jobs:
                    job.result()
        finally:
            self.hosts.close_all()
            if self.kept:
                self.kept.prune()
        return self._results([turn.outcome for turn in turns.values()], subjects, drawn, seconds, started)

    def stop(self, *_: object) -> None:
        """A signal handler: raises KeyboardInterrupt, with a delay while cases are generated."""
        self._drawing.stop()

    def interrupt(self) -> None:
        """Ends the run early: engines stop at once, the results so far are judged, and the results are partial."""
        self.hosts.interrupt()

    def _results(
        self,
        outcomes: list[EngineOutcome],
        subjects: list[SubjectsTurn],
        drawn: Drawn,
        drawing: float,
        started: float,
    ) -> Results:
        options = self.options
        witnesses = {name: w for outcome in outcomes for name, w in sorted(outcome.witnesses.items())}
        answered = [outcome.info for outcome in outcomes if outcome.answered]
        return Results(
            run=RunRecord(
                harness=version(DISTRIBUTION),
                seed=None if options.cases_from else options.seed,
                wanted=options.wanted,
                cases=drawn.cases,
                cases_digest=drawn.digest,
                timelines=drawn.timelines,
                partial=self.hosts.interrupted
                or any(turn.left_out for turn in subjects)
                or any(o.left_out or not o.cells for o in outcomes if options.budget),
                budget=options.budget or 0.0,
                left_out=sum(outcome.left_out for outcome in outcomes),
                rows=options.excerpt.rows,
                perturbations=options.excerpt.perturbations,
                brief=options.brief,
                stored_witnesses=digest_of([witness.to_json() for witness in self.stored]),
                scenarios=tuple(s.id for s in options.scenarios),
                engines=options.engines,
            ),
            environment={outcome.info.id: EngineRecord.of(outcome.info) for outcome in outcomes},
            scenarios={scenario.id: ScenarioRecord.of(scenario) for scenario in options.scenarios},
            cells=[cell for outcome in outcomes for cell in outcome.cells],
            stability=[stability for outcome in outcomes for stability in outcome.stabilities],
            witnesses=witnesses,
            agreements=agreements_of(options.scenarios, answered, self.store, self.checks),
            replays=[replay.recorded(outcome.info.id) for outcome in outcomes for replay in outcome.replays],
            subjects=[record for turn in subjects for record in turn.records],
            timing={
                "day": datetime.now(timezone.utc).date().isoformat(),
                "cpus": os.cpu_count(),
                "drawing": round(drawing, 2),
                "seconds": round(time.monotonic() - started, 2),
                "engines": {o.info.id: {k: round(v, 2) for k, v in o.seconds.items()} | o.effort for o in outcomes},
            },
        )

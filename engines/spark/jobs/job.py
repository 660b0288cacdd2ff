"""A pack on Spark: queries on one checkpoint, one after the other, and the traces that come out of them.

A restart is another query; a query that fails is followed by another, too. What differs between the APIs is the
operator
alone: a function from the stream of input rows to the stream of output rows.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.failing import INJECTED, untouched
from conformance.engines.spark.checkpoint import copies, crashes, stored
from conformance.engines.spark.driving import micro_batches, proof
from conformance.engines.spark.driving.micro_batches import MicroBatch, Row
from conformance.engines.spark.driving.traces import told, traces_of
from conformance.engines.spark.operators.another import ANOTHER, FIRST
from conformance.engines.spark.operators.operator import Failure, OperatorInput
from conformance.engines.spark.plans import plan_changes
from conformance.engines.spark.plans.around import PLAIN, SparkPlan
from conformance.engines.spark.refused.ended import ended_by, innermost
from conformance.engines.spark.runtime import running, session
from conformance.engines.spark.state import typed_keys
from conformance.engines.typed_keys import types_in_use
from conformance.model.case import program_ref
from conformance.model.engine import NotDriven
from conformance.model.perturbation import CRASH
from conformance.model.plan import begins_a_query
from conformance.model.program import FixedWindows, JobKind, Program
from conformance.model.runs import Pack, PackRun
from conformance.model.schedule import SLACK, Crash, Deliver, Restart
from conformance.model.steps import DONE_POINTS
from conformance.model.trace import Emission, Trace
from conformance.model.values import Json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from conformance.engines.spark.jobs.connected import Beside

LEFT = "left.pickle"
"""The file in a job's folder that says what came out before it was handed on."""

Apply = Callable[[OperatorInput], "DataFrame"]
"""An API's operator; it puts out rows of ``operator.OUTPUT``."""


@dataclass(frozen=True)
class Api:
    """What the jobs of an API have in common.

    Attributes:
        apply: the operator.
        mode: the output mode.
        chains: whether a timer that a timer sets takes another micro-batch to fire.
        delay: that of the watermark (ms).
        sides: how many times the operator reads the stream.
        read: gives what the stores hold after a micro-batch.
        mode_of: gives the output mode of the query that goes on with a change of the program.
        connected: a client of Spark Connect that does a part of the job; None where there can be none.
        moved: the operator of the API that users move such jobs to; None where there is none.
    """

    apply: Apply
    mode: str
    chains: bool
    delay: int
    sides: int
    read: Callable[[Job, int], Iterable[stored.StoredRow]]
    mode_of: Callable[[str], str]
    connected: Beside | None
    moved: Apply | None


class Job:
    """A pack in a session of its own. ``plan`` is what stands around the operator.

    ``begin`` runs the queries before its next restart, ``rest`` those that are left. Between the two, ``leave`` and
    ``take_over`` hand the job on to another process, with all that lies in its folder.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        pack: Pack,
        programs: Mapping[str, Program],
        api: Api,
        plan: SparkPlan,
    ) -> None:
        self.spark, self.folder, self.pack, self.apply, self.mode = spark, folder, pack, api.apply, api.mode
        self.delay, self.sides, self._read, self.mode_of = api.delay, api.sides, api.read, api.mode_of
        self.change, self.connected, self.moved = "", api.connected, api.moved
        self.begins_with: DataFrame | None = None
        self.plan, self._layout = plan, plan.layout
        self.programs = {name: programs[name] for name in {program_ref(c.scenario, c.program) for c in pack.cases}}
        chain = max(program.timer_chain for program in self.programs.values())
        self.settling = 1 + chain * api.chains
        self.batches = micro_batches.plan(pack.timeline, self.settling)
        self._after = micro_batches.flush(self.batches) if plan.timed else []
        self.typed = typed_keys.columns_of(types_in_use(pack, self.programs))
        self.checkpoint = folder / "checkpoint"
        self.rows: dict[int, list[Any]] = {}
        self.progress: list[dict[str, Any]] = []
        self._killed: list[crashes.Killed] = []
        self.next_query = 0

    def begin(self) -> None:
        """Run the queries before the next restart; none where there is no restart.

        Raises:
            NotDriven: a query was to fail, and did not.
            RuntimeError: a query failed that was not to.
        """
        begun_anew = (number for number in self._restarts if number > self.next_query)
        self._run_queries(next(begun_anew, self.next_query))

    def leave(self) -> None:
        """Write down what came out so far."""
        # Rows have values of all types that an operator puts out, such as moments: JSON has no spelling of them.
        (self.folder / LEFT).write_bytes(pickle.dumps((self.rows, self.progress, self.next_query), protocol=4))

    def take_over(self) -> None:
        """Go on from what another process left."""
        self.rows, self.progress, self.next_query = pickle.loads((self.folder / LEFT).read_bytes())

    @property
    def _restarts(self) -> Iterator[int]:
        """The numbers of the queries that restarts begin."""
        number = 0
        for step in self.pack.timeline:
            number += begins_a_query(step)
            if isinstance(step, Restart):
                yield number

    def _run_queries(self, end: int) -> None:
        for query in range(self.next_query, end):
            self._run_query(query)
        self.next_query = end

    def rest(self) -> PackRun:
        """Run the other queries.

        Raises:
            NotDriven: the engine's own progress does not match the schedule.
            QueryFailed: the engine refused the query of a plan, or the query failed.
            RuntimeError: a plain query failed that was not to.
        """
        self._run_queries(self.batches[-1].query + 1)
        for killed in self._killed:
            killed.prove()
        layout = self._layout
        reads = proof.Reads(
            layout.sources, self.sides, self.plan.evaluations, lambda number: layout.without_data(self.batches, number)
        )
        proof.prove(self.pack, self.batches, self.progress, self.settling, reads)
        found = stored.emissions(self.pack, self.programs, self.batches, self.progress, partial(self._read, self))
        traces, counts = traces_of(
            self.pack, self.batches, told(self._told, self.batches, self.mode), self.progress, found
        )
        left = (json.loads(path.read_text()) for path in (self.folder / "failures").glob("*.json"))
        notes = {f"{ref}: {CRASH.id}": killed.note for killed in self._killed for ref in self.programs if killed.note}
        return PackRun(traces, counts, untouched(self.pack, left) | self._too_slow(), notes)

    def go_on(self, checkpoint: Path) -> tuple[copies.Rows, Json]:
        """Go on from a checkpoint: what comes out, and the error that ended the query, if any, see ``ended_by``. Where
        Spark's JVM has ended, there is no answer, and the error is raised."""
        try:
            sink = running.Sink(self.plan.changes.sink)
            rows, _, error = running.run_query(self.query(None), checkpoint, self.mode, {}, sink)
        except Exception as refused:
            rows, error = {}, refused
        if error and session.gone():
            raise error
        named = {n: [typed_keys.named(row, self.typed, self.programs) for row in out] for n, out in rows.items()}
        return named, ended_by(error) if error else None

    def _too_slow(self) -> frozenset[str]:
        """All cases of a pack with waits in which more processing time passed than its schedule leaves room for: state
        that should be alive may have expired."""
        if not any(batch.wait for batch in self.batches):
            return frozenset()
        drift = proof.drift(self.batches, self.checkpoint)
        if drift < SLACK:
            return frozenset()
        print(f"{drift} ms passed beside the waits: more than {SLACK}; the pack says nothing", flush=True)
        return frozenset(case.id for case in self.pack.cases)

    def _initial(self) -> DataFrame | None:
        """The rows of initial state, where the pack has any: a query that resumes is given them again, as users do. A
        job that was moved ``begins_with`` others."""
        if self.begins_with is not None:
            return self.begins_with
        step = next((s.id for s in self.pack.timeline if isinstance(s, Deliver) and s.initial), None)
        if step is None:
            return None
        path = self.folder / "initial" / "rows.parquet"
        rows = event_rows(self.pack, step, self.programs, self.typed)
        if not rows:
            return None
        if not path.exists():
            micro_batches.write_rows(path, rows)
        return micro_batches.read_initial(self.spark, path)

    def _run_query(self, query: int) -> None:
        """Run the micro-batches of one query, and up to the one whose failure ends it."""
        last = next((b for b in self.batches if b.begun <= query < b.query), None)
        killed, crash = micro_batches.crash_in(self.batches, query)
        numbers = [n for n, batch in enumerate(self._all) if batch.query == query or batch is last]
        for number in numbers[:1] if self._layout.fed else numbers:
            self.write(number)
        retried = next((b for b in self.batches if b.query == b.begun == query and b.fails), None)
        failing = last if last and last.fails else retried  # the query may end with a kill in a later micro-batch
        failure = Failure(failing.step, failing is last, self.folder / "failures") if failing else None
        sink_fails = self.batches.index(last) if last and last.sink_fails else -1
        waits = {n: batch.wait for n, batch in enumerate(self.batches) if n != killed or not (crash and crash.again)}

        def feed(batch: int) -> None:
            if batch + 1 in numbers:
                self.write(batch + 1)

        try:
            output = self.query(failure)
            fed = feed if self._layout.fed else None
            sink = running.Sink(self.plan.changes.sink, to=self.plan.to, fails=sink_fails)
            found, progress, error = running.run_query(output, self.checkpoint, self.mode, waits, sink, fed)
        except Exception as refused:
            if self.plan is PLAIN:
                raise
            raise QueryFailed(session.cause(refused)) from refused
        fails = None if crash else last
        if fails and (error is None or INJECTED not in str(error)):
            raise NotDriven(f"the query was to fail in step {fails.step}: {error and session.cause(error)}")
        if error and not fails:
            print(error, flush=True)
            raise (RuntimeError if self.plan is PLAIN else QueryFailed)(session.cause(error)) from None
        for number, rows in found.items():
            self.rows[number] = [typed_keys.named(row, self.typed, self.programs) for row in rows]
        self.progress += progress
        if crash:
            self._kill(killed, crash)

    def _kill(self, number: int, crash: Crash) -> None:
        """The query was killed in a micro-batch. Rows that the sink had stay until others take their place."""
        sink = self.folder / running.FILES / running.LOG
        self._killed.append(crashes.Killed(self.checkpoint, number, crash, sink, self.spark.conf.get))
        if all(report["batchId"] != number for report in self.progress):
            raise NotDriven(f"micro-batch {number} was to be killed in, and the query did not run it")
        told = number - crash.again
        kept = number if crash.at in ("sink", *DONE_POINTS) else number - 1
        self.rows = {n: rows for n, rows in self.rows.items() if n <= kept}
        self.progress = [report for report in self.progress if report["batchId"] <= told]

    @property
    def _told(self) -> Mapping[int, list[Any]]:
        """The output rows by the micro-batch that they left the operator in."""
        if not self.plan.exchanged:
            return self.rows
        found: dict[int, list[Any]] = {}
        for number, rows in sorted(self.rows.items()):
            for row in sorted(rows, key=lambda row: row["nonce"] or ""):
                found.setdefault(row["batch"] if self.plan.timed else number, []).append(row)
        return found

    @property
    def _all(self) -> list[MicroBatch]:
        """The micro-batches of the schedule, and those behind it that the plan needs."""
        return [*self.batches, *self._after]

    def write(self, number: int) -> None:
        """The input of a micro-batch, unless there is none."""
        if self._layout.without_data(self._all, number):
            return
        batch = self._all[number]
        events = event_rows(self.pack, batch.step, self.programs, self.typed) if batch.bundle else []
        self._layout.write(self.folder, number, batch, micro_batches.rows_of(batch, events, self.delay), self.typed)

    @property
    def behind(self) -> range:
        """The numbers of the micro-batches of the queries that are left."""
        return range(sum(batch.query < self.next_query for batch in self.batches), len(self.batches))

    def write_later(self) -> None:
        """The input of the micro-batches that are left."""
        for number in self.behind:
            self.write(number)

    def query(self, failure: Failure | None) -> DataFrame:
        """The query of the pack's plan: the operator, and what the plan puts around it."""
        delay = f"{self.delay} milliseconds"
        another = ANOTHER.get(self.change, FIRST)
        versioned = any(program.job is JobKind.NEXT_VERSION for program in self.programs.values())
        if self.plan.tagged:
            stream = self._layout.read_tagged(self.spark, self.folder, delay, self.plan.changes.early)
        else:
            columns = {**self.typed, **(another.source if versioned else {})}
            rows = self._layout.read(self.spark, self.folder, self.plan.evaluations == 1, columns)
            stream = self.plan.changes.early(rows).withWatermark("event_time", delay)
        stream = another.keyed(self.plan.changes.before(stream))
        parts = plan_changes.two_halves(stream) if self.plan.side_by_side else [stream]
        given = OperatorInput(
            stream,
            self.programs,
            failure,
            self._initial(),
            self.typed,
            self.plan.timed,
            self.change,
            another.key,
            another.output,
        )
        first, *rest = [self.apply(replace(given, stream=part)) for part in parts]
        return self.plan.changes.behind(first.union(rest[0]) if rest else first)

    def unanswered(self, error: QueryFailed) -> PackRun:
        """The run of a pack whose query the engine refused, or could not go on with: each case ends with that."""
        first = self.pack.timeline[-1].id
        trace = Trace.collect([Emission("", None, first, error=f"the query failed: {innermost(error)}")])
        return PackRun({case.id: trace for case in self.pack.cases})


class QueryFailed(RuntimeError):
    """The engine refused the query of a plan, or the query failed. The plain query is not meant: it must not fail."""


def event_rows(pack: Pack, step: int, programs: Mapping[str, Program], typed: typed_keys.Columns) -> list[Row]:
    """The rows of a bundle, or of initial state."""
    rows = []
    for case, event in pack.bundle(step):
        program = programs[program_ref(case.scenario, case.program)]
        windowing = program.windowing
        window = windowing.start(event.event_time) if isinstance(windowing, FixedWindows) else 0
        if program.keys:
            key = program.typed_key(event.key)
            name = typed_keys.column(key.type)
            rows.append(micro_batches.event_row(case, event, step, window, name) + typed_keys.values(key, typed))
        else:
            rows.append(micro_batches.event_row(case, event, step, window))
    return rows

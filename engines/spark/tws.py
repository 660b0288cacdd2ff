"""spark-tws: row-based ``transformWithState`` of PySpark, event-time mode, RocksDB state store.

Row batching, order and timers are Spark's own. What the API lacks is emulated under a name: windows stand in the
grouping key (Spark then neither filters nor expires by window), and timers get their names from a state variable.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engine import NATIVE, Capabilities, Feature, Lateness, LatenessProfile, NotDriven, emulated
from conformance.guarantees import program_ref
from conformance.model import DRAIN, Emission, Pack, PackRun, StepCount, Trace
from conformance.program import FixedWindows, Program
from engines.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from engines.spark.driving import MicroBatch, Row

CAPABILITIES = Capabilities(
    features={
        Feature.SEVERAL_BUNDLES: NATIVE,
        Feature.WATERMARK: NATIVE,
        Feature.COALESCED: NATIVE,
        Feature.PARTITIONS: NATIVE,
        Feature.RESTART: NATIVE,
        Feature.RETRY: NATIVE,
        Feature.RESUME: NATIVE,
        Feature.FIXED_WINDOWS: emulated("window in key"),
        Feature.EVENT_TIMERS: emulated("timer names in a MapState (Spark knows a timer by its time)"),
        Feature.LATE_COUNTER: NATIVE,
        Feature.VALUE: NATIVE,
        Feature.BAG: NATIVE,
        Feature.MAP: NATIVE,
        Feature.SET: emulated("set as the keys of a MapState"),
        Feature.COMBINING: emulated("sum in a ValueState"),
    },
    lateness=LatenessProfile(Lateness.AT_OR_BEHIND, Lateness.AT_OR_BEHIND),
    parallel=2,  # a query leaves much of two cores idle: two at a time take two thirds of the time (Spark 4.3.0)
    heavy=True,
)


class SparkTws:
    id = "spark-tws"
    title = "Spark transformWithState (Python, rows)"
    capabilities = CAPABILITIES

    def __init__(self) -> None:
        self._spark: SparkSession | None = None
        self._numbers = itertools.count()

    def check(self) -> None:
        session.check()

    def open(self, folder: Path) -> None:
        self._folder = folder
        self._spark = session.start(folder)

    def close(self) -> None:
        if self._spark is not None:
            self._spark.stop()

    def environment(self) -> dict[str, str]:
        assert self._spark
        return session.environment(self._spark)

    def evidence(self) -> dict[Feature, str]:
        return {}

    def run(self, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
        from engines.spark import driving

        assert self._spark
        folder = self._folder / f"job-{next(self._numbers)}"
        folder.mkdir()
        own = self._spark.newSession()  # packs that run at the same time have settings of their own
        own.conf.set("spark.sql.shuffle.partitions", str(driving.partitions_of(pack)))
        try:
            return _Job(own, folder, pack, programs).run()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class _Job:
    """One pack: queries on one checkpoint, one after the other. A restart is another query; a failed query is too."""

    def __init__(self, spark: SparkSession, folder: Path, pack: Pack, programs: Mapping[str, Program]) -> None:
        from engines.spark import driving

        self.spark, self.folder, self.pack = spark, folder, pack
        self.programs = {name: programs[name] for name in {program_ref(c.scenario, c.program) for c in pack.cases}}
        self.settling = 1 + max(program.timer_chain for program in self.programs.values())
        self.batches = driving.plan(pack.clock, self.settling)
        self.rows: dict[int, list[Any]] = {}
        self.progress: list[dict[str, Any]] = []

    def run(self) -> PackRun:
        from engines.spark import driving

        for query in range(self.batches[-1].query + 1):
            self._run_query(query)
        driving.prove(self.pack, self.batches, self.progress, self.settling)
        run = _collect(self.pack, self.batches, self.rows, self.progress)
        return replace(run, untouched=self._untouched())

    def _run_query(self, query: int) -> None:
        """Run the micro-batches of one query, and up to the one whose failure ends it."""
        from engines.spark import driving
        from engines.spark.tws_operator import INJECTED, OUTPUT, Failure, NeutralProcessor

        last = next((b for b in self.batches if b.query == query + 1 and b.ends_a_query), None)
        for number, batch in enumerate(self.batches):
            if batch.query == query or batch is last:
                driving.write(self.folder / "input", number, batch, _rows(self.pack, batch, self.programs))
        retried = next((b for b in self.batches if b.query == query and b.fails and not b.ends_a_query), None)
        failing = last or retried
        failure = Failure(failing.step, failing is last, self.folder / "failures") if failing else None
        output = (
            driving.read_stream(self.spark, self.folder / "input")
            .groupBy("program", "case", "key", "window")
            .transformWithState(
                statefulProcessor=NeutralProcessor(self.programs, failure),
                outputStructType=OUTPUT,
                outputMode="Append",
                timeMode="EventTime",
            )
        )
        rows, progress, error = driving.run_query(output, self.folder / "checkpoint")
        if last and (error is None or INJECTED not in str(error)):
            raise NotDriven(f"the query was to fail in step {last.step}: {error and session.cause(error)}")
        if error and not last:
            print(error, flush=True)
            raise RuntimeError(session.cause(error)) from None
        self.rows |= rows
        self.progress += progress

    def _untouched(self) -> frozenset[str]:
        """The cases that had written no state in the attempt that failed, by what the sentinels left.

        Raises:
            NotDriven: nothing failed although it was asked for.
        """
        if not any(batch.fails for batch in self.batches):
            return frozenset()
        left = [json.loads(path.read_text()) for path in (self.folder / "failures").glob("*.json")]
        if not left:
            raise NotDriven("an attempt was to fail, and none did")
        return frozenset(case.id for case in self.pack.cases) - {case for touched in left for case in touched}


def _rows(pack: Pack, batch: MicroBatch, programs: Mapping[str, Program]) -> list[Row]:
    from engines.spark.driving import event_row

    if not batch.bundle:
        return []
    rows = []
    for case, event in pack.bundle(batch.step):
        windowing = programs[program_ref(case.scenario, case.program)].windowing
        window = windowing.start(event.event_time) if isinstance(windowing, FixedWindows) else 0
        rows.append(event_row(case, event, batch.step, window))
    return rows


def _collect(
    pack: Pack, batches: list[MicroBatch], rows: dict[int, list[Any]], progress: list[dict[str, Any]]
) -> PackRun:
    """Traces from output rows. An event's emission carries its step along, a timer's step is its micro-batch's."""
    emissions: dict[str, list[Emission]] = {case.id: [] for case in pack.cases}
    received = dict.fromkeys((batch.step for batch in batches), 0)
    partitions: dict[int, set[int]] = {}
    seen: set[str] = set()
    for number in sorted(rows):
        planned = batches[number].step if number < len(batches) else DRAIN
        for row in rows[number]:
            if row["step"] not in (None, planned):
                raise NotDriven(
                    f"a row of step {row['step']} came out in micro-batch {number}, which is step {planned}"
                )
            if row["nonce"] in seen:
                raise NotDriven(f"an output row of micro-batch {number} (step {planned}) was read twice")
            seen.add(row["nonce"])
            if row["received"] is not None:
                received[planned] += row["received"]
                partitions.setdefault(planned, set()).update(json.loads(row["value"]))
                continue
            emissions[row["case"]].append(
                Emission(row["key"], json.loads(row["value"]), planned, row["emitted_at"], row["error"])
            )
    if scattered := [step for step, found in partitions.items() if len(found) > 1]:
        raise NotDriven(f"the rows of step {scattered[0]} were read in several partitions, which scrambles their order")
    late = {p["batchId"]: sum(o["numRowsDroppedByWatermark"] for o in p["stateOperators"]) for p in progress}
    counts = tuple(
        StepCount(batch.step, sum(1 for _ in pack.bundle(batch.step)), received[batch.step], late[number])
        for number, batch in enumerate(batches)
        if batch.bundle
    )
    return PackRun({case: Trace.collect(found) for case, found in emissions.items()}, counts)

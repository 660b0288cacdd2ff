"""spark-tws: row-based ``transformWithState`` of PySpark, event-time mode, RocksDB state store.

Row batching, order and timers are Spark's own. What the API lacks is emulated under a name: windows stand in the
grouping key (Spark then neither filters nor expires by window), and timers get their names from a state variable.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Mapping
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
        Feature.RESTART: NATIVE,
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
        from engines.spark.tws_operator import OUTPUT, NeutralProcessor

        assert self._spark
        mine = {name: programs[name] for name in {program_ref(c.scenario, c.program) for c in pack.cases}}
        settling = 1 + max(program.timer_chain for program in mine.values())
        batches = driving.plan(pack.clock, settling)
        folder = self._folder / f"query-{next(self._numbers)}"
        folder.mkdir()
        try:
            rows: dict[int, list[Any]] = {}
            progress: list[dict[str, Any]] = []
            # A restart is another query on the same checkpoint.
            for query in range(batches[-1].query + 1):
                first = next(number for number, batch in enumerate(batches) if batch.query == query)
                mine_now = [(batch, _rows(pack, batch, mine)) for batch in batches if batch.query == query]
                driving.write(folder / "input", mine_now, first)
                output = (
                    driving.read_stream(self._spark, folder / "input")
                    .groupBy("program", "case", "key", "window")
                    .transformWithState(
                        statefulProcessor=NeutralProcessor(mine),
                        outputStructType=OUTPUT,
                        outputMode="Append",
                        timeMode="EventTime",
                    )
                )
                try:
                    found, reported = driving.run_query(self._spark, output, folder / "checkpoint")
                except Exception as error:
                    print(error, flush=True)
                    raise RuntimeError(session.cause(error)) from None
                rows |= found
                progress += reported
            driving.prove(pack, batches, progress, settling)
            return _collect(pack, batches, rows, progress)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


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
    for number in sorted(rows):
        planned = batches[number].step if number < len(batches) else DRAIN
        for row in rows[number]:
            if row["step"] not in (None, planned):
                raise NotDriven(
                    f"a row of step {row['step']} came out in micro-batch {number}, which is step {planned}"
                )
            if row["received"] is not None:
                received[planned] += row["received"]
                continue
            emissions[row["case"]].append(
                Emission(row["key"], json.loads(row["value"]), planned, row["emitted_at"], row["error"])
            )
    late = {p["batchId"]: sum(o["numRowsDroppedByWatermark"] for o in p["stateOperators"]) for p in progress}
    counts = tuple(
        StepCount(batch.step, sum(1 for _ in pack.bundle(batch.step)), received[batch.step], late[number])
        for number, batch in enumerate(batches)
        if batch.bundle
    )
    return PackRun({case: Trace.collect(found) for case, found in emissions.items()}, counts)

"""Checks of stored cases and traces as a Spark job: the function that checks a small run in its process, over tables
that executors read and write. Nothing of the size of a run passes through the driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.spark.runtime import functions as f
from conformance.engines.spark.runtime import session
from conformance.model.checker import Batch
from conformance.model.engine import Setting

if TYPE_CHECKING:
    import pyarrow as pa

AT_A_TIME = 1_000
"""About how many cases one call checks. Families of cases stay together."""


class SparkChecker:
    """Checks batches on the Spark that the session's setting names; its executors read and write the same folders as
    the run."""

    settings: Mapping[str, Setting] = session.SETTINGS
    configure = staticmethod(session.configure)

    def __init__(self) -> None:
        self._spark: Any = None

    def check(self) -> None:
        session.check()

    def open(self, folder: Path) -> None:
        self._spark = session.start(folder)

    def close(self) -> None:
        if self._spark is not None:
            session.stop()
        self._spark = None

    def run(self, batch: Batch) -> None:
        from conformance.results import tables

        cases, traces = self._spark.read.parquet(batch.cases), self._spark.read.parquet(batch.traces)
        groups = max(1, traces.count() // AT_A_TIME)

        def grouped(frame: Any) -> Any:
            return frame.withColumn("together", f.pmod(f.hash("family"), f.lit(groups))).groupBy("together")

        handed = cases.join(traces.select(f.col("case").alias("id")), "id", "left_semi")
        check = checker_of(batch.engine, batch.programs, tables.metadata(Path(batch.traces)), batch.load)
        found = grouped(handed).cogroup(grouped(traces)).applyInArrow(check, "found binary")
        found.write.mode("overwrite").parquet(batch.checks)


def checker_of(
    engine: str, programs: tuple[str, ...], metadata: dict[bytes, bytes], load: tuple[str, ...] = ()
) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """The check of some cases (with all of their families) and their traces, as executors call it. ``metadata`` are
    those of the whole table of traces: the row counts of packs; ``load`` names the user's files and modules."""

    def check(cases: pa.Table, traces: pa.Table) -> pa.Table:
        from conformance.judgement import batches as judging
        from conformance.judgement.reference import reference_traces
        from conformance.model.engine import EngineInfo
        from conformance.model.scenario import programs_of
        from conformance.plugins.loading import ask_for
        from conformance.plugins.registry import load_engine, scenarios_of
        from conformance.results import tables

        ask_for(load)
        scenarios = scenarios_of(programs)
        adapter = load_engine(engine)
        info = EngineInfo(engine, adapter.title, adapter.capabilities)
        reference = reference_traces(programs_of(scenarios), info.capabilities.lateness)
        given = {case.id: case for case in tables.cases_of(cases)}
        runs = tables.runs_of(traces.replace_schema_metadata(metadata), given)
        return tables.part_of_check(judging.check(scenarios, given.values(), runs, info, reference))

    return check

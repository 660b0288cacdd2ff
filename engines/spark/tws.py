"""spark-tws: ``transformWithState`` of PySpark on rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.engines.spark.base import SparkEngine, capabilities
from conformance.engines.spark.jobs.connected import CONNECTED
from conformance.engines.spark.plans.around import Twins
from conformance.engines.spark.plans.plans import AGGREGATED, APPENDED, AS_BATCH, IN_A_ROW, PLANS, TWICE
from conformance.engines.spark.plans.settings import OF_PYTHON, OF_TWS
from conformance.model.engine import Family
from conformance.model.feature import NATIVE, Feature, emulated, unsupported
from conformance.model.program import JobKind, Program, by_processing_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from conformance.engines.spark.checkpoint.stored import StoredRow
    from conformance.engines.spark.jobs.job import Job
    from conformance.engines.spark.operators.operator import OperatorInput

KEYS = dict.fromkeys((Feature.TYPED_KEYS, Feature.NULL_KEYS), NATIVE)
"""What PySpark's grouped data groups by."""

TIMERS = emulated("timer names in a MapState (Spark knows a timer by its time)")

STATE = {
    Feature.EVENT_TIMERS: TIMERS,
    Feature.PROCESSING_TIMERS: TIMERS,
    Feature.TTL: NATIVE,
    Feature.INITIAL_STATE: NATIVE,
    Feature.VALUE: NATIVE,
    Feature.UNTYPED: emulated("a value without a type as JSON text in a column of strings"),
    Feature.NULL: NATIVE,
    Feature.BAG: NATIVE,
    Feature.MAP: NATIVE,
    Feature.SET: emulated("set as the keys of a MapState"),
    Feature.COMBINING: emulated("sum in a ValueState"),
    Feature.INSPECTION: NATIVE,
    Feature.ROW_COUNT: unsupported(
        "a query reports one count for all its state variables and timers, and the state data source reads one "
        "variable at a time (Spark 4.3.0)"
    ),
    Feature.TYPED: NATIVE,
    Feature.CONTAINERS: NATIVE,
    **KEYS,
    Feature.MISFITS: unsupported(
        "a decimal of too many digits ends the server of the state, so each later call, and the query, fails (Spark "
        "4.3.0)"
    ),
}
"""How transformWithState keeps state, whichever the language."""

VARIANTS = {
    "rocksdb-changelog": "RocksDB with changelog checkpointing",
    "rocksdb-avro": "RocksDB, with state encoded as Avro",
}
"""Configurations of these engines. Plain, they have RocksDB, the one store that transformWithState takes (Spark
4.3.0)."""


def time_mode(programs: Mapping[str, Program]) -> str:
    """Spark's name for what the timers of a query go by. A program with other versions may have none."""
    if any(program.job is JobKind.NEXT_VERSION and not program.timers for program in programs.values()):
        return "None"
    return "ProcessingTime" if by_processing_time(programs.values()) else "EventTime"


class TwsEngine(SparkEngine):
    """Base of the engines on transformWithState, whichever the language."""

    def stored(self, job: Job, batch: int) -> Iterable[StoredRow]:
        from conformance.engines.spark.checkpoint import state_reader

        return state_reader.read(job.spark, job.checkpoint, job.programs)


class SparkTws(TwsEngine):
    id = "spark-tws"
    api = "transformWithState"
    title = "Spark transformWithState (Python, rows)"
    plans = {
        **AGGREGATED,  # right behind the operator: not every change passes the event time on
        **PLANS,
        **OF_TWS,
        **OF_PYTHON,
        **APPENDED,
        **TWICE,
        **IN_A_ROW,
        **CONNECTED,
        "batch": replace(AS_BATCH, twins=Twins(on_time=True, always=True)),
    }
    can = capabilities(STATE, plans, quick=True, common=True)
    instead = "spark-tws-pandas"
    asks = ("event-time-no-watermark", "timer-without-time", "state-in-hdfs-store")

    def apply(self, given: OperatorInput) -> DataFrame:
        from conformance.engines.spark.operators.operator import TIMED
        from conformance.engines.spark.operators.row_processor import RowProcessor

        return given.stream.groupBy(*given.group).transformWithState(
            statefulProcessor=RowProcessor(
                given.programs, given.failure, typed=given.typed, timed=given.timed, more=given.more
            ),
            outputStructType=TIMED if given.timed else given.output,
            outputMode="Append",
            timeMode=time_mode(given.programs),
            initialState=given.initial and given.initial.groupBy(*given.group),
            **({"eventTimeColumnName": "time"} if given.timed else {}),
        )


FAMILY = Family(SparkTws, VARIANTS)

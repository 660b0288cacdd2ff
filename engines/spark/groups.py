"""What the engines with one state and one timeout per key share: how they keep cells and timers, and their
configurations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.engines.spark.base import SparkEngine
from conformance.engines.spark.runtime import releases, session
from conformance.engines.spark.tws import KEYS
from conformance.model.feature import NATIVE, Feature, emulated, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.program import JobKind, Program, by_processing_time

if TYPE_CHECKING:
    from conformance.engines.spark.checkpoint.stored import StoredRow
    from conformance.engines.spark.jobs.job import Job

ONE_STATE = emulated("all cells in the one state of a key: as JSON, and each typed cell as a column")

TIMERS = emulated("timers in the state, the key's one timeout armed for the earliest of them after every call")

STATE = {
    Feature.EVENT_TIMERS: TIMERS,
    Feature.PROCESSING_TIMERS: TIMERS,
    Feature.INITIAL_STATE: NATIVE,
    **releases.READING,
    Feature.NEXT_API: NATIVE,
    Feature.TTL: unsupported("GroupState has no time to live (Spark 4.3.0)"),
    Feature.TYPED: NATIVE,
    Feature.CONTAINERS: NATIVE,
    **KEYS,
    **dict.fromkeys(
        (Feature.VALUE, Feature.UNTYPED, Feature.NULL, Feature.BAG, Feature.MAP, Feature.SET, Feature.COMBINING),
        ONE_STATE,
    ),
}

VARIANTS = {
    "rocksdb": "RocksDB state store",
    "rocksdb-changelog": "RocksDB with changelog checkpointing",
    "processing-time": "processing-time timeout",
}
"""Configurations of these engines. Plain, they have an event-time timeout, and the HDFS-backed store, Spark's
default."""


class GroupsEngine(SparkEngine):
    """Base of these engines."""

    store = "hdfs"
    chains = False  # one call fires all that are due
    timeout = "EventTimeTimeout"

    def __init__(self, variant: str = "") -> None:
        super().__init__("" if variant == "processing-time" else variant)
        if variant != "processing-time":
            return
        self.id, self.timeout = f"{self.id}:{variant}", "ProcessingTimeTimeout"
        no_timers = unsupported("with a processing-time timeout none can be set in event time (Spark 4.3.0)")
        self.can = replace(
            self.can,
            features={**self.can.features, Feature.EVENT_TIMERS: no_timers},
            lateness=LatenessProfile(Lateness.NEVER, Lateness.NEVER),
        )

    def timeout_of(self, programs: Mapping[str, Program]) -> str:
        """Spark's name for the kind of timeout of a query. A program with other versions may have none."""
        if any(program.job is JobKind.NEXT_VERSION and not program.timers for program in programs.values()):
            return "NoTimeout"
        return "ProcessingTimeTimeout" if by_processing_time(programs.values()) else self.timeout

    def stored(self, job: Job, batch: int) -> Iterable[StoredRow]:
        from conformance.engines.spark.checkpoint import groups_state

        return groups_state.read(job.spark, job.checkpoint, job.programs, batch)

    def _session(self, settings: Mapping[str, str]) -> Any:
        if self.timeout == "ProcessingTimeTimeout":
            settings = {**settings, **session.NO_EMPTY_BATCHES}
        return super()._session(settings)

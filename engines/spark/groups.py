"""What the columns with one state and one timeout per key share: how they keep cells and timers, and their configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.engine import Feature, Lateness, LatenessProfile, emulated, unsupported
from engines.spark.column import SparkColumn

ONE_STATE = emulated("all cells as JSON in the one state of a key")

STATE = {
    Feature.EVENT_TIMERS: emulated(
        "timers in the state, the key's one timeout armed for the earliest of them after every call"
    ),
    **dict.fromkeys((Feature.VALUE, Feature.BAG, Feature.MAP, Feature.SET, Feature.COMBINING), ONE_STATE),
}

VARIANTS = {
    "rocksdb": "RocksDB state store",
    "rocksdb-changelog": "RocksDB with changelog checkpointing",
    "processing-time": "processing-time timeout",
}
"""Configurations of these columns. Plain, they have an event-time timeout, and the HDFS-backed store, Spark's default."""


class GroupsColumn(SparkColumn):
    """Base of these columns. ``timeout`` is Spark's name for the kind of timeout."""

    store = "hdfs"
    chains = False  # one call fires all that are due
    timeout = "EventTimeTimeout"

    def __init__(self, variant: str = "") -> None:
        if variant != "processing-time":
            super().__init__(variant)
            return
        super().__init__()
        self.id, self.timeout = f"{self.id}:{variant}", "ProcessingTimeTimeout"
        no_timers = unsupported("with a processing-time timeout none can be set in event time (Spark 4.3.0)")
        self.capabilities = replace(
            self.capabilities,
            features={**self.capabilities.features, Feature.EVENT_TIMERS: no_timers},
            lateness=LatenessProfile(Lateness.NEVER, Lateness.NEVER),
        )

    def _session(self, settings: Mapping[str, str]) -> Any:
        if self.timeout == "ProcessingTimeTimeout":
            # Its empty micro-batches would never end (Spark 4.3.0).
            settings = {**settings, "spark.sql.streaming.noDataMicroBatches.enabled": "false"}
        return super()._session(settings)

"""Plans that differ in settings alone, whose answer must not depend on them: how state is stored, and how rows travel
to Python."""

from collections.abc import Mapping
from dataclasses import replace

from conformance.engines.spark.plans.around import SparkPlan
from conformance.engines.spark.plans.plans import DUPLICATES_BEHIND, WINDOWS_BEHIND, with_settings

STREAMING = "spark.sql.streaming"
STORE = f"{STREAMING}.stateStore"
ARROW = "spark.sql.execution.arrow"
PROVIDER = "org.apache.spark.sql.execution.streaming.state.{}StateStoreProvider"
HDFS = {f"{STORE}.providerClass": PROVIDER.format("HDFSBacked")}
ROCKSDB = {f"{STORE}.providerClass": PROVIDER.format("RocksDB")}
CHANGELOG = {**ROCKSDB, f"{STORE}.rocksdb.changelogCheckpointing.enabled": "true"}

STORES = {
    "hdfs": HDFS,
    "rocksdb": ROCKSDB,
    "rocksdb-changelog": CHANGELOG,
    "rocksdb-avro": {**ROCKSDB, f"{STORE}.encodingFormat": "avro"},
}
"""The settings of a state store by the name that an engine's variant has."""

OTHER_STORES = {
    "rocksdb": "state-rocksdb",
    "rocksdb-changelog": "state-changelog",
    "rocksdb-changelog, format 2": "state-checkpoint-ids",
}
"""State stores that a plan may have the state of any engine in, by that plan."""

FORMATS = "state-formats-1"
"""The plan with the first formats of the state of aggregations and of (flat)mapGroupsWithState."""


def _stored(title: str, settings: Mapping[str, str]) -> SparkPlan:
    """Restarted, so that what was stored is read back."""
    return with_settings(title, settings, restarts=True)


OF_STATE: Mapping[str, SparkPlan] = {
    "state-unloaded": _stored("state loaded anew in each micro-batch", {f"{STORE}.unloadOnCommit": "true"}),
    "state-snapshots": _stored(
        "a snapshot of the state for each micro-batch",
        {**CHANGELOG, f"{STORE}.minDeltasForSnapshot": "1", f"{STORE}.unloadOnCommit": "true"},
    ),
    "state-compressed": _stored("state compressed with zstd", {f"{STORE}.compression.codec": "zstd"}),
    "state-checksums": _stored(
        "rows of state with checksums, all of which are verified",
        {f"{STORE}.rowChecksum.enabled": "true", f"{STORE}.rowChecksum.readVerificationRatio": "1"},
    ),
    "state-changelog": _stored("state in RocksDB with changelog checkpointing", CHANGELOG),
    "state-checkpoint-ids": _stored(
        "checkpoints of state with an id of their own (format 2)",
        {**CHANGELOG, f"{STORE}.checkpointFormatVersion": "2"},
    ),
}
"""Of each engine. A release that does not know a setting runs without it: those before 4.0 know no other format of
checkpoints."""

OF_TWS: Mapping[str, SparkPlan] = {
    **OF_STATE,
    "state-avro": replace(
        _stored("state encoded as Avro", {f"{STORE}.encodingFormat": "avro"}),
        places=frozenset({DUPLICATES_BEHIND, WINDOWS_BEHIND}),
    ),
}
"""Of transformWithState, the one operator that encodes its state as Avro. A query with another one beside it is
refused: "State store encoding format as avro is not supported for operator=dropDuplicates" (Spark 4.3.0)."""

OF_OTHERS: Mapping[str, SparkPlan] = {
    **OF_STATE,
    "state-rocksdb": _stored("state in RocksDB", ROCKSDB),
    FORMATS: _stored(
        "the first formats of state",
        {f"{STREAMING}.{name}.stateFormatVersion": "1" for name in ("aggregation", "flatMapGroupsWithState")},
    ),
}
"""Of the operators whose state is in the HDFS-backed store otherwise."""

OF_PYTHON: Mapping[str, SparkPlan] = {
    f"arrow-batches-{rows}": with_settings(
        f"Arrow batches of {rows} row{'s' * (rows > 1)}",
        {
            f"{ARROW}.maxRecordsPerBatch": str(rows),
            f"{ARROW}.transformWithStateInPySpark.maxStateRecordsPerBatch": str(rows),
        },
    )
    for rows in (1, 2)
}
"""Of the engines whose operator runs in Python, as rows and as pandas frames."""

OF_JOINS: Mapping[str, SparkPlan] = {
    "join-format-3": with_settings(
        "state of a join in column families (format 3)", {**ROCKSDB, f"{STREAMING}.join.stateFormatVersion": "3"}
    ),
}

OF_SESSIONS: Mapping[str, SparkPlan] = {
    "sessions-merged-early": with_settings(
        "sessions merged before the shuffle", {f"{STREAMING}.sessionWindow.merge.sessions.in.local.partition": "true"}
    ),
}

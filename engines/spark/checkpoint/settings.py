"""Other settings for a query that goes on from a checkpoint, and which of them it uses, by the files that it writes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from conformance.engines.spark.checkpoint.crashes import OFFSETS
from conformance.engines.spark.plans.settings import STORE, STORES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHANGELOG = f"{STORE}.rocksdb.changelogCheckpointing.enabled"
ENCODING = f"{STORE}.encodingFormat"

NO_LOG = "no log of RocksDB"


class Asked(NamedTuple):
    """What is asked for, in a word, and the settings of the session for it."""

    value: str
    conf: Mapping[str, str]


@dataclass(frozen=True)
class Setting:
    """A setting. ``used`` tells what the last micro-batch of a checkpoint used, ``another`` what to ask for in its
    place, and ``ask`` asks for it before the query goes on."""

    used: Callable[[Path], str]
    another: Callable[[str], Asked]
    ask: Callable[[SparkSession, Path, str], None] = lambda spark, checkpoint, value: None


def _newest(checkpoint: Path) -> list[str]:
    """The names of the files of the first operator's state that have the greatest number."""
    files = [path.name for path in checkpoint.glob("state/0/[0-9]*/*") if re.match(r"\d+[._]", path.name)]
    last = max((_number(name) for name in files), default=0)
    return [name for name in files if _number(name) == last]


def _number(name: str) -> int:
    return int(re.split(r"[._]", name)[0])


def _partitions(checkpoint: Path) -> str:
    return str(len([*checkpoint.glob("state/0/[0-9]*")]))


def _store(checkpoint: Path) -> str:
    return "hdfs" if any(name.endswith((".delta", ".snapshot")) for name in _newest(checkpoint)) else "rocksdb"


def _logged(checkpoint: Path) -> str:
    if _store(checkpoint) != "rocksdb":
        return NO_LOG
    return "changes" if any(name.endswith(".changelog") for name in _newest(checkpoint)) else "snapshots"


def _format(checkpoint: Path) -> str:
    return "format 2" if any("_" in name for name in _newest(checkpoint)) else "format 1"


def _encoding(checkpoint: Path) -> str:
    """What the plan of the last micro-batch says."""
    plans = [path for path in (checkpoint / OFFSETS).iterdir() if path.name.isdigit()]
    _, said, *_ = max(plans, key=lambda path: int(path.name)).read_text().splitlines()
    return json.loads(said)["conf"].get(ENCODING, "unsaferow")


def _one_more(before: str) -> Asked:
    more = str(int(before) + 1)
    return Asked(more, {"spark.sql.shuffle.partitions": more})


def _other_store(before: str) -> Asked:
    name = "rocksdb" if before == "hdfs" else "hdfs"
    return Asked(name, STORES[name])


def _other_encoding(before: str) -> Asked:
    name = "unsaferow" if before == "avro" else "avro"
    return Asked(name, {ENCODING: name})


def _other_log(before: str) -> Asked:
    logged = before != "changes"
    return Asked("changes" if logged else "snapshots", {CHANGELOG: str(logged).lower()})


def _format_two(before: str) -> Asked:
    return Asked("format 2", {f"{STORE}.checkpointFormatVersion": "2"})


def _repartition(spark: SparkSession, checkpoint: Path, partitions: str) -> None:
    spark._streamingCheckpointManager.repartition(str(checkpoint), int(partitions))


SETTINGS = {
    "other partitions": Setting(_partitions, _one_more),
    "another store": Setting(_store, _other_store),
    "another encoding": Setting(_encoding, _other_encoding),
    "another format": Setting(_format, _format_two),
    "changes logged or not": Setting(_logged, _other_log),
    "partitioned anew": Setting(_partitions, lambda before: Asked(str(int(before) + 1), {}), _repartition),
}
"""By the change of a program's job."""


def told(before: str, asked: str, behind: str, ended: Mapping[str, str] | None) -> str:
    """What became of a setting."""
    if ended:
        (how, why), *_ = ended.items()
        return f"{how}: {asked} asked for, {before} before ({why})"
    if behind == before:
        return f"pinned: {asked} asked for, {before} as before"
    return f"changed: from {before} to {behind}"

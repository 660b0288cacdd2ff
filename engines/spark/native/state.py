"""What Spark's state data source finds of its own operators in a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.spark.checkpoint.stored import LATEST, StoredRow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIDES = {"symmetricHashJoin": ({"joinSide": "left"}, {"joinSide": "right"})}
"""Operator -> the options of its stores that hold rows (Spark 4.3.0)."""

KEY = {"case": "field1", "key": "field2"}
"""A field of a key -> its name in the state of a join (Spark 4.3.0)."""

GROUP = ("program", "field0", *KEY, *KEY.values())
"""The fields of a key that say whose it is."""


def read(spark: SparkSession, checkpoint: Path, batch: int = LATEST) -> Iterator[StoredRow]:
    """All rows after a micro-batch, in an order of their own. The one cell of a row has the operator's name, and holds
    the rest of the row's key as text."""
    at = {} if batch == LATEST else {"batchId": str(batch)}
    metadata = spark.read.format("state-metadata").options(**at).load(str(checkpoint))
    for operator in metadata.select("operatorId", "operatorName").distinct().collect():
        for options in SIDES.get(operator.operatorName, ({},)):
            source = spark.read.format("statestore").option("operatorId", operator.operatorId).options(**options, **at)
            groups = [row.key.asDict() for row in source.load(str(checkpoint)).select("key").collect()]
            for rest, group in sorted(((_rest(group), group) for group in groups), key=lambda found: found[0]):
                yield StoredRow(_field(group, "case"), _field(group, "key"), ((operator.operatorName, rest),))


def _rest(group: Mapping[str, Any]) -> str:
    return " ".join(str(value) for name, value in group.items() if name not in GROUP) or "an entry"


def _field(group: Mapping[str, Any], name: str) -> str:
    return group[name] if name in group else group[KEY[name]]

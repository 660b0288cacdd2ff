"""What Spark's state data source finds of its own operators in the checkpoint of a query that has ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.model.case import program_ref
from conformance.model.program import Program
from conformance.model.runs import Pack
from conformance.model.trace import Emission
from engines.spark.operator import HEARTBEAT
from engines.spark.releases import released

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIDES = {"symmetricHashJoin": ({"joinSide": "left"}, {"joinSide": "right"})}
"""Operator -> the options of its stores that hold rows (Spark 4.3.0)."""

KEY = {"program": "field0", "case": "field1", "key": "field2"}
"""A field of a key -> its name in the state of a join (Spark 4.3.0)."""

SINCE = (4, 0)
"""The first release with a state data source."""


def read(
    spark: SparkSession, checkpoint: Path, pack: Pack, programs: Mapping[str, Program]
) -> Iterator[tuple[str, Emission]]:
    """(case, emission) of each entry in the state of the query's operators that belongs to an inspected program, by key."""
    last = pack.timeline[-1].id
    inspected = {case.id for case in pack.cases if programs[program_ref(case.scenario, case.program)].inspected}
    if not inspected:
        return
    if released() < SINCE:
        for case in sorted(inspected):
            yield case, Emission("", {"unreadable": "the release has no state data source"}, last)
        return
    for case, key, operator, entry in sorted(_entries(spark, str(checkpoint))):
        if case in inspected:
            yield case, Emission(key, {"cell": operator, "stored": entry}, last)


def _entries(spark: SparkSession, checkpoint: str) -> Iterator[tuple[str, str, str, str]]:
    """(case, key, operator, the entry's key as text)."""
    found = spark.read.format("state-metadata").load(checkpoint).select("operatorId", "operatorName").distinct()
    for operator in found.collect():
        for options in SIDES.get(operator.operatorName, ({},)):
            source = spark.read.format("statestore").option("operatorId", operator.operatorId).options(**options)
            for row in source.load(checkpoint).select("key").collect():
                group = row.key.asDict()
                if _field(group, "program") != HEARTBEAT:
                    rest = [str(value) for name, value in group.items() if name not in (*KEY, *KEY.values())]
                    entry = " ".join(rest) or "an entry"
                    yield _field(group, "case"), _field(group, "key"), operator.operatorName, entry


def _field(group: Mapping[str, Any], name: str) -> str:
    found: str = group[name] if name in group else group[KEY[name]]
    return found

"""What Spark's state data source finds of (flat)mapGroupsWithState and applyInPandasWithState in a checkpoint: one
store, whose rows hold all cells of a key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.spark.checkpoint.stored import LATEST, StoredRow
from conformance.model.program import Cell, JobKind, Program
from conformance.model.values import Json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HELD: Mapping[Cell, Callable[[Any], Json]] = {
    Cell.VALUE: lambda stored: json.loads(stored[0]),
    Cell.BAG: lambda stored: [json.loads(element[0]) for element in stored],
    Cell.MAP: lambda stored: {key: json.loads(value[0]) for key, value in stored.items()},
}
"""What the JSON text of a key's state holds, by the kind of cell."""


def read(
    spark: SparkSession, checkpoint: Path, programs: Mapping[str, Program], batch: int = LATEST
) -> Iterator[StoredRow]:
    """All rows after a micro-batch, by window, with the cells of programs that are inspected. The JVM's engines group
    by the JSON text of what the others group by."""
    source = spark.read.format("statestore")
    if batch != LATEST:
        source = source.option("batchId", str(batch))
    found = source.load(str(checkpoint)).select("key", "value").collect()
    rows = [(key.asDict() if len(key) > 1 else json.loads(key[0]), value) for key, value in found]
    for group, value in sorted(rows, key=lambda row: row[0]["window"]):
        program = programs.get(group["program"])
        cells = _cells(program, value["groupState"]) if program and program.job is JobKind.INSPECTION else ()
        yield StoredRow(group["case"], group["key"], cells)


def _cells(program: Program, state: Any) -> tuple[tuple[str, Json], ...]:
    """What the cells hold. A key whose timeout alone is kept has no state."""
    stored = json.loads(state[0]).get("cells", {}) if state and state[0] else {}
    return tuple((name, HELD[kind](stored[name])) for name, kind in program.cells.items() if name in stored)

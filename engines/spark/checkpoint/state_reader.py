"""What Spark's state data source finds of transformWithState in a checkpoint: a batch query of its own for each state
variable."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.spark.checkpoint.stored import StoredRow
from conformance.engines.spark.operators.tws_operator import variables
from conformance.model.program import Cell, JobKind, Program
from conformance.model.values import Json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HELD: Mapping[Cell, Callable[[Any], Json]] = {
    Cell.VALUE: lambda row: json.loads(row["value"][0]),
    Cell.BAG: lambda row: [json.loads(element[0]) for element in row["list_value"]],
    Cell.MAP: lambda row: {key[0]: json.loads(value[0]) for key, value in row["map_value"].items()},
}
"""What a row of the data source holds, by the kind of cell (Spark 4.0.5, 4.3.0). The field of a value has another name
where the JVM's encoder made it."""


def read(spark: SparkSession, checkpoint: Path, programs: Mapping[str, Program]) -> Iterator[StoredRow]:
    """The rows of the inspected programs in the end, cell by cell."""
    for name, program in sorted(programs.items()):
        for cell in program.cells if program.job is JobKind.INSPECTION else ():
            yield from _rows(spark, checkpoint, programs, name, cell)


def _rows(
    spark: SparkSession, checkpoint: Path, programs: Mapping[str, Program], name: str, cell: str
) -> Iterator[StoredRow]:
    """Those of a cell, without the other programs' rows in its variable. The JVM's engines group by the JSON text of
    what the others group by."""
    kind, variable = programs[name].cells[cell], variables(programs)[name, cell]
    source = spark.read.format("statestore").option("stateVarName", variable.name)
    for row in source.option("flattenCollectionTypes", "false").load(str(checkpoint)).collect():
        group = row["key"] if len(row["key"]) > 1 else json.loads(row["key"][0])
        if group["program"] == name:
            yield StoredRow(group["case"], group["key"], ((cell, HELD[kind](row)),))

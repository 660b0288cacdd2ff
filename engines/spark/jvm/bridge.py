"""The driver's side of the bridge: operators of the JVM's Dataset API on a stream of PySpark.

Works in classic mode only, since it calls the JVM's API (Spark 4.3.0).
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from conformance.engines.spark.operators.groups_operator import initial_state
from conformance.engines.spark.operators.operator import GROUP, OperatorInput
from conformance.engines.spark.operators.tws_operator import variables
from conformance.engines.spark.runtime import functions as f
from conformance.engines.spark.runtime import releases
from conformance.engines.spark.state.typed_cells import ddl
from conformance.engines.spark.state.typed_groups import schema, state_type
from conformance.model.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATIENCE = 60_000
"""How many ms one call of a program may take."""


def has_types(programs: Mapping[str, Program]) -> bool:
    """Whether a program has typed cells."""
    return any(program.types for program in programs.values())


def bridge(given: OperatorInput) -> Any:
    """A Bridge that runs the programs of this input."""
    from pyspark import cloudpickle

    spark = given.stream.sparkSession
    code = cloudpickle.dumps((dict(given.programs), given.failure, dict(given.typed)))
    output = spark.createDataFrame([], given.output).schema.json()  # 3.5.9 has no StructType.fromDDL
    jvm: Any = spark.sparkContext._jvm
    rows = releases.row_encoder(jvm, jvm.org.apache.spark.sql.types.DataType.fromJson(output))
    keys = jvm.org.apache.spark.sql.Encoders.STRING()
    if given.keyed_by_row:
        keys = releases.row_encoder(jvm, grouped(given, given.stream).schema().fields()[0].dataType())
    return jvm.conformance.jvm.Bridge(uuid.uuid4().hex, sys.executable, bytearray(code), output, rows, keys, PATIENCE)


def _state(spark: SparkSession, programs: Mapping[str, Program]) -> Any:
    """What the one state of a key is: JSON text, or a row where there are typed cells."""
    jvm: Any = spark.sparkContext._jvm
    if not has_types(programs):
        return jvm.conformance.jvm.Crossing.ofText()
    row = jvm.org.apache.spark.sql.types.StructType.fromDDL(schema(programs))
    return jvm.conformance.jvm.Crossing(row, releases.row_encoder(jvm, row))


def _group(columns: tuple[str, ...] = GROUP, as_row: bool = False) -> Any:
    """The grouping key: JSON text, which sorts as the key does, or a struct."""
    key = f.struct(*columns)
    return (key if as_row else f.to_json(key)).alias("group")


def grouped(given: OperatorInput, rows: DataFrame) -> Any:
    """Rows of the stream, or of initial state, as the bridge takes them: first the grouping key."""
    group = _group(given.group, given.keyed_by_row)
    return rows.select(group, "step", "id", "value", "event_time", "partition")._jdf


def _states(initial: DataFrame, programs: Mapping[str, Program]) -> Any:
    """The group and the state of each row of initial state."""
    rows = [(row.program, row.case, row.key, row.window, initial_state(programs, row)) for row in initial.collect()]
    states = initial.sparkSession.createDataFrame(
        rows, f"program string, case string, key string, window long, state {ddl(state_type(programs))}"
    )
    return states.select(_group(), "state" if has_types(programs) else "state.json")._jdf


def groups_with_state(given: OperatorInput, method: str, timeout: str) -> DataFrame:
    """``mapGroupsWithState`` or ``flatMapGroupsWithState`` of the JVM. What a key starts with is its state, as it is
    kept."""
    from pyspark.sql import DataFrame

    spark = given.stream.sparkSession
    states = given.initial and _states(given.initial, given.programs)
    state = _state(spark, given.programs)
    made = getattr(bridge(given), method)(grouped(given, given.stream), timeout, state, states)
    return DataFrame(made, spark)


def transform_with_state(given: OperatorInput, time_mode: str) -> DataFrame:
    """``transformWithState`` of the JVM."""
    from pyspark.sql import DataFrame

    spark = given.stream.sparkSession
    declared = sorted({*variables(given.programs).values()})
    names = [variable.name for variable in declared]
    kinds = [variable.kind for variable in declared]
    ttls = [variable.ttl for variable in declared]
    schemas = [list(variable.schemas) if variable.types else [] for variable in declared]
    jvm: Any = spark.sparkContext._jvm
    tws = jvm.conformance.jvm.TwsBridge
    processor = tws(bridge(given), names, kinds, ttls, schemas, time_mode)
    initial = given.initial and grouped(given, given.initial)
    return DataFrame(tws.transformWithState(grouped(given, given.stream), processor, initial), spark)

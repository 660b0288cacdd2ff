"""The driver's side of the bridge: compile its Java, and put operators of the JVM's Dataset API on a stream.

A Java runtime is enough: the compiler is the Janino that Spark's own jars hold. Works in classic mode only, since it calls the
JVM's API (Spark 4.3.0).
"""

from __future__ import annotations

import sys
import tempfile
import uuid
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.program import Cell, Program
from engines.spark.operator import OUTPUT, Failure
from engines.spark.tws_operator import variables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCES = ("Bridge.java", "TwsBridge.java")

PATIENCE = 60_000
"""How many ms one call of a program may take."""

KINDS = {Cell.BAG: "list", Cell.MAP: "map", Cell.SET: "map"}


def install(spark: SparkSession) -> None:
    """Make the bridge's classes known to the driver and to executors, once per session."""
    context: Any = spark.sparkContext
    jvm = context._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass("conformance.jvm.Bridge")
        return
    except Exception as error:
        if "ClassNotFoundException" not in str(error):
            raise
    with tempfile.TemporaryDirectory() as classes:
        compiler = jvm.org.codehaus.janino.Compiler()
        compiler.setDestinationDirectory(jvm.java.io.File(classes), False)
        compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
        files = context._gateway.new_array(jvm.java.io.File, len(SOURCES))
        for number, name in enumerate(SOURCES):
            files[number] = jvm.java.io.File(str(Path(__file__).parent / name))
        compiler.compile(files)
        jar = Path(tempfile.mkdtemp()) / "conformance-bridge.jar"
        with zipfile.ZipFile(jar, "w") as archive:
            for found in sorted(Path(classes).rglob("*.class")):
                archive.write(found, found.relative_to(classes))
    loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
    context._jsc.addJar(str(jar))


def bridge(spark: SparkSession, programs: Mapping[str, Program], failure: Failure | None) -> Any:
    """A Bridge that runs these programs."""
    from pyspark import cloudpickle
    from pyspark.sql.types import StructType

    code = cloudpickle.dumps((dict(programs), failure))
    schema = StructType.fromDDL(OUTPUT).json()
    package: Any = spark.sparkContext._jvm
    return package.conformance.jvm.Bridge(uuid.uuid4().hex, sys.executable, bytearray(code), schema, PATIENCE)


def grouped(stream: DataFrame) -> Any:
    """The stream as the bridge takes it: first the grouping key as JSON text, which sorts as the key does."""
    from pyspark.sql import functions as f

    key = f.to_json(f.struct("program", "case", "key", "window")).alias("group")
    return stream.select(key, "step", "id", "value", "event_time", "partition")._jdf


def groups_with_state(
    stream: DataFrame, programs: Mapping[str, Program], failure: Failure | None, method: str, timeout: str
) -> DataFrame:
    """``mapGroupsWithState`` or ``flatMapGroupsWithState`` of the JVM."""
    from pyspark.sql import DataFrame

    spark = stream.sparkSession
    made = getattr(bridge(spark, programs, failure), method)(grouped(stream), timeout)
    return DataFrame(made, spark)


def transform_with_state(stream: DataFrame, programs: Mapping[str, Program], failure: Failure | None) -> DataFrame:
    """``transformWithState`` of the JVM."""
    from pyspark.sql import DataFrame

    spark = stream.sparkSession
    declared = list(variables(programs).values())
    names = [name for name, _ in declared]
    kinds = [KINDS.get(kind, "value") for _, kind in declared]
    package: Any = spark.sparkContext._jvm
    processor = package.conformance.jvm.TwsBridge(bridge(spark, programs, failure), names, kinds)
    return DataFrame(package.conformance.jvm.TwsBridge.transformWithState(grouped(stream), processor), spark)

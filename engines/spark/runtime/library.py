"""The project's Java, compiled when a session starts and made known to the driver and to executors.

A Java runtime is enough: the compiler is the Janino that Spark's own jars hold. Classic mode only (Spark 4.3.0).
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.spark.runtime.releases import released

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def sources() -> list[str]:
    """The files to compile. transformWithState is there from Spark 4.0 on."""
    return [
        "Bridge.java",
        "Crossing.java",
        "LocalFiles.java",
        "Values.java",
        *(["TwsBridge.java"] if released() >= (4, 0) else []),
    ]


def install(spark: SparkSession, folder: Path) -> None:
    """Compile into a jar in ``folder``, and load it."""
    context: Any = spark.sparkContext
    names = sources()
    jvm = context._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    jar = folder / "conformance.jar"
    with tempfile.TemporaryDirectory() as classes:
        compiler = jvm.org.codehaus.janino.Compiler()
        compiler.setDestinationDirectory(jvm.java.io.File(classes), False)
        compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
        files = context._gateway.new_array(jvm.java.io.File, len(names))
        for number, name in enumerate(names):
            files[number] = jvm.java.io.File(str(Path(__file__).parents[1] / "jvm" / name))
        compiler.compile(files)
        with zipfile.ZipFile(jar, "w") as archive:
            for found in sorted(Path(classes).rglob("*.class")):
                archive.write(found, found.relative_to(classes))
    loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
    context._jsc.addJar(str(jar))
    if context.master.startswith("local["):  # elsewhere executors open files before they know the class
        hadoop = context._jsc.hadoopConfiguration()
        hadoop.setClassLoader(loader)
        hadoop.set("fs.file.impl", "conformance.jvm.LocalFiles")
        hadoop.set("fs.file.impl.disable.cache", "true")

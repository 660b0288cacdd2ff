"""Spark's classes in an archive (class data sharing of Java 13 and later), which a JVM maps instead of reading hundreds
of jars.

``python -m conformance.engines.spark.runtime.class_archive`` makes the archive of the installed PySpark and Java, once.
Sessions use it where it is there.
Java itself ignores an archive that does not fit. Beside the archive stands the SPARK_HOME that it was made with: Java
asks for the same paths again.
"""

import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zlib import crc32

from conformance.engines.spark.runtime import installation

ARCHIVE = "classes.jsa"

QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
"""An archive that does not fit is no news."""

FROM_JAVA = 13
"""The first Java that can add to its own archive."""


def folder() -> Path:
    """Where the archive of this PySpark and this Java is, or would be."""
    import pyspark

    cache = os.environ.get("CONFORMANCE_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    of = crc32(f"{Path(pyspark.__file__).parent} {installation.java()}".encode())
    return Path(cache) / "conformance" / f"spark-{version('pyspark')}-java-{installation.java_version()}-{of:08x}"


def options() -> str:
    """The JVM's options that use the archive; "" where there is none."""
    archive = folder() / ARCHIVE
    return f" {QUIET} -XX:SharedArchiveFile={archive}" if archive.exists() else ""


def make() -> Path:
    """Make the archive if there is none: of what the queries of two engines load."""
    from conformance.model.engine import Questioned
    from conformance.plugins.registry import load_engine

    java = installation.java_version().split(".")[0]
    archive = folder() / ARCHIVE
    if archive.exists() or not java.isdigit() or int(java) < FROM_JAVA:
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=archive.parent))
    try:
        os.environ["SPARK_HOME"] = str(installation.home(archive.parent))
        os.environ["JDK_JAVA_OPTIONS"] = f"{QUIET} -XX:ArchiveClassesAtExit={scratch / ARCHIVE}"
        engines = [load_engine(name) for name in ("spark-tws", "spark-native:count")]
        for engine in engines:
            engine.open(scratch)
            assert isinstance(engine, Questioned)
            engine.answers()
        for engine in engines:
            engine.close()
        end_jvm()
        (scratch / ARCHIVE).rename(archive)
    finally:
        shutil.rmtree(scratch)
    return archive


def end_jvm() -> None:
    """End this process' JVM, and wait for its end."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=120)


if __name__ == "__main__":
    print(make())

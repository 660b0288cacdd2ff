"""One embedded Spark session for a run, its settings, and its errors brought down to their cause."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from conformance.engines.spark.runtime import class_archive, installation, releases
from conformance.engines.spark.runtime.releases import released
from conformance.model.engine import CannotRun, Setting

PARTITIONS = 2


def faster() -> dict[str, str]:
    """Settings of a session that only make it faster (measured on Spark 4.3.0)."""
    # The default manager forks a process for every chmod and link on a local file system without native code.
    place = "checkpointing." if released() >= (4, 1) else ""  # where it is in 4.1.4, and was in 4.0.5
    manager = f"org.apache.spark.sql.execution.streaming.{place}FileSystemBasedCheckpointFileManager"
    return {
        "spark.sql.streaming.checkpointFileManagerClass": manager,
        "spark.sql.shuffle.partitions": str(PARTITIONS),
    }


JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m -Djava.io.tmpdir={}"
"""Options of the driver's JVM: fast to start (measured on Spark 4.3.0), and its temporary files are ours to delete."""

NO_EMPTY_BATCHES = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
"""A query in processing time would run empty micro-batches for ever (Spark 4.3.0)."""

NEEDED = {
    "spark.sql.session.timeZone": "UTC",
    # All progress of a pack is read at its end; the default keeps the last 100 micro-batches.
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
}
"""Settings that the harness cannot do without. Everything else that can change an answer stays at its default."""


def check() -> None:
    """Raise CannotRun where PySpark or Java is missing."""
    if find_spec("pyspark") is None:
        raise CannotRun("PySpark is not installed: pip install 'pyspark[connect]>=4.0' 'pandas>=2.2,<3'")
    for version in releases.installed():
        if version < releases.OLDEST:
            raise CannotRun(f"PySpark {version} does not run here: {releases.OLDEST} and later do")
    if installation.java() is None and not remote():
        raise CannotRun("no Java found: install a Java 17 runtime and put it on PATH, or set JAVA_HOME")


def roots() -> dict[str, str] | None:
    """What an embedded Spark runs on; None for a Spark elsewhere, whose release is known once a session is there."""
    return {"java": installation.java_version()} if master().startswith("local") else None


MASTER = "spark-master"
"""The setting that says which Spark to use."""

EMBEDDED = "local[2,4]"
"""The master where none was asked for."""

SETTINGS = {
    MASTER: Setting(
        f"Which Spark to use: {EMBEDDED}, local-cluster[2,1,1024], spark://…, or sc://… for the Python APIs. "
        "Default: an embedded one.",
        envvar="CONFORMANCE_SPARK_MASTER",
    )
}
"""What users may set. A process has one session, so what one engine is given holds for all of the process."""

_master = EMBEDDED


def configure(values: Mapping[str, str]) -> None:
    """Take the values of SETTINGS, before the session is started."""
    global _master
    _master = values.get(MASTER) or EMBEDDED


def master() -> str:
    """The Spark that this process uses."""
    return _master


_made = ""
"""The SPARK_HOME that this process has made, "" if none."""

_one_at_a_time = threading.RLock()

_open = 0
"""How many engines of this process use its session."""


def remote() -> bool:
    """Whether Spark is reached through Spark Connect."""
    return master().startswith("sc://")


def start(folder: Path) -> Any:
    """This process' session. The first caller starts it, with temporary files below its ``folder``. The default is an
    embedded one with two cores, which tries a failed task again up to three times, as a cluster does (a plain
    ``local[2]`` does not).

    Raises:
        CannotRun: there is nothing at the master that was asked for.
    """
    global _open
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        spark = _connected() if remote() else _embedded(folder)
    except Exception as error:
        raise CannotRun(f"no Spark session with the master {master()}: {cause(error)}") from error
    _open += 1
    return spark


def _connected() -> Any:
    from pyspark.sql import SparkSession

    where = urlsplit(master())
    # The client tries for minutes to reach a server that is not there (Spark 4.3.0).
    socket.create_connection((where.hostname or "localhost", where.port or 15002), timeout=10).close()
    return SparkSession.builder.remote(master()).getOrCreate()


def _embedded(folder: Path) -> Any:
    """A session with its driver in a JVM of this process. Executors of a cluster take their jars from PySpark's own."""
    global _made
    from pyspark.sql import SparkSession

    archived = ""
    if os.environ.get("SPARK_HOME", "") in ("", _made):
        archived = class_archive.options()
        _made = os.environ["SPARK_HOME"] = str(installation.home(class_archive.folder() if archived else folder))
    builder = SparkSession.builder.master(master()).appName("conformance")
    settings = {
        "spark.driver.extraJavaOptions": JVM.format(folder) + archived,
        "spark.executor.extraJavaOptions": f"-Djava.io.tmpdir={folder}",
        "spark.local.dir": str(folder),
        "spark.ui.enabled": "false",
        "spark.python.daemon.module": "conformance.engines.spark.runtime.daemon",  # faster: see there
        # On a busy machine a Python worker takes longer to connect than the 15 s that it has (Spark 3.5.0 and 4.3.0
        # know the name).
        "spark.python.authenticate.socketTimeout": "120s",
        "spark.ui.showConsoleProgress": "false",
        # Where a server of Spark Connect listens, if one is asked for: see ``connected``.
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
    }
    for name, value in {**faster(), **NEEDED, **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    if _open == 0:
        from conformance.engines.spark.runtime import library

        spark.sparkContext.setLogLevel("ERROR")
        library.install(spark, folder)
    return spark


def own(spark: Any, settings: Mapping[str, str]) -> Any:
    """Another session, with settings of its own: packs that run at the same time differ in some."""
    if remote():
        from pyspark.sql import SparkSession

        made = SparkSession.builder.remote(master()).create()
    else:
        made = spark.newSession()
    # A session that was there before this one, such as one that a user's module makes, leaves it its own settings.
    for name, value in {**faster(), **NEEDED, **settings}.items():
        made.conf.set(name, value)
    return made


@contextlib.contextmanager
def changed(spark: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """Within, a session has other settings."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


@contextlib.contextmanager
def ambient(spark: Any) -> Iterator[None]:
    """Within, this session is the one that code without a session finds. One thread at a time is within."""
    with _one_at_a_time:
        yield from _as_ambient(spark)


def _as_ambient(spark: Any) -> Iterator[None]:
    if not hasattr(spark, "_jsparkSession"):  # through Spark Connect
        active = type(spark)._active_session
        before, active.session = getattr(active, "session", None), spark
        try:
            yield
        finally:
            active.session = before
        return
    from pyspark.sql import SparkSession

    classes: Any = SparkSession
    before, sessions = classes._instantiatedSession, spark._jvm.SparkSession
    try:
        classes._instantiatedSession = spark
        sessions.setActiveSession(spark._jsparkSession)
        yield
    finally:
        classes._instantiatedSession = before
        if before is not None:
            sessions.setActiveSession(before._jsparkSession)


def stop() -> None:
    """End the session when its last user has said so."""
    global _open
    _open -= 1
    if _open == 0:
        from pyspark.sql import SparkSession

        if running := SparkSession.getActiveSession():
            running.stop()


def gone() -> str:
    """How the JVM ended, "" while it answers."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if process is None:
        return ""
    with contextlib.suppress(Exception):
        gateway.jvm.java.lang.System.nanoTime()
        return ""
    # A process that is being killed refuses connections before its parent can learn of its end.
    with contextlib.suppress(subprocess.TimeoutExpired):
        return f"Spark's JVM ended with code {process.wait(timeout=10)}"
    return ""


def environment(spark: Any) -> dict[str, str]:
    """Versions, and the settings that can change an answer."""
    changelog = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
    asked = ["spark.sql.streaming.stateStore.providerClass", "spark.sql.streaming.statefulOperator.allowMultiple"]
    return {
        "spark": spark.version,
        "java": installation.java_version(),
        "python": sys.version.split()[0],
        "master": master(),
        **{name: str(spark.conf.get(name)) for name in asked},
        changelog: str(spark.conf.get(changelog, "false")),
    }


PY4J = "Py4JJavaError"
"""The class of an error that a call into the JVM raised."""


def cause(error: BaseException) -> str:
    """Why a query failed, in one line: the fault that names its case, else the innermost Python exception, else the
    innermost exception of a call that Python made into the JVM, else the first line of what Spark says, or of what the
    JVM says of a call."""
    text = re.sub(r"\AAn error occurred while calling \S+\n: ", "", str(error))
    # Each query has ids of its own: without them, two that fail in one way say the same.
    text = re.sub(r"Query \[id = \S+, runId = \S+\] terminated with exception: ", "the query failed: ", text)
    faults = re.findall(r"^\S*(EngineFault: \[case .+)$", text, re.MULTILINE)
    python = re.findall(r"^\s*(?:\w+\.)*(\w*(?:Error|Exception|Fault): .+)$", text, re.MULTILINE)
    wrappers = ("PythonException", "StreamingQueryException", "SparkException", "TaskFailedException", PY4J)
    inner = [line for line in python if not line.startswith(wrappers)]
    called = re.findall(r"^(?:Caused by)?: (?:\w+\.)+(\w+: .+)$", text, re.MULTILINE)[::-1] if PY4J in text else []
    return [*faults, *inner, *called, *text.strip().splitlines(), type(error).__name__][0][:400]

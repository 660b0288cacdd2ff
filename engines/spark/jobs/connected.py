"""Spark Connect beside a classic session: a server in the session's JVM, and for each pack a process that is a client
of the server.

The functions of PySpark are those of a classic session or of a remote one in all of a process (Spark 4.3.0).

``python -m conformance.engines.spark.jobs.connected ADDRESS FOLDER`` is the client: it runs the job in ``FOLDER /
JOB``, and leaves its answer in ``FOLDER / ANSWER``.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.spark.plans.around import PLAIN_TEXT, Runs, SparkPlan
from conformance.engines.spark.runtime import session
from conformance.model.engine import CannotRun, Engine, NotDriven
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun
from conformance.model.values import Json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from conformance.engines.spark.checkpoint.copies import Rows

CONNECTED = {
    "connect": SparkPlan(
        "the query goes through Spark Connect", f"SparkSession.builder.remote(…); {PLAIN_TEXT}", runs=Runs.CONNECT
    )
}
"""Of the APIs that Python reaches by itself."""

JOB, ANSWER = "job.pickle", "answer.pickle"


def run(engine: Engine, spark: SparkSession, pack: Pack, programs: Mapping[str, Program], folder: Path) -> PackRun:
    """The run of a pack through Spark Connect, on an engine that is not open. Raises as ``call`` does."""
    answer: PackRun = call(spark, _run, (engine, pack, dict(programs)), folder)
    return answer


def _run(folder: Path, engine: Engine, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
    engine.open(folder)
    answer = engine.run(pack, programs)
    engine.close()
    return answer


def go_on(
    engine: Engine, spark: SparkSession, pack: Pack, programs: Mapping[str, Program], folder: Path, checkpoint: Path
) -> tuple[Rows, Json]:
    """What comes out of a job that goes on from a checkpoint through Spark Connect, as ``Job.go_on`` tells. Raises as
    ``call`` does."""
    answer: tuple[Rows, Json] = call(spark, _go_on, (engine, pack, dict(programs), checkpoint), folder)
    return answer


def _go_on(folder: Path, engine: Any, pack: Pack, programs: Mapping[str, Program], checkpoint: Path) -> Any:
    engine.open(folder)
    try:
        with engine._job(pack, programs, folder) as job:
            return job.go_on(checkpoint)
    finally:
        engine.close()


def call(spark: SparkSession, function: Callable[..., Any], arguments: tuple[Any, ...], folder: Path) -> Any:
    """What a function gives for a folder and arguments, in a process that reaches Spark through Connect.

    Raises:
        NotDriven: the function did, or PySpark has no server of Spark Connect beside the classic session (3.5.9).
        RuntimeError: the function or its process failed.
    """
    from pyspark import cloudpickle

    address = _address(spark)
    (folder / JOB).write_bytes(cloudpickle.dumps((function, arguments)))
    done = subprocess.run(
        [sys.executable, "-m", "conformance.engines.spark.jobs.connected", address, str(folder)],
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the client of Spark Connect ended with code {done.returncode}")
    answer = pickle.loads((folder / ANSWER).read_bytes())
    if isinstance(answer, Exception):
        raise answer
    return answer


def _address(spark: SparkSession) -> str:
    """The address of the server, which the first call starts."""
    service: Any = spark._jvm.org.apache.spark.sql.connect.service
    try:
        service.SparkConnectService.start(spark._jsc.sc())
    except TypeError:
        raise NotDriven(f"PySpark {spark.version} has no Spark Connect beside a classic session") from None
    port = getattr(getattr(service, "SparkConnectService$"), "MODULE$").localPort()
    return f"sc://127.0.0.1:{port}"


def main(address: str, folder: Path) -> None:
    function, arguments = pickle.loads((folder / JOB).read_bytes())
    session.configure({session.MASTER: address})
    answer: Any
    try:
        answer = function(folder, *arguments)
    except (NotDriven, CannotRun) as error:
        answer = NotDriven(str(error))
    except Exception as error:
        answer = RuntimeError(session.cause(error))
    (folder / ANSWER).write_bytes(pickle.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

"""Spark Connect beside a classic session: a server in the session's JVM, and a process that is a client of the server.

The functions of PySpark are those of a classic session or of a remote one in all of a process (Spark 4.3.0).

``python -m conformance.engines.spark.jobs.connected ADDRESS`` is the client. It reads a folder a line, does the job in
``FOLDER / JOB``, leaves the answer in ``FOLDER / ANSWER``, and writes a line.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.spark.plans.around import PLAIN_TEXT, Runs, SparkPlan
from conformance.engines.spark.runtime import session
from conformance.model.engine import CannotRun, Engine, NotDriven
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun
from conformance.model.values import Json
from conformance.support.output import private_stdout

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
    """The run of a pack through Spark Connect, on an engine that is not open, in a process of its own. Raises as
    ``Client`` does."""
    return _once(spark, _run, (engine, pack, dict(programs)), folder)


def _run(folder: Path, engine: Engine, pack: Pack, programs: Mapping[str, Program]) -> PackRun:
    engine.open(folder)
    answer = engine.run(pack, programs)
    engine.close()
    return answer


@dataclass(frozen=True)
class Beside:
    """A client that does a part of a pack's job, on an engine that is not open. Each part is in a process and a folder
    of its own. The methods raise as ``Client`` does."""

    engine: Engine
    spark: SparkSession
    pack: Pack
    programs: Mapping[str, Program]

    def begin(self, folder: Path) -> None:
        """Do ``Job.begin``, and leave in the folder what a job there takes over."""
        self._do(_begin, folder, folder)

    def go_on(self, folder: Path, checkpoint: Path) -> tuple[Rows, Json]:
        """Do ``Job.go_on`` for the job of a folder."""
        mine = checkpoint.with_name(f"{checkpoint.name}-client")
        return self._do(partial(_go_on, checkpoint), folder, mine)

    def _do(self, part: Callable[[Any], Any], of: Path, folder: Path) -> Any:
        folder.mkdir()
        return _once(self.spark, _part, (part, self.engine, self.pack, dict(self.programs), of), folder)


def _begin(job: Any) -> None:
    job.begin()
    job.leave()


def _go_on(checkpoint: Path, job: Any) -> Any:
    return job.go_on(checkpoint)


def _part(
    folder: Path,
    part: Callable[[Any], Any],
    engine: Any,
    pack: Pack,
    programs: Mapping[str, Program],
    of: Path,
) -> Any:
    engine.open(folder)
    try:
        with engine._job(pack, programs, of) as job:
            return part(job)
    finally:
        engine.close()


def _once(spark: SparkSession, function: Callable[..., Any], arguments: tuple[Any, ...], folder: Path) -> Any:
    """What a client gives that does this one job."""
    with closing(Client(spark)) as client:
        return client.call(function, arguments, folder)


class Client:
    """A process that reaches Spark through Connect, for one job after the other.

    Raises:
        NotDriven: PySpark has no server of Spark Connect beside the classic session (3.5.9).
    """

    def __init__(self, spark: SparkSession) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "conformance.engines.spark.jobs.connected", _address(spark)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...], folder: Path) -> Any:
        """What a function gives for a folder and arguments.

        Raises:
            NotDriven: the function did.
            RuntimeError: the function or the process failed, or the arguments cannot be given to one.
        """
        from pyspark import cloudpickle

        try:
            job = cloudpickle.dumps((function, arguments))
        except TypeError as error:  # of a UDF that a classic session has used, for example
            raise RuntimeError(f"no other process can take it: {error}") from None
        (folder / JOB).write_bytes(job)
        if not self._done(folder):
            raise RuntimeError(f"the client of Spark Connect ended with code {self._process.wait()}")
        answer = pickle.loads((folder / ANSWER).read_bytes())
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _done(self, folder: Path) -> bool:
        """Whether the process lives to do the job of a folder."""
        assert self._process.stdin
        assert self._process.stdout
        with suppress(BrokenPipeError):
            print(folder, file=self._process.stdin, flush=True)
        return bool(self._process.stdout.readline())

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self._process.communicate()


def _address(spark: SparkSession) -> str:
    """The address of the server, which the first call starts."""
    service: Any = spark._jvm.org.apache.spark.sql.connect.service
    try:
        service.SparkConnectService.start(spark._jsc.sc())
    except TypeError:
        raise NotDriven(f"PySpark {spark.version} has no Spark Connect beside a classic session") from None
    port = getattr(getattr(service, "SparkConnectService$"), "MODULE$").localPort()
    return f"sc://127.0.0.1:{port}"


def main(address: str) -> None:
    session.configure({session.MASTER: address})
    done = private_stdout()
    for line in sys.stdin:
        folder = Path(line.removesuffix("\n"))
        (folder / ANSWER).write_bytes(pickle.dumps(_answer(folder)))
        print("done", file=done, flush=True)


def _answer(folder: Path) -> Any:
    try:
        function, arguments = pickle.loads((folder / JOB).read_bytes())
        return function(folder, *arguments)
    except (NotDriven, CannotRun) as error:
        return NotDriven(str(error))
    except Exception as error:
        return RuntimeError(session.cause(error))


if __name__ == "__main__":
    main(sys.argv[1])

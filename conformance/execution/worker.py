"""The process that engines run in: ``python -m conformance.execution.worker FOLDER``.

The worker reads requests from standard input and answers on standard output, one JSON object a line with the request's
number. Cases and traces travel as Arrow files. A request that loads an engine or a checker also has the user's files to
load before (``load``), and the values of the settings (``settings``). The output of an engine itself goes to standard
error, which the user's process keeps as the log.
"""

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TextIO

from conformance.model.checker import Batch, Checker
from conformance.model.engine import CannotRun, Engine, EngineGone, NotDriven, Questioned, Resumable
from conformance.model.program import Program
from conformance.model.runs import Pack, PackRun
from conformance.model.scenario import programs_of
from conformance.plugins.loading import ask_for, asked
from conformance.plugins.registry import lacks_of, load_checker, load_engine, load_scenarios
from conformance.plugins.settings import configure
from conformance.results import tables
from conformance.support.output import private_stdout


class Worker:
    """Serves requests. A worker opens each engine once. The engine then runs as many packs at a time as its
    capabilities say."""

    def __init__(self, folder: Path, answers: TextIO) -> None:
        self._folder, self._answers, self._lock = folder, answers, threading.Lock()
        self._programs: Mapping[str, Program] = {}
        self._engines: dict[str, Engine] = {}
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._checker: Checker | None = None

    def serve(self, request: dict[str, Any]) -> None:
        if "run" in request:
            self._pools[request["run"]].submit(self._answer_to, self._run, request)
        else:
            kind = next(name for name in ("open", "lacks", "tell", "check") if name in request)
            self._answer_to(getattr(self, f"_{kind}"), request)

    def _answer_to(self, serve: Callable[[dict[str, Any]], dict[str, Any]], request: dict[str, Any]) -> None:
        """Answers a request: what it gives, or why it gives nothing."""
        try:
            answer = serve(request)
        except EngineGone as error:
            traceback.print_exc()
            self._answer(request["number"], gone=str(error))
            os._exit(1)  # the next engine gets another process
        except Exception as error:
            answer = {"failed": _one_line(error), "cannot": _one_line(error)}
            if isinstance(error, NotDriven):
                answer["not_driven"] = str(error)
            elif isinstance(error, CannotRun):
                answer["cannot"] = str(error)
            else:
                traceback.print_exc()
        self._answer(request["number"], **answer)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.shutdown()
        for engine in self._engines.values():
            engine.close()
        if self._checker:
            self._checker.close()

    def _answer(self, number: int, **fields: Any) -> None:
        with self._lock:
            self._answers.write(json.dumps({"number": number, **fields}) + "\n")
            self._answers.flush()

    def _prepare(self, request: dict[str, Any]) -> None:
        """Take the user's files and settings from a request."""
        configure(request["settings"])
        if not self._programs or tuple(request["load"]) != asked():
            ask_for(request["load"])
            self._programs = programs_of(load_scenarios())

    def _open(self, request: dict[str, Any]) -> dict[str, Any]:
        name = request["open"]
        self._prepare(request)
        engine = load_engine(name)
        engine.check()
        self._engines[name] = engine
        engine.open(self._folder)
        self._pools[name] = ThreadPoolExecutor(engine.capabilities.threads)
        return {"environment": engine.environment(), "lacks": lacks_of(engine)}

    def _lacks(self, request: dict[str, Any]) -> dict[str, Any]:
        self._prepare(request)
        return {"lacks": lacks_of(load_engine(request["lacks"]))}

    def _tell(self, request: dict[str, Any]) -> dict[str, Any]:
        """What an open engine says of itself: "evidence" of what it lacks, or "answers" to the queries that it may
        refuse."""
        engine = self._engines[request["of"]]
        if request["tell"] == "evidence":
            return {"told": {feature.name: text for feature, text in engine.evidence().items()}}
        return {"told": dict(engine.answers()) if isinstance(engine, Questioned) else {}}

    def _check(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._checker is None:
            self._prepare(request)
            checker = load_checker(request["check"])
            checker.check()
            checker.open(self._folder)
            self._checker = checker
        batch = request["batch"]
        self._checker.run(Batch(**batch | {name: tuple(batch[name]) for name in ("programs", "load")}))
        return {"done": True}

    def _run(self, request: dict[str, Any]) -> dict[str, Any]:
        pack = Pack(tuple(tables.cases_of(tables.receive(Path(request["pack"])))))
        run = self._run_part(self._engines[request["run"]], pack, request["part"], Path(request["carried"]))
        tables.send(Path(request["out"]), tables.pack_run_table(pack, run))
        return {"done": True}

    def _run_part(self, engine: Engine, pack: Pack, part: str, carried: Path) -> PackRun:
        if not part:
            return engine.run(pack, self._programs)
        assert isinstance(engine, Resumable)
        if part == "resume":
            return engine.resume(pack, self._programs, carried)
        engine.begin(pack, self._programs, carried)
        return PackRun()


def main(folder: Path) -> None:
    worker = Worker(folder, private_stdout())
    try:
        for line in sys.stdin:
            worker.serve(json.loads(line))
    finally:
        worker.close()


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:500]


if __name__ == "__main__":
    main(Path(sys.argv[1]))

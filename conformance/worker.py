"""The process that engines run in: ``python -m conformance.worker FOLDER``.

It reads requests from standard input and answers on standard output, one JSON object a line with the request's number;
cases and traces travel as Arrow files. Whatever an engine itself prints goes to standard error, which the runner keeps as the log.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TextIO

from conformance import tables
from conformance.engine import CannotRun, Engine, EngineGone, NotDriven
from conformance.guarantees import programs_of
from conformance.judging import Batch, Checker
from conformance.model import Pack, PackRun
from conformance.registry import load_checker, load_engine, load_scenarios


class Worker:
    """Serves requests: an engine is opened once, and then runs packs, as many at a time as it says."""

    def __init__(self, folder: Path, answers: TextIO) -> None:
        self._folder, self._answers, self._lock = folder, answers, threading.Lock()
        self._programs = programs_of(load_scenarios())
        self._engines: dict[str, Engine] = {}
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._checker: Checker | None = None

    def serve(self, request: dict[str, Any]) -> None:
        if "open" in request:
            self._open(request["number"], request["open"])
        elif "lacks" in request:
            self._answer(request["number"], lacks=_lacks(load_engine(request["lacks"])))
        elif "check" in request:
            self._check(request)
        else:
            self._pools[request["run"]].submit(self._run, request)

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

    def _open(self, number: int, name: str) -> None:
        try:
            engine = load_engine(name)
            engine.check()
            self._engines[name] = engine
            engine.open(self._folder)
            self._pools[name] = ThreadPoolExecutor(max_workers=engine.capabilities.parallel)
            lacks = _lacks(engine)
            evidence = {} if lacks else {feature.name: text for feature, text in engine.evidence().items()}
            self._answer(number, environment=engine.environment(), evidence=evidence, lacks=lacks)
        except CannotRun as error:
            self._answer(number, cannot=str(error))
        except Exception as error:
            traceback.print_exc()
            self._answer(number, cannot=_one_line(error))

    def _check(self, request: dict[str, Any]) -> None:
        number = request.pop("number")
        try:
            if self._checker is None:
                checker = load_checker(request.pop("check"))
                checker.check()
                checker.open(self._folder)
                self._checker = checker
            self._checker.run(Batch(**request["batch"]))
        except Exception as error:
            traceback.print_exc()
            self._answer(number, failed=_one_line(error))
        else:
            self._answer(number, done=True)

    def _run(self, request: dict[str, Any]) -> None:
        number = request["number"]
        try:
            pack = Pack(tuple(tables.cases_of(tables.receive(Path(request["pack"])))))
            engine: Any = self._engines[request["run"]]
            if request["part"] == "begin":
                engine.begin(pack, self._programs, Path(request["carried"]))
                run = PackRun()
            elif request["part"] == "resume":
                run = engine.resume(pack, self._programs, Path(request["carried"]))
            else:
                run = engine.run(pack, self._programs)
            tables.send(Path(request["out"]), tables.pack_run_table(pack, run))
        except NotDriven as error:
            self._answer(number, not_driven=str(error))
        except EngineGone as error:
            traceback.print_exc()
            self._answer(number, gone=str(error))
            os._exit(1)  # the next engine gets another process
        except Exception as error:
            traceback.print_exc()
            self._answer(number, failed=_one_line(error))
        else:
            self._answer(number, done=True)


def main(folder: Path) -> None:
    worker = Worker(folder, _private_stdout())
    try:
        for line in sys.stdin:
            worker.serve(json.loads(line))
    finally:
        worker.close()


def _private_stdout() -> TextIO:
    """Keep standard output for answers: engines and their child processes get standard error in its place."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _lacks(engine: Engine) -> str:
    """What the installed release lacks for an engine, "" where nothing."""
    lacks: str = getattr(engine, "lacks", str)()
    return lacks


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:500]


if __name__ == "__main__":
    main(Path(sys.argv[1]))

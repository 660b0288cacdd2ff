"""The process that one engine runs in: ``python -m conformance.worker ENGINE FOLDER``.

It reads requests from standard input and answers on standard output, one JSON object a line with the request's number;
cases and traces travel as files. Whatever an engine itself prints goes to standard error, which the runner keeps as the engine's log.
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

from conformance.engine import CannotRun, NotDriven
from conformance.guarantees import programs_of
from conformance.model import Case, Pack
from conformance.registry import load_engine, load_scenarios


def main(engine_id: str, folder: Path) -> None:
    answers, lock = _private_stdout(), threading.Lock()

    def answer(number: int, **fields: Any) -> None:
        with lock:
            answers.write(json.dumps({"number": number, **fields}) + "\n")
            answers.flush()

    engine = load_engine(engine_id)
    programs = programs_of(load_scenarios())

    def serve(request: dict[str, Any]) -> None:
        number = request["number"]
        try:
            pack = Pack(tuple(Case.from_json(case) for case in json.loads(Path(request["pack"]).read_text())))
            run = engine.run(pack, programs)
            Path(request["out"]).write_text(json.dumps(run.to_json()))
        except NotDriven as error:
            answer(number, not_driven=str(error))
        except Exception as error:
            traceback.print_exc()
            answer(number, failed=_one_line(error))
        else:
            answer(number, done=True)

    try:
        engine.check()
        engine.open(folder)
        evidence = {feature.name: text for feature, text in engine.evidence().items()}
        answer(0, ready=True, environment=engine.environment(), evidence=evidence)
        with ThreadPoolExecutor(max_workers=engine.capabilities.parallel) as pool:
            for line in sys.stdin:
                pool.submit(serve, json.loads(line))
    except CannotRun as error:
        answer(0, cannot=str(error))
    except Exception as error:
        traceback.print_exc()
        answer(0, cannot=_one_line(error))
    finally:
        engine.close()


def _private_stdout() -> TextIO:
    """Keep standard output for answers: engines and their child processes get standard error in its place."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:500]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

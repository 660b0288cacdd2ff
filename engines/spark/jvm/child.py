"""The Python process beside an executor that runs neutral programs for Bridge.java.

``python -m conformance.engines.spark.jvm.child`` starts it.

Frames (length, bytes) come on standard input and go to standard output; all but a job's programs are JSON. Within a
call the process may ask for calls on Spark's state, and waits for each.
"""

import json
import os
import pickle
import struct
import sys
import threading
import time
import traceback
from collections.abc import Iterable
from typing import Any, BinaryIO

from conformance.engines.spark.jvm.crossing import back, there
from conformance.engines.spark.operators.groups_operator import GroupsOperator
from conformance.engines.spark.operators.operator import GROUP, NO_EMISSION, In, Key, Out, nonce
from conformance.engines.spark.operators.tws_operator import TwsOperator, variables
from conformance.engines.spark.operators.tws_operator import Variable as Declared
from conformance.engines.spark.state.typed_groups import state_type
from conformance.engines.spark.state.typed_keys import NONE, Columns, taken
from conformance.model.types import String, Struct

KEPT = 8
"""How many jobs' programs are kept. Some jobs run side by side; none returns once it has ended."""


class Pipe:
    """Frames to and from the JVM."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source, self._sink = source, sink

    def read(self) -> bytes:
        """The next frame. Raises EOFError where the JVM has gone."""
        head = self._source.read(4)
        if len(head) < 4:
            raise EOFError
        (length,) = struct.unpack(">i", head)
        return self._source.read(length)

    def write(self, answer: Any) -> None:
        frame = json.dumps(answer).encode()
        self._sink.write(struct.pack(">i", len(frame)) + frame)
        self._sink.flush()

    def ask(self, target: str, method: str, *arguments: Any) -> Any:
        """Have the JVM call a method of its state. Raises RuntimeError with what the JVM's call failed with."""
        self.write({"do": [target, method, *arguments]})
        answer = json.loads(self.read())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]


TEXT = Struct((("text", String()),))
"""A row of JSON text."""


class Variable:
    """A state variable behind the pipe, with the methods of PySpark's, which give and get rows."""

    def __init__(self, pipe: Pipe, declared: Declared) -> None:
        self._pipe, self._name, self._many = pipe, declared.name, declared.kind == "list"
        rows = [kind if isinstance(kind, Struct) else Struct((("v", kind),)) for kind in declared.types]
        self._types = rows or [TEXT for _ in declared.schemas]

    def __getattr__(self, method: str) -> Any:
        def call(*arguments: Any) -> Any:
            told = [
                [there(kind, each) for each in row] if isinstance(row, list) else there(kind, row)
                for kind, row in zip(self._types, arguments, strict=False)
            ]
            result = self._pipe.ask(self._name, method, *told)
            *_, kind = self._types
            if method == "iterator":
                return iter([(back(self._types[0], key), back(kind, value)) for key, value in result])
            if method == "get" and self._many:
                return iter([back(kind, row) for row in result])
            return back(kind, result)

        return call


class Handle:
    """A StatefulProcessorHandle behind the pipe. The JVM declares the variables itself."""

    def __init__(self, pipe: Pipe, declared: Iterable[Declared]) -> None:
        self._pipe = pipe
        self._declared = {variable.name: variable for variable in declared}

    def getValueState(self, name: str, *declared: object) -> Variable:
        return Variable(self._pipe, self._declared[name])

    getListState = getMapState = getValueState

    def registerTimer(self, time: int) -> None:
        self._pipe.ask("", "registerTimer", time)

    def deleteTimer(self, time: int) -> None:
        self._pipe.ask("", "deleteTimer", time)


class Group:
    """A GroupState behind the pipe."""

    def __init__(self, pipe: Pipe, request: dict[str, Any], state: Struct) -> None:
        self._pipe, self._type, self._watermark = pipe, state, request["watermark"]
        self._told = request["state"]
        self.hasTimedOut, self._now = request["timed_out"], request["now"]

    @property
    def exists(self) -> bool:
        return self._told is not None

    @property
    def get(self) -> Any:
        """The state as the JVM has told it: what the program does to an earlier answer changes nothing."""
        return back(self._type, self._told)

    def getCurrentWatermarkMs(self) -> int:
        """-1 in a batch query, as transformWithState says there (Spark 4.3.0)."""
        return -1 if self._watermark is None else int(self._watermark)

    def getCurrentProcessingTimeMs(self) -> int:
        return self._now

    def update(self, value: tuple[Any, ...]) -> None:
        self._told = self._pipe.ask("", "update", there(self._type, value))

    def remove(self) -> None:
        self._pipe.ask("", "remove")
        self._told = None

    def setTimeoutTimestamp(self, time: int) -> None:
        self._pipe.ask("", "setTimeoutTimestamp", time)

    def setTimeoutDuration(self, ms: int) -> None:
        self._pipe.ask("", "setTimeoutDuration", ms)


class Server:
    """Serves calls, of one task at a time."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._jobs: dict[str, Any] = {}
        self._task: tuple[str, int] | None = None
        self._operator: Any = None
        self._typed: Columns = NONE
        self._state = state_type({})

    def serve(self, request: dict[str, Any]) -> list[Out]:
        operator = self._operator_of(request)
        key = self._key(request["key"])
        if request["kind"] == "tws" and "time" in request:
            return list(operator.on_timer(key, request["time"], request["now"]))
        rows = [In(*row) for row in request["rows"]]
        if "initial" in request:
            for row in rows:
                operator.on_initial(key, row)
            return []
        if request["kind"] == "tws":
            return list(operator.on_rows(key, rows, request["now"]))
        outputs = list(operator.on_call(key, rows, Group(self._pipe, request, self._state)))
        return outputs if request["kind"] == "groups" else [_one(outputs)]

    def _key(self, told: Any) -> Key:
        """A grouping key: JSON text, or a row with the columns of typed keys."""
        if isinstance(told, str):
            named = json.loads(told)
            return named["program"], named["case"], named["key"], named["window"]
        plain, values = told[: len(GROUP)], told[len(GROUP) :]
        typed = [back(kind, value) for kind, value in zip(self._typed.values(), values, strict=True)]
        return taken((*plain, *typed), self._typed)

    def _operator_of(self, request: dict[str, Any]) -> Any:
        """The operator of the task that asks. Each attempt has its own, which knows what the attempt has written."""
        task = request["job"], request["task"]
        if task != self._task:
            programs, failure, self._typed = self._programs(request["job"])

            def attempt() -> tuple[int, int]:
                return request["partition"], request["attempt"]

            if request["kind"] == "tws":
                self._operator = TwsOperator(
                    programs, failure, Handle(self._pipe, variables(programs).values()), attempt
                )
            else:
                self._state = state_type(programs)
                self._operator = GroupsOperator(programs, failure, attempt)
            self._task = task
        return self._operator

    def _programs(self, job: str) -> Any:
        if job not in self._jobs:
            self._pipe.write({"load": True})
            self._jobs[job] = pickle.loads(self._pipe.read())
            for old in list(self._jobs)[:-KEPT]:
                del self._jobs[old]
        return self._jobs[job]


def _one(outputs: Iterable[Out]) -> Out:
    """What mapGroupsWithState puts out, a row per call: the last emission, with the receipt. Without any, an empty
    row."""
    emission = receipt = None
    for out in outputs:
        if out.received is None:
            emission = out
        else:
            receipt = out
    if emission and receipt:
        return emission._replace(received=receipt.received, partitions=receipt.partitions)
    return emission or receipt or Out(NO_EMISSION, "", "", "", None, nonce=nonce())


def _end_with_parent() -> None:
    """An executor that is killed takes its programs along, even one that never returns."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    _end_with_parent()
    pipe = Pipe(sys.stdin.buffer, os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # what a program prints goes to the log
    server = Server(pipe)
    while True:
        try:
            request = json.loads(pipe.read())
        except EOFError:
            return
        try:
            pipe.write({"out": server.serve(request)})
        except EOFError:
            return
        except Exception:
            pipe.write({"error": traceback.format_exc()})


if __name__ == "__main__":
    main()

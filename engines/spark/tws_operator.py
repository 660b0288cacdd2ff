"""The operator of row-based transformWithState that runs neutral programs. Imported where Spark's Python workers run."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from conformance.model import Event, Json
from conformance.program import Cell, EngineFault, Output, Program, State, Timer, call, check_timer
from engines.spark.driving import HEARTBEAT, SENTINEL

OUTPUT = (
    "program string, case string, key string, step long, value string, emitted_at long, error string, "
    "received long, nonce string"
)
"""An emission, or (where ``received`` is set) how many rows of a step a call was handed, with the input partitions that
they came from as ``value``. ``step`` is null for a timer's output. ``nonce`` tells a row that was put out once and read
twice from one that was put out twice."""

INJECTED = "this failure was asked for"

READS = frozenset({"get", "exists", "getValue", "containsKey", "iterator", "keys", "values"})
"""The methods of state variables that write nothing."""


class Guarded:
    """A state variable of Spark whose failures are told apart from the program's own exceptions. ``on_write`` is called
    after each write."""

    def __init__(self, variable: Any, on_write: Callable[[], None] = lambda: None) -> None:
        self._variable, self._on_write = variable, on_write

    def __call__(self, method: str, *arguments: Any) -> Any:
        try:
            result = getattr(self._variable, method)(*arguments)
        except Exception as error:
            raise EngineFault(f"{method}: {type(error).__name__}: {error}") from error
        if method not in READS:
            self._on_write()
        return list(result) if isinstance(result, Iterator) else result


class Value:
    """ValueState of JSON text."""

    def __init__(self, state: Guarded) -> None:
        self._state = state

    def get(self, default: Json = None) -> Json:
        stored = self._state("get")
        return default if stored is None else json.loads(stored[0])

    def set(self, value: Json) -> None:
        self._state("update", (json.dumps(value),))

    def clear(self) -> None:
        self._state("clear")


class Combining:
    """No such state in Spark: a sum kept in a ValueState."""

    def __init__(self, state: Guarded) -> None:
        self._value = Value(state)

    def add(self, value: int) -> None:
        self._value.set(self.get() + value)

    def get(self) -> int:
        total: int = self._value.get(0)
        return total

    def clear(self) -> None:
        self._value.clear()


class Bag:
    """ListState of JSON texts."""

    def __init__(self, state: Guarded) -> None:
        self._state = state

    def add(self, value: Json) -> None:
        self._state("appendValue", (json.dumps(value),))

    def get(self) -> list[Json]:
        return [json.loads(stored[0]) for stored in self._state("get")]

    def clear(self) -> None:
        self._state("clear")


class Map:
    """MapState from text to JSON text."""

    def __init__(self, state: Guarded) -> None:
        self._state = state

    def get(self, key: str, default: Json = None) -> Json:
        stored = self._state("getValue", (key,))
        return default if stored is None else json.loads(stored[0])

    def put(self, key: str, value: Json) -> None:
        self._state("updateValue", (key,), (json.dumps(value),))

    def remove(self, key: str) -> None:
        self._state("removeKey", (key,))

    def items(self) -> list[tuple[str, Json]]:
        return [(key[0], json.loads(value[0])) for key, value in self._state("iterator")]

    def clear(self) -> None:
        self._state("clear")


class Set:
    """No such state in Spark: the keys of a MapState."""

    def __init__(self, state: Guarded) -> None:
        self._map = Map(state)

    def add(self, value: str) -> None:
        self._map.put(value, None)

    def get(self) -> list[str]:
        return [key for key, _ in self._map.items()]

    def clear(self) -> None:
        self._map.clear()


CELLS: Mapping[Cell, type] = {
    Cell.VALUE: Value,
    Cell.BAG: Bag,
    Cell.MAP: Map,
    Cell.SET: Set,
    Cell.COMBINING: Combining,
}


class NamedTimers:
    """Names for timers, which transformWithState knows by their time alone (Spark 4.3.0).

    A MapState (name and tag -> time) says which timers are set. Two that share an instant share Spark's timer, which
    is deleted when the last of them goes.
    """

    def __init__(self, handle: Guarded, times: Map, declared: tuple[str, ...]) -> None:
        self._handle, self._times, self._declared = handle, times, declared

    def set(self, name: str, time: int, tag: str = "") -> None:
        self.clear(name, tag)
        self._times.put(f"{name}/{tag}", time)
        self._handle("registerTimer", time)

    def clear(self, name: str, tag: str = "") -> None:
        check_timer(self._declared, name)
        before = self._times.get(f"{name}/{tag}")
        if before is not None:
            self._times.remove(f"{name}/{tag}")
            if all(time != before for _, time in self._times.items()):
                self._handle("deleteTimer", before)

    def due(self, time: int) -> list[tuple[str, str]]:
        """(name, tag) of the timers set for ``time``."""
        found = [name.partition("/") for name, due in self._times.items() if due == time]
        return [(name, tag) for name, _, tag in found]

    def take(self, name: str, tag: str, time: int) -> bool:
        """Unset a timer that is about to fire; False where another's callback has cleared or moved it meanwhile."""
        if self._times.get(f"{name}/{tag}") != time:
            return False
        self._times.remove(f"{name}/{tag}")
        return True


def _nonce() -> str:
    return os.urandom(8).hex()


@dataclass(frozen=True)
class Failure:
    """How sentinel rows of ``step`` fail: in the first attempt of their task, or in every one of this query. They leave
    the cases that had written state in ``folder``."""

    step: int
    every_attempt: bool
    folder: Path


class NeutralProcessor(StatefulProcessor):
    """Runs the program that a row's key names, on cells declared for all programs of the pack."""

    def __init__(self, programs: Mapping[str, Program], failure: Failure | None = None) -> None:
        self._programs, self._failure = programs, failure

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._case, self._touched = "", set[str]()
        self._handle = Guarded(handle)
        self._states: dict[str, State] = {}
        self._timers: dict[str, NamedTimers] = {}
        for number, (name, program) in enumerate(sorted(self._programs.items())):
            self._states[name] = State(
                {cell: CELLS[kind](self._variable(kind, f"p{number}_{cell}")) for cell, kind in program.cells.items()}
            )
            if program.timers:
                times = Map(self._variable(Cell.MAP, f"p{number}__timers"))
                self._timers[name] = NamedTimers(self._handle, times, program.timers)

    def _variable(self, kind: Cell, name: str) -> Guarded:
        if kind is Cell.BAG:
            variable = self._handle("getListState", name, "v string")
        elif kind in (Cell.MAP, Cell.SET):
            variable = self._handle("getMapState", name, "k string", "v string")
        else:
            variable = self._handle("getValueState", name, "v string")
        return Guarded(variable, lambda: self._touched.add(self._case))

    def _fail(self, step: int) -> None:
        failure = self._failure
        if failure and failure.step == step:
            attempt = TaskContext.get()
            assert attempt
            if failure.every_attempt or attempt.attemptNumber() == 0:
                failure.folder.mkdir(exist_ok=True)
                name = f"{attempt.partitionId()}-{attempt.attemptNumber()}.json"
                (failure.folder / name).write_text(json.dumps(sorted(self._touched)))
                raise RuntimeError(INJECTED)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        program, case, user_key, _ = key
        if program == SENTINEL:
            for row in rows:
                self._fail(row.step)
            return
        received: Counter[int] = Counter()
        partitions: dict[int, set[int]] = {}
        for row in rows:
            if program == HEARTBEAT:
                continue
            received[row.step] += 1
            partitions.setdefault(row.step, set()).add(row.partition)
            event = Event(row.id, user_key, json.loads(row.value), round(row.event_time.timestamp() * 1000))
            yield from self._emissions(key, self._call(key, "on_event", event), row.step)
        for step, count in received.items():
            yield Row(
                program=program,
                case=case,
                key=user_key,
                step=step,
                value=json.dumps(sorted(partitions[step])),
                emitted_at=None,
                error=None,
                received=count,
                nonce=_nonce(),
            )

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        program, _, user_key, _ = key
        time = expiredTimerInfo.getExpiryTimeInMs()
        timers = self._timers[program]
        due = timers.due(time)
        if not due:  # Spark fires what the program cleared: the program gets to see it
            stray = Timer(self._programs[program].timers[0], "", user_key, time)
            yield from self._emissions(key, self._call(key, "on_timer", stray), None)
        for name, tag in due:
            if timers.take(name, tag, time):
                yield from self._emissions(key, self._call(key, "on_timer", Timer(name, tag, user_key, time)), None)

    def _call(self, key: Any, callback: str, subject: Event | Timer) -> list[Output]:
        program, self._case = key[0], key[1]
        try:
            timers = self._timers.get(program) or NamedTimers(self._handle, Map(self._handle), ())
            return call(getattr(self._programs[program], callback), subject, self._states[program], timers)
        except EngineFault as fault:
            raise EngineFault(f"[case {key[1]}] {fault}") from fault

    def _emissions(self, key: Any, outputs: list[Output], step: int | None) -> Iterator[Row]:
        program, case, user_key, _ = key
        for o in outputs:
            value = json.dumps(o.value)
            yield Row(
                program=program,
                case=case,
                key=user_key,
                step=step,
                value=value,
                emitted_at=o.event_time,
                error=o.error,
                received=None,
                nonce=_nonce(),
            )

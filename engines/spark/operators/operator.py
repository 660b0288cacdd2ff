"""What the operators of all APIs do with a call: run the program that the row's key names, say what was received, and
fail where that was asked for. Imported where Spark's Python workers run."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from conformance.engines.failing import INJECTED, SENTINEL
from conformance.engines.spark.state.typed_keys import Columns
from conformance.model.keys import seen
from conformance.model.program import EngineFault, JobKind, Output, Program, State, Timer, Timers, call
from conformance.model.schedule import Event
from conformance.model.values import Json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HEARTBEAT = ""
"""The program name of heartbeat rows: they bypass the programs."""

Key = tuple[str, str, Any, int]
"""(program, case, key, window): what rows are grouped by. The key is a text, or a TypedKey with the value that the
engine handed over."""

KEY = "key"

GROUP = ("program", "case", KEY, "window")
"""The columns of a key."""


class In(NamedTuple):
    """An input row. ``time`` is ms since the epoch; ``partition`` is the input partition it was read in."""

    step: int
    id: str
    value: str
    time: int
    partition: int


NO_EMISSION = ""
"""The ``value`` of an output row that is no emission: no JSON text."""


class Out(NamedTuple):
    """An output row: an emission (``value`` is JSON text, or None for a null), or how many rows of a step a call was
    handed (``received``) and the input partitions that they came from, or both. The first column is the one that can be
    null in any row of a user's: Spark 3.4.1 takes such rows for none. ``step`` is None for a timer's output. ``nonce``
    tells a row that was put out once and read twice from one that was put out twice. A row without one, from an
    operator of Spark's own, was read once."""

    value: str | None
    program: str
    case: str
    key: str
    step: int | None
    emitted_at: int | None = None
    error: str | None = None
    received: int | None = None
    partitions: str | None = None
    nonce: str = ""


OUTPUT = (
    "value string, program string, case string, key string, step long, emitted_at long, error string, "
    "received long, partitions string, nonce string"
)
"""The schema of ``Out``."""

TIMED = f"{OUTPUT}, time timestamp, batch long"
"""The schema of output rows with an event time, the millisecond after the watermark, and the number of their
micro-batch."""


MORE = "more"

WIDER = f"{OUTPUT}, {MORE} string"
"""The schema of output rows with a column that no program fills."""


def emitted(value: str | None) -> Json:
    """What an output row that is an emission puts out."""
    return None if value is None else json.loads(value)


@dataclass(frozen=True)
class Failure:
    """How sentinel rows of ``step`` fail: in the first attempt of their task, or in every one of this query. They leave
    the cases that had written state in ``folder``."""

    step: int
    every_attempt: bool
    folder: Path


@dataclass(frozen=True)
class OperatorInput:
    """What an API's operator is applied to.

    Attributes:
        stream: input rows, as ``layouts.Layout`` reads them.
        programs: "scenario/program" -> the program.
        failure: how an attempt is to fail; None where none is.
        initial: rows like those of the stream, of the keys that start with state; None where none does.
        typed: the columns of typed keys (``typed_keys``), which rows are grouped by as well.
        timed: the operator puts out rows of TIMED, and declares their event time.
        change: the change that made the programs next versions, "" where they are not.
        key: the name of the column that GROUP has as KEY.
        output: the schema of the output rows, where they are not timed.
    """

    stream: DataFrame
    programs: Mapping[str, Program]
    failure: Failure | None
    initial: DataFrame | None = None
    typed: Columns = field(default_factory=dict)
    timed: bool = False
    change: str = ""
    key: str = KEY
    output: str = OUTPUT

    @property
    def group(self) -> tuple[str, ...]:
        """The columns that rows are grouped by."""
        return (*(self.key if name == KEY else name for name in GROUP), *self.typed)

    @property
    def more(self) -> bool:
        """Whether output rows have the column MORE."""
        return self.output == WIDER

    @property
    def keyed_by_row(self) -> bool:
        """Whether the columns of a key are told apart where the API has one value for a key."""
        return bool(self.typed) or any(program.job is JobKind.NEXT_VERSION for program in self.programs.values())


class Operator:
    """Runs programs by name. ``attempt`` gives the partition and the number of the task's attempt at hand."""

    def __init__(
        self, programs: Mapping[str, Program], failure: Failure | None, attempt: Callable[[], tuple[int, int]]
    ) -> None:
        self.programs, self._failure, self._attempt = programs, failure, attempt
        self._case, self._touched = "", set[str]()

    def wrote(self) -> None:
        """The case at hand has written state."""
        self._touched.add(self._case)

    def on_rows(self, key: Key, rows: Iterable[In], state: Any, timers: Any) -> Iterator[Out]:
        """What a call with rows of one key puts out: emissions, and last the receipt for its rows."""
        program, case, user_key, _ = key
        if program == SENTINEL:
            for row in rows:
                self._fail(row.step)
            return
        received, step, partitions = 0, 0, set[int]()
        for row in rows:
            if program == HEARTBEAT:
                continue
            received, step = received + 1, row.step
            partitions.add(row.partition)
            event = Event(row.id, seen(user_key), json.loads(row.value), row.time)
            yield from self.outputs(key, row.step, self.call(key, "on_event", event, state, timers))
        if received:
            found, name = json.dumps(sorted(partitions)), self.programs[program].key_name(user_key)
            yield Out(NO_EMISSION, program, case, name, step, received=received, partitions=found, nonce=nonce())

    def on_timer(self, key: Key, timer: Timer, state: Any, timers: Any) -> Iterator[Out]:
        """What a timer's callback puts out."""
        return self.outputs(key, None, self.call(key, "on_timer", timer, state, timers))

    def call(self, key: Key, callback: str, subject: Event | Timer, state: State, timers: Timers) -> list[Output]:
        program, self._case = key[0], key[1]
        with faults_of(self._case):
            return call(getattr(self.programs[program], callback), subject, state, timers)

    def outputs(self, key: Key, step: int | None, outputs: Iterable[Output]) -> Iterator[Out]:
        program, case, user_key, _ = key
        name = self.programs[program].key_name(user_key)
        for o in outputs:
            value = None if o.value is None and not o.error else json.dumps(o.value)
            yield Out(value, program, case, name, step, o.event_time, o.error, nonce=nonce())

    def _fail(self, step: int) -> None:
        failure = self._failure
        if failure and failure.step == step:
            partition, attempt = self._attempt()
            if failure.every_attempt or attempt == 0:
                failure.folder.mkdir(exist_ok=True)
                (failure.folder / f"{partition}-{attempt}.json").write_text(json.dumps(sorted(self._touched)))
                raise RuntimeError(INJECTED)


class faults_of:
    """Within this context, a fault of the engine names the case in whose call it happened."""

    def __init__(self, case: str) -> None:
        self._case = case

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, fault: BaseException | None, traceback: object) -> None:
        if isinstance(fault, EngineFault) and not str(fault).startswith("[case "):
            raise EngineFault(f"[case {self._case}] {fault}") from fault


def millis(time: datetime) -> int:
    """A row's time in ms since the epoch."""
    return round(time.timestamp() * 1000)


def task_attempt() -> tuple[int, int]:
    """The partition and the attempt of the task that this Python worker serves."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context
    return context.partitionId(), context.attemptNumber()


def batch() -> int:
    """The number of the micro-batch that this Python worker serves."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context
    return int(context.getLocalProperty("streaming.sql.batchId") or -1)


def nonce() -> str:
    """A text that no other row has. That of a row that is put out later is greater."""
    return f"{time.monotonic_ns():016x}{os.urandom(4).hex()}"

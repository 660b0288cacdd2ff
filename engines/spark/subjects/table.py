"""A sink of the user's own: ``sink(frame, batch_id, folder)`` takes each micro-batch, as ``foreachBatch`` does, and
``table(spark, folder)`` says what is there at the end, as a DataFrame or as dicts. The folder is the run's own. The
answer is all that is there."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.failing import INJECTED
from conformance.engines.spark.runtime import running
from conformance.subjects.answers import Answer, told
from conformance.subjects.questions import NotAsked, Question, Run, filled
from conformance.subjects.schema import InvalidSubject
from conformance.subjects.scripts import stops
from conformance.subjects.setup import SHOWING, Setup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from conformance.subjects.questions import Asked
    from conformance.subjects.subject import Subject

ARGUMENTS = {"sink": "(frame, batch_id, folder)", "table": "(spark, folder)"}
"""What the user's functions are called with."""

OPTIONS = tuple(ARGUMENTS)

NOT_ASKED: Mapping[str, str] = {
    "retry": "a sink of its own is no part of the tasks that fail",
    "connect": "a sink of its own runs in a classic session",
    "next": "what its own sink has of the version before is not told from what the next one puts out",
}
"""Question -> why it is not asked of a subject with a sink of its own."""

LINES = 6
"""The most lines before which a sink fails in a round."""


@dataclass(frozen=True)
class Table:
    """A user's own sink, in the folder of a run."""

    write: Callable[..., Any]
    read: Callable[..., Any]
    folder: str

    def take(self, frame: DataFrame, batch: int) -> list[Any]:
        try:
            self.write(frame, batch, self.folder)
        except Exception as error:
            print(traceback.format_exc(), flush=True)  # for the log: what Spark is told has the last line alone
            raise RuntimeError(f"the sink raised {type(error).__name__}: {error}") from None
        return []

    def failing(self, line: int, first: int) -> running.Take:
        """``take``, which fails once in the first micro-batch from ``first`` on that has rows: before a line of the
        user's function, or SHOWING, behind it."""
        failed: list[int] = []

        def take(frame: DataFrame, batch: int) -> list[Any]:
            if failed or batch < first or frame.isEmpty():
                return self.take(frame, batch)
            failed.append(batch)
            if stops(line, _code(self.write), lambda: self.take(frame, batch)) or line == SHOWING:
                raise RuntimeError(INJECTED)
            return []

        return take

    def rows(self, spark: SparkSession) -> Answer:
        """All that is there; none before anything was written. Raises TypeError for no DataFrame and no dicts."""
        if not Path(self.folder).exists():
            return ()
        there = self.read(spark, self.folder)
        if hasattr(there, "sparkSession"):
            there = running.collected(there)
        rows = told([*there]) if isinstance(there, list | tuple | set | Iterator) else [there]
        if odd := [row for row in rows if not isinstance(row, dict)]:
            raise TypeError(f"table{ARGUMENTS['table']} gives a DataFrame or dicts, not {odd[0]!r:.40}")
        return tuple(rows)


def table_of(subject: Subject, folder: Path) -> Table | None:
    """The sink of a subject's own, if it has one. Raises InvalidSubject."""
    write, read = (subject.options.get(name) for name in OPTIONS)
    if write is read is None:
        return None
    if not (callable(write) and callable(read)):
        raise InvalidSubject(
            f"subject {subject.name}: give two functions: sink(frame, batch_id, folder) writes a micro-batch to the "
            "folder, and table(spark, folder) gives what is there, as a DataFrame or as dicts"
        )
    for name, function in zip(OPTIONS, (write, read), strict=True):
        try:
            inspect.signature(function).bind(*ARGUMENTS[name].split(", "))
        except TypeError:
            raise InvalidSubject(f"subject {subject.name}: {name} is called as {name}{ARGUMENTS[name]}") from None
        except ValueError:  # a function that does not tell
            continue
    return Table(write, read, str(folder / "table"))


def _code(function: Callable[..., Any]) -> Any:
    """The code of a function that may be decorated; None for what is no function of Python's."""
    return getattr(inspect.unwrap(function), "__code__", None)


def _midway(asked: Asked) -> Iterator[Run]:
    write = asked.subject.options.get("sink")
    if write is None:
        raise NotAsked("the subject has no sink of its own")
    code = _code(write)
    lines = sorted({line for *_, line in code.co_lines() if line and line > code.co_firstlineno}) if code else []
    if not lines[1:]:
        raise NotAsked("its sink has no two lines that are known")
    first, *others = filled(asked)
    at = asked.random.choice(others or [first])
    for line in asked.random.sample(lines[1:], min(LINES, len(lines) - 1)):
        yield Run(asked.delivery, Setup(fails=at, breaks=line))


MIDWAY = Question(
    "midway",
    "A sink of its own that fails between two of its lines, and gets the micro-batch again, ends with the same.",
    _midway,
)

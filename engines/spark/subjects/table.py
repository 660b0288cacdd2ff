"""A sink of the user's own: ``sink(frame, batch_id, folder)`` takes each micro-batch, as ``foreachBatch`` does, and
``table(spark, folder)`` says what is there at the end, as a DataFrame or as dicts. The folder is the run's own. The
answer is all that is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.engines.spark.runtime import running
from conformance.subjects.answers import Answer, told
from conformance.subjects.schema import InvalidSubject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from conformance.subjects.subject import Subject

OPTIONS = ("sink", "table")

NOT_ASKED: Mapping[str, str] = {
    "retry": "a sink of its own is no part of the tasks that fail",
    "connect": "a sink of its own runs in a classic session",
    "next": "what its own sink has of the version before is not told from what the next one puts out",
}
"""Question -> why it is not asked of a subject with a sink of its own."""


@dataclass(frozen=True)
class Table:
    """A user's own sink, in the folder of a run."""

    write: Callable[..., Any]
    read: Callable[..., Any]
    folder: str

    def take(self, frame: DataFrame, batch: int) -> list[Any]:
        self.write(frame, batch, self.folder)
        return []

    def rows(self, spark: SparkSession) -> Answer:
        """All that is there; none before anything was written. Raises TypeError for no DataFrame and no dicts."""
        if not Path(self.folder).exists():
            return ()
        there = self.read(spark, self.folder)
        rows = told([*(running.collected(there) if hasattr(there, "sparkSession") else there)])
        if odd := [row for row in rows if not isinstance(row, dict)]:
            raise TypeError(f"table(spark, folder) gives a DataFrame or dicts, not {odd[0]!r:.40}")
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
    return Table(write, read, str(folder / "table"))

"""Checkers judge batches of stored cases and traces outside the process of the run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Batch:
    """Stored cases and traces of one engine, for a checker in another process. All fields can travel as JSON.

    Attributes:
        programs: the programs ("scenario/program") whose guarantees are asked.
        cases, traces: paths of the Parquet files or folders to read.
        checks: the folder to write into.
        load: the user's files and modules (``--load``), for processes that a checker starts elsewhere.
    """

    engine: str
    programs: tuple[str, ...]
    cases: str
    traces: str
    checks: str
    load: tuple[str, ...] = ()


class Checker(Protocol):
    """A place that checks batches outside the process of the run. ``open`` and ``close`` work as those of an engine do.
    A checker may be ``Configurable``."""

    def check(self) -> None:
        """Raise CannotRun where the checker's runtime is missing."""

    def open(self, folder: Path) -> None: ...

    def close(self) -> None: ...

    def run(self, batch: Batch) -> None:
        """Check a batch, and write its parts (``tables.part_of_check``) into the folder ``batch.checks``."""

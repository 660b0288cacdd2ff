"""What an engine does for subjects. Entry points of the group ``conformance.subjects`` name such drivers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from conformance.subjects.answers import Ran

if TYPE_CHECKING:
    from packaging.version import Version

    from conformance.subjects.processes.elsewhere import Beginner
    from conformance.subjects.questions import Pair, Question
    from conformance.subjects.setup import Given, Setup
    from conformance.subjects.subject import Subject


@dataclass(frozen=True)
class Facts:
    """What an engine finds in a function without running it.

    Attributes:
        columns: the columns of the output; None where it does not tell.
        durations: the times (ms) that it goes by.
        output_key: the columns that tell one answer from another in update mode; None where nothing tells.
        refused: question -> why it cannot be asked of this function.
        delay: how far (ms) the function's own watermark stays behind; None where it has none, or does not tell.
        timed: the columns of inputs that the function's own watermarks go by, of those that the engine tells.
        timeless: the function sets no watermark.
        zones: the time zones whose local times it goes by, as the IANA names them.
    """

    columns: tuple[str, ...] | None = None
    durations: tuple[int, ...] = ()
    output_key: tuple[str, ...] | None = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    delay: int | None = None
    timed: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    timeless: bool = False


class Driver(Protocol):
    """An engine that runs subjects.

    Attributes:
        package: the framework's name on PyPI.
        annotation: the word in a function's annotations that tells that it is of this engine.
        version: the framework's release, and its name: "Name 1.2.3".
        batch: what its users call a micro-batch.
        packs: how many cases share a run where the function goes by its key.
        closes: deliveries end with closing rows; a driver whose input ends needs none.
        parallel: how many runs of a subject it makes at a time.
        heavy: starting it, and each run, takes seconds: one heavy process runs at a time.
        guide: the file of subjects that a run asks, of the kinds that the framework's guide shows.
        before: where previous versions run; None for this process.
        missed: what an error says where a file needs the engine while it is loaded; "" for an engine that none needs.
        options: the arguments of ``subject`` that it alone knows.
        foreign: environment variables that would make a release load files of another installation.
    """

    package: str
    annotation: str
    batch: str
    packs: int
    closes: bool
    parallel: int
    heavy: bool
    guide: Path
    missed: str
    options: tuple[str, ...]
    foreign: tuple[str, ...]
    before: Beginner | None

    def roots(self) -> Mapping[str, str] | None:
        """What its answers depend on beside the package, as ``Rooted.roots`` says it."""

    def beside(self, version: Version) -> Iterable[str]:
        """Requirements that a version needs but does not declare."""

    @property
    def version(self) -> str: ...

    @property
    def questions(self) -> tuple[Question, ...]: ...

    def check(self) -> None:
        """Raise CannotRun where the framework or its runtime is missing. Starts nothing."""

    def open(self, folder: Path, modules: Sequence[Any]) -> None:
        """Start the engine where it is not started, with temporary files below a folder. ``modules`` come from files
        that other processes cannot import."""

    def close(self) -> None: ...

    def look(self, subject: Subject) -> Facts:
        """What the function is. Raises InvalidSubject if the function raises, or the engine refuses what it makes."""

    def run(self, subject: Subject, given: Given, setup: Setup) -> Ran:
        """Run a subject over rows. What the run fails with is in the answer."""

    def script(self, subject: Subject, pair: Pair, title: str, file: Path, out: Path) -> str:
        """A script without the harness that shows a difference, for the file ``out``; "" if none can. The user's
        function is imported from ``file``."""

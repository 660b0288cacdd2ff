"""How a run of a subject is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conformance.model.values import Json
from conformance.support.plain import Plain

Given = Sequence[Mapping[str, Sequence[Json]]]
"""What a run is given: for each micro-batch, the rows of each input, in order. A row is an object of columns."""


ITSELF, PREVIOUS, NOBODY = "itself", "the previous version", "nobody"
"""Who runs the micro-batches before a restart: the subject, its previous version, or nobody, and the subject begins
behind them."""

BEHIND, SHOWING = 0, -1
"""Where a micro-batch fails, see ``Setup.breaks``."""

OTHER = "the other query"
"""Who runs all micro-batches where another query must answer alike."""


@dataclass(frozen=True)
class Setup(Plain):
    """How a run is made.

    Attributes:
        restarts: the micro-batches before which the query is stopped and begun again from its checkpoint.
        fails: the micro-batch that fails once, after the sink has had its rows; None for none.
        breaks: where that is: BEHIND its sink; SHOWING, behind that of the first micro-batch from there on with rows;
            or in such a micro-batch before a line (its number in the user's file) of a sink of the user's own.
        settings: settings of the session.
        files: the number of files of a micro-batch.
        bounded: all rows are there from the beginning, and end.
        where: what else the engine runs on; "" for its default.
        through: the rows come through a query of the engine that changes none of them.
        begun: so many micro-batches run before a restart, and their output is not shown; 0 for none.
        by: who runs these: ITSELF, PREVIOUS or NOBODY; or OTHER, who runs all.
        sink: what the sink does with the rows of a micro-batch before it takes them, in words; "" for nothing.
        sparse: an input that has no row in a micro-batch has no file there either.
        retries: each task fails once, after its last row, and is tried again within the micro-batch.
        passed: the watermark has passed this time (ms) before rows of earlier times come; 0 where none do.
        goes_on: the query does not end with its input; it is stopped when it has taken all of it.
    """

    restarts: tuple[int, ...] = ()
    fails: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    files: int = 1
    bounded: bool = False
    where: str = ""
    through: bool = False
    begun: int = 0
    by: str = ITSELF
    sink: str = ""
    sparse: bool = False
    retries: bool = False
    goes_on: bool = False
    passed: int = 0
    breaks: int = BEHIND

    @property
    def of_settings(self) -> bool:
        """Whether nothing but the session, its tasks and trigger, and the input's files and query are other than
        plain."""
        return replace(self, settings={}, files=1, through=False, retries=False, goes_on=False) == PLAIN != self

    def renumbered(self, place: Callable[[int], int]) -> Setup:
        """The same run where micro-batches have other numbers."""
        restarts = tuple(sorted({place(number) for number in self.restarts} - {0}))
        fails = None if self.fails is None else place(self.fails)
        return replace(self, restarts=restarts, fails=fails, begun=place(self.begun))

    def beside(self, other: Setup) -> Setup:
        """A run that is made in both ways."""
        return Setup(
            tuple(sorted({*self.restarts, *other.restarts})),
            self.fails if other.fails is None else other.fails,
            {**self.settings, **other.settings},
            max(self.files, other.files),
            self.bounded or other.bounded,
            self.where or other.where,
            self.through or other.through,
            max(self.begun, other.begun),
            self.by if other.by == ITSELF else other.by,
            self.sink or other.sink,
            self.sparse or other.sparse,
            self.retries or other.retries,
            self.goes_on or other.goes_on,
            self.passed or other.passed,
            self.breaks or other.breaks,
        )


PLAIN = Setup()

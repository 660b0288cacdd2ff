"""A cell of the matrix: the verdict on one guarantee on one engine under one perturbation. ``judgement.verdict``
decides cells, and folds the cells of a guarantee into one row."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from conformance.support.plain import Plain


class Verdict(Enum):
    VIOLATED = "violated"
    ERROR = "error"
    UNKNOWN = "unknown"
    HOLDS = "holds"
    UNSUPPORTED = "unsupported"


class Grade(Enum):
    """How well the witness of a cell is confirmed on the cell's own engine, in its version and configuration."""

    CONFIRMED = "confirmed here"
    REPLAYED = "replayed here"
    STANDS = "stands"
    PACK = "seen in a pack"

    @property
    def meaning(self) -> str:
        """What was seen, in words."""
        return GRADES[self]


GRADES = {
    Grade.CONFIRMED: "the witness failed alone on this engine, in this version and configuration, with this adapter",
    Grade.REPLAYED: "a stored witness failed again in this run; alone it failed with an earlier adapter, in another "
    "version, or elsewhere",
    Grade.STANDS: "a stored witness failed alone here before and did not run again; a fifth of the engine's witnesses "
    "ran, and failed",
    Grade.PACK: "cases failed in a pack, beside other cases, and none of them failed alone",
}
"""Grade -> its meaning."""


AS_DRAWN = "as drawn"
"""The perturbation of a cell for cases as Hypothesis generated them."""


@dataclass(frozen=True)
class MatrixCell(Plain):
    """One guarantee on one engine under one perturbation.

    Attributes:
        cases: number of distinct cases that tested the guarantee, with a stored witness that overruled them.
        timelines: number of distinct timelines of these cases.
        violations: number of these cases that speak against the guarantee.
        inapplicable: pairs that do not count, because the reference does not keep the pairs alike either.
        lost: cases without an answer from the engine.
        witness: the id of the smallest case against the guarantee, "" if there is none.
        intermittent: "k/n" if the witness fails alone in only k of n runs.
        grade: how well its witness is confirmed here; None where nothing speaks against the guarantee, or no run said
            it.
        reason: the reason for the verdict, in one line.
        notes: emulations that the engine's adapter used.
        coverage: circumstance -> number of cases with that circumstance, see ``judgement.coverage``.
    """

    scenario: str
    program: str
    guarantee: str
    perturbation: str
    engine: str
    verdict: Verdict
    reason: str
    subject: str = "neutral program"
    cases: int = 0
    timelines: int = 0
    violations: int = 0
    inapplicable: int = 0
    lost: int = 0
    witness: str = ""
    intermittent: str = ""
    grade: Grade | None = None
    claimed: str = ""
    notes: tuple[str, ...] = ()
    coverage: dict[str, int] = field(default_factory=dict, hash=False)

    @property
    def row(self) -> tuple[str, str]:
        return self.scenario, self.guarantee


class Strength(Enum):
    """The amount of evidence behind a row that holds."""

    FEW = "fewer than 10 cases"
    SOME = "10 to 99 cases"
    MANY = "100 cases or more"

    @classmethod
    def of(cls, cases: int) -> Strength:
        return cls.FEW if cases < 10 else cls.SOME if cases < 100 else cls.MANY


IN_PART = "in part"
"""The name for a row that holds although at least one promised perturbation was not exercised."""


@dataclass(frozen=True)
class Folded(MatrixCell):
    """One guarantee on one engine over all of its perturbations: a row of the matrix. No file stores it.

    A perturbation is promised if the guarantee is asked under the perturbation, the engine can express the
    perturbation, and the program can have such a twin: see ``verdict.fold``. A perturbation is exercised if at least
    one case under the perturbation tested the guarantee.

    Attributes:
        promised, exercised: number of promised perturbations, and number of these that were exercised.
        unexercised: the promised perturbations that were not exercised, by name.
        least: the fewest distinct cases under one promised perturbation.
    """

    promised: int = 0
    exercised: int = 0
    unexercised: tuple[str, ...] = ()
    least: int = 0

    @property
    def in_part(self) -> bool:
        """Whether the row holds but at least one promised perturbation was not exercised."""
        return self.verdict is Verdict.HOLDS and self.exercised < self.promised

    @property
    def strength(self) -> Strength | None:
        """The strength of a row that holds as a whole; None for every other row."""
        return None if self.in_part or self.verdict is not Verdict.HOLDS else Strength.of(self.least)

    @property
    def words(self) -> str:
        """The verdict in words. For a row that holds in part, "holds, in part (k of m)"."""
        part = f", {IN_PART} ({self.exercised} of {self.promised})" if self.in_part else ""
        return self.verdict.value + part

"""One grade of evidence for each cell: how well a violation is confirmed, and how much stands behind what holds."""

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.judgement.cell import Folded, Grade, Strength, Verdict
from conformance.reports.words import BARS, amount


@dataclass(frozen=True)
class Shown:
    """A grade as the page shows it: its word in queries, its mark, its name and its meaning."""

    word: str
    mark: str
    name: str
    meaning: str


IN_PART = "in part"


def _holds(strength: Strength, word: str, which: str = "some") -> Shown:
    return Shown(word, BARS[strength], f"{word} cases", f"{strength.value} under {which} promised perturbation")


SHOWN: Mapping[Grade | Strength | str, Shown] = {
    Grade.PACK: Shown("pack", "○", Grade.PACK.value, Grade.PACK.meaning),
    IN_PART: Shown("part", "◌", IN_PART, "some of the perturbations that the guarantee promises had no case"),
    Strength.FEW: _holds(Strength.FEW, "few"),
    Grade.STANDS: Shown("stands", "◔", "failed here before", Grade.STANDS.meaning),
    Grade.REPLAYED: Shown("replayed", "◑", Grade.REPLAYED.value, Grade.REPLAYED.meaning),
    Strength.SOME: _holds(Strength.SOME, "some"),
    Grade.CONFIRMED: Shown("confirmed", "●", Grade.CONFIRMED.value, Grade.CONFIRMED.meaning),
    Strength.MANY: _holds(Strength.MANY, "many", "each"),
}
"""What a cell rests on, the weakest first."""

WEAKEST_FIRST = tuple(SHOWN.values())


def grade_of(cell: Folded) -> Shown | None:
    """The grade of a cell; None where the engine said nothing, or the results are older than grades."""
    known = cell.grade or (IN_PART if cell.in_part else cell.strength)
    return SHOWN[known] if known else None


def behind(cell: Folded) -> str:
    """How much a cell rests on: perturbations, timelines and cases, in words; "" without cases."""
    if not cell.cases or cell.verdict is Verdict.UNSUPPORTED:
        return ""
    of = f"{cell.exercised} of {amount(cell.promised, 'perturbation')}, " if cell.promised else ""
    return f"{of}at least {amount(cell.timelines, 'timeline')}, {amount(cell.cases, 'case')}"

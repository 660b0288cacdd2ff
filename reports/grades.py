"""One grade of evidence for each cell: how well a violation is confirmed, and how much stands behind what holds."""

from __future__ import annotations

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


OF_VIOLATIONS = {
    Grade.PACK: Shown("pack", "○", Grade.PACK.value, Grade.PACK.meaning),
    Grade.STANDS: Shown("stands", "◔", "failed here before", Grade.STANDS.meaning),
    Grade.REPLAYED: Shown("replayed", "◑", Grade.REPLAYED.value, Grade.REPLAYED.meaning),
    Grade.CONFIRMED: Shown("confirmed", "●", Grade.CONFIRMED.value, Grade.CONFIRMED.meaning),
}

OF_WHAT_HOLDS = {
    Strength.FEW: Shown(
        "few", BARS[Strength.FEW], "few cases", f"{Strength.FEW.value} under some promised perturbation"
    ),
    Strength.SOME: Shown(
        "some", BARS[Strength.SOME], "some cases", f"{Strength.SOME.value} under some promised perturbation"
    ),
    Strength.MANY: Shown(
        "many", BARS[Strength.MANY], "many cases", f"{Strength.MANY.value} under each promised perturbation"
    ),
}

IN_PART = Shown("part", "◌", "in part", "some of the perturbations that the guarantee promises had no case")

WEAKEST_FIRST = (
    OF_VIOLATIONS[Grade.PACK],
    IN_PART,
    OF_WHAT_HOLDS[Strength.FEW],
    OF_VIOLATIONS[Grade.STANDS],
    OF_VIOLATIONS[Grade.REPLAYED],
    OF_WHAT_HOLDS[Strength.SOME],
    OF_VIOLATIONS[Grade.CONFIRMED],
    OF_WHAT_HOLDS[Strength.MANY],
)


def grade_of(cell: Folded) -> Shown | None:
    """The grade of a cell; None where the engine said nothing, or the results are older than grades."""
    if cell.grade:
        return OF_VIOLATIONS[cell.grade]
    if cell.in_part:
        return IN_PART
    return OF_WHAT_HOLDS[cell.strength] if cell.strength else None


def behind(cell: Folded) -> str:
    """How much a cell rests on: perturbations, timelines and cases, in words; "" without cases."""
    if not cell.cases or cell.verdict is Verdict.UNSUPPORTED:
        return ""
    of = f"{cell.exercised} of {amount(cell.promised, 'perturbation')}, " if cell.promised else ""
    return f"{of}at least {amount(cell.timelines, 'timeline')}, {amount(cell.cases, 'case')}"

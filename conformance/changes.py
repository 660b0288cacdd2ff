"""What changed between two runs, cell by cell and in both directions: a count that only nets them out hides flips."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from conformance.results import Results, Verdict


class Direction(Enum):
    """Which way a verdict changed."""

    BROKEN = "No longer holds"
    MENDED = "Holds now"
    OTHER = "Changed otherwise"
    ADDED = "Not asked before"
    GONE = "Not asked any more"


@dataclass(frozen=True)
class Change:
    """A guarantee on an engine whose verdict is another under these perturbations. None is the verdict of a cell that a run
    does not have."""

    row: tuple[str, str]
    claim: str
    engine: str
    before: Verdict | None
    after: Verdict | None
    perturbations: tuple[str, ...]

    @property
    def direction(self) -> Direction:
        if self.before is None:
            return Direction.ADDED
        if self.after is None:
            return Direction.GONE
        if self.before is Verdict.HOLDS:
            return Direction.BROKEN
        return Direction.MENDED if self.after is Verdict.HOLDS else Direction.OTHER

    @property
    def cells(self) -> int:
        return len(self.perturbations)


@dataclass(frozen=True)
class Changes:
    """What changed from one run to another.

    Attributes:
        found: by direction, in the order of ``Direction``.
        gone, added: engines that only the old, or only the new run has; their cells are not compared.
        same_cases: whether both ran the same file of cases; else a change may be one of the cases.
    """

    found: dict[Direction, list[Change]]
    gone: tuple[str, ...]
    added: tuple[str, ...]
    same_cases: bool


def changes(old: Results, new: Results) -> Changes:
    """Every verdict of engines that both runs have and that is another in the new run."""
    both = {*old.engines} & {*new.engines}
    verdicts: dict[tuple[tuple[str, str], str, str], list[Verdict | None]] = {}
    for place, results in enumerate((old, new)):
        for cell in results.cells:
            if cell.engine in both:
                verdicts.setdefault((cell.row, cell.engine, cell.perturbation), [None, None])[place] = cell.verdict
    alike: dict[tuple[tuple[str, str], str, Verdict | None, Verdict | None], list[str]] = {}
    for (row, engine, perturbation), (before, after) in verdicts.items():
        if before is not after:
            alike.setdefault((row, engine, before, after), []).append(perturbation)
    found: dict[Direction, list[Change]] = {}
    for (row, engine, before, after), names in alike.items():
        change = Change(row, _claim(old, new, row), engine, before, after, tuple(names))
        found.setdefault(change.direction, []).append(change)
    return Changes(
        {direction: found[direction] for direction in Direction if direction in found},
        tuple(e for e in old.engines if e not in both),
        tuple(e for e in new.engines if e not in both),
        old.run["cases_digest"] == new.run["cases_digest"],
    )


def _claim(old: Results, new: Results, row: tuple[str, str]) -> str:
    scenario, guarantee = row
    texts = next(
        run.scenarios[scenario]["guarantees"][guarantee]
        for run in (new, old)
        if guarantee in run.scenarios.get(scenario, {"guarantees": {}})["guarantees"]
    )
    claim: str = texts["claim"]
    return claim

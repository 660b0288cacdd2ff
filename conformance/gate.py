"""The gate: a candidate's results against a baseline and the accepted divergences; it blocks what nobody has accepted.

The rules are the table in docs/gate.md, which the tests read.
"""

from __future__ import annotations

import datetime
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from conformance.baseline import Baseline, Place, Standing
from conformance.expectations import Divergence, unmatched
from conformance.results import Verdict


class Refused(ValueError):
    """The two sides cannot be compared, or an expectation is about nothing; the message says why and how to mend it."""


class Outcome(Enum):
    BLOCKS = "blocks"
    TOLD = "told"
    PASSES = "passes"


@dataclass(frozen=True)
class Ruling:
    """What the gate says of a cell, and why in a few words."""

    outcome: Outcome
    why: str


@dataclass(frozen=True)
class Ruled:
    """Cells of a guarantee on an engine that the gate says the same of. ``witness`` is what replays it."""

    ruling: Ruling
    engine: str
    scenario: str
    guarantee: str
    perturbations: tuple[str, ...]
    witness: str = ""
    signature: str = ""
    divergence: Divergence | None = None

    @property
    def name(self) -> str:
        return f"{self.engine}/{self.scenario}/{self.guarantee}"


@dataclass(frozen=True)
class GateReport:
    """All that the gate says: what blocks first."""

    ruled: tuple[Ruled, ...]

    def of(self, outcome: Outcome) -> list[Ruled]:
        return [found for found in self.ruled if found.ruling.outcome is outcome]

    @property
    def open(self) -> bool:
        return not self.of(Outcome.BLOCKS)


def gate(
    candidate: Baseline,
    baseline: Baseline,
    divergences: Sequence[Divergence],
    *,
    today: datetime.date,
    engines: Container[str] = (),
    scenarios: Container[str] = (),
) -> GateReport:
    """Judge every cell that either side has of the engines in the baseline, and the candidate's other engines. A divergence may be of
    an engine or a scenario that took no part, if it is one of the known ``engines`` and ``scenarios``.

    Raises:
        Refused: the sides did not run the same cases by the same harness, or a divergence is about nothing.
    """
    if candidate.harness != baseline.harness:
        raise Refused(
            f"the baseline is of harness {baseline.harness}, the candidate of {candidate.harness}: "
            "run both sides with one harness"
        )
    if candidate.cases_digest != baseline.cases_digest:
        raise Refused(
            "the two sides did not run the same file of cases: run the candidate with --cases-from the baseline's run"
        )
    places = list(dict.fromkeys([*candidate.cells, *baseline.cells]))
    if wrong := unmatched(divergences, places, engines, scenarios):
        raise Refused("; ".join(wrong) + ": mend or take out of the expectations")
    alike: dict[tuple[Ruling, str, str, str, str, str, Divergence | None], list[str]] = {}
    for place in places:
        engine = place[0]
        side = candidate if engine in candidate.engines else baseline
        listed = listing(divergences, place, side.version(engine), today)
        after = candidate.cells.get(place)
        ruling = rule(baseline.cells.get(place), after, listed, today)
        shown = (after.witness, after.signature) if after else ("", "")
        alike.setdefault((ruling, *place[:3], *shown, listed), []).append(place[3])
    ruled = [
        Ruled(ruling, engine, scenario, guarantee, tuple(names), witness, signature, divergence)
        for (ruling, engine, scenario, guarantee, witness, signature, divergence), names in alike.items()
    ]
    return GateReport(tuple(sorted(ruled, key=lambda found: list(Outcome).index(found.ruling.outcome))))


def listing(divergences: Iterable[Divergence], place: Place, version: str, today: datetime.date) -> Divergence | None:
    """The divergence that speaks of a cell in this version: one that has not expired before one that has, one of its
    perturbation before one of all."""
    found = [d for d in divergences if d.covers(place) and d.of_version(version)]
    return min(found, key=lambda d: (d.expired(today), not d.perturbation), default=None)


def rule(before: Standing | None, after: Standing | None, listed: Divergence | None, today: datetime.date) -> Ruling:
    """What the gate says of a cell; ``listed`` is a divergence that speaks of it in the candidate's version."""
    if after is None:
        return Ruling(Outcome.BLOCKS, "the candidate was not asked")
    if after.verdict is Verdict.ERROR:
        return Ruling(Outcome.BLOCKS, "the harness failed")
    if after.verdict is Verdict.VIOLATED:
        return _violated(before, after, listed, today)
    if after.verdict is Verdict.HOLDS:
        return Ruling(Outcome.TOLD, "stale: holds, take it out of the expectations") if listed else _PASSES
    if before is not None and before.verdict is Verdict.HOLDS:
        return Ruling(Outcome.BLOCKS, f"held, is {after.verdict.value}: lost coverage is not a pass")
    if listed or (before is not None and before.verdict is Verdict.VIOLATED):
        return Ruling(Outcome.TOLD, f"was violated, is {after.verdict.value}: not shown to be mended")
    return _PASSES


_PASSES = Ruling(Outcome.PASSES, "")


def _violated(before: Standing | None, after: Standing, listed: Divergence | None, today: datetime.date) -> Ruling:
    if listed:
        if listed.expired(today):
            return Ruling(Outcome.BLOCKS, f"accepted until {listed.expires}")
        if listed.signature != after.signature:
            return Ruling(Outcome.BLOCKS, "fails in another way than was accepted")
        return Ruling(Outcome.PASSES, "accepted")
    if before is not None and before.verdict is Verdict.VIOLATED:
        if before.signature == after.signature:
            return Ruling(Outcome.PASSES, "as in the baseline")
        return Ruling(Outcome.BLOCKS, "fails in another way than in the baseline")
    if before is not None and before.verdict is Verdict.HOLDS:
        return Ruling(Outcome.BLOCKS, "held, is violated")
    return Ruling(Outcome.BLOCKS, "is violated, and nobody has accepted it")

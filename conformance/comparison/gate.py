"""The gate: a candidate's results against a baseline and the accepted divergences; it blocks everything that
nobody has accepted.

The rules are the table in docs/gate.md, which the tests read.
"""

import datetime
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from conformance.comparison.expectations import Divergence, unmatched
from conformance.judgement.cell import AS_DRAWN, Verdict
from conformance.results.baseline import Baseline, Place, Standing
from conformance.results.changes import implied
from conformance.support.naming import counted
from conformance.support.reading import BadInput


class Refused(BadInput):
    """The two sides cannot be compared, or an expectation matches nothing. The message gives the reason and the
    remedy."""


class Outcome(Enum):
    BLOCKS = "blocks"
    TOLD = "told"
    PASSES = "passes"


@dataclass(frozen=True)
class Ruling:
    """The ruling of the gate on a cell, with a short reason."""

    outcome: Outcome
    why: str


@dataclass(frozen=True)
class Ruled:
    """What the gate says the same of: cells of a guarantee on an engine; a program's equivalences, where ``guarantee``
    is the program; an engine, where ``scenario`` and ``guarantee`` are ""; or the whole run, where ``engine`` is ""
    too. ``witness`` is what replays it, ``command`` what shows it again where there is no witness."""

    ruling: Ruling
    engine: str
    scenario: str
    guarantee: str
    perturbations: tuple[str, ...]
    witness: str = ""
    signature: str = ""
    divergence: Divergence | None = None
    command: str = ""

    @property
    def of_engine(self) -> bool:
        """Whether the ruling applies to a whole engine: one that failed, that is on one side only, or that ran fewer
        packs."""
        return bool(self.engine) and not self.scenario

    @property
    def name(self) -> str:
        return "/".join(filter(None, (self.engine, self.scenario, self.guarantee))) or "the run"


@dataclass(frozen=True)
class GateReport:
    """All rulings of the gate, blocking ones first."""

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
    more: Iterable[Place] = (),
) -> GateReport:
    """Judge every cell that either side has of the engines in the baseline, and the candidate's other engines. A
    divergence may be of an engine or a scenario that took no part, if it is one of the known ``engines`` and
    ``scenarios``, and of a program that is among ``more`` places.

    Raises:
        Refused: the sides did not run the same cases by the same harness, one was asked less than the other, or a
            divergence is about nothing.
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
    if not candidate.scope.comparable(baseline.scope):
        told = (f"the {name}'s run {_asked(side)}" for name, side in (("baseline", baseline), ("candidate", candidate)))
        raise Refused(f"{'; '.join(told)}: run both sides to their end, both with --quick or both without")
    places = list(dict.fromkeys([*candidate.cells, *baseline.cells]))
    if wrong := unmatched(divergences, [*places, *candidate.alike, *baseline.alike, *more], engines, scenarios):
        raise Refused("; ".join(wrong) + ": mend or take out of the expectations")
    alike: dict[Ruled, list[str]] = {}

    def add(place: Place, ruling: Ruling, witness: str, signature: str, listed: Divergence | None) -> None:
        alike.setdefault(Ruled(ruling, *place[:3], (), witness, signature, listed), []).append(place[3])

    def listed_for(place: Place, signature: str) -> Divergence | None:
        side = candidate if place[0] in candidate.engines else baseline
        return listing(divergences, place, side.version(place[0]), today, signature)

    absent = {engine for engine in baseline.engines if engine not in candidate.engines}
    for place in places:
        if place[0] not in absent:  # one line covers the whole engine
            after = candidate.cells.get(place)
            witness, signature = (after.witness, after.signature) if after else ("", "")
            listed = listed_for(place, signature)
            add(place, rule(_stood(baseline, place, after), after, listed, today), witness, signature, listed)
    for place, stood in baseline.alike.items():
        stands = candidate.alike.get(place)
        if place[0] not in absent and (how := weaker(stood, stands)):
            listed = listed_for(place, how)
            add(place, unless_accepted("an equivalence is lost", how, listed, today), "", how, listed)
    ruled = [replace(one, perturbations=tuple(names)) for one, names in alike.items()]
    return report_of([*_of_engines(candidate, baseline), *_of_versions(candidate, baseline), *ruled])


def _stood(baseline: Baseline, place: Place, after: Standing | None) -> Standing | None:
    """What a cell is compared with. One that the candidate violates and the baseline did not decide is compared with
    the baseline's cell as drawn, if that is violated."""
    mine, as_drawn = baseline.cells.get(place), baseline.cells.get((*place[:3], AS_DRAWN))
    undecided = mine is None or mine.verdict is Verdict.UNKNOWN
    broken = all(cell and cell.verdict is Verdict.VIOLATED for cell in (as_drawn, after))
    return as_drawn if undecided and broken else mine


def report_of(ruled: Iterable[Ruled]) -> GateReport:
    """A report of rulings, blocking ones first."""
    return GateReport(tuple(sorted(ruled, key=lambda found: list(Outcome).index(found.ruling.outcome))))


def _asked(side: Baseline) -> str:
    return " and ".join(side.scope.flaws) or "was a full one"


def _of_engines(candidate: Baseline, baseline: Baseline) -> Iterator[Ruled]:
    """The rulings on whole engines: engines that failed, took no part on one side, or ran fewer packs."""
    for engine in dict.fromkeys([*baseline.engines, *baseline.failures, *candidate.engines, *candidate.failures]):
        for side, name in ((candidate, "the candidate"), (baseline, "the baseline")):
            if engine in side.failures:
                yield of_engine(engine, Outcome.BLOCKS, f"failed in {name}: {side.failures[engine]}")
        if engine not in {*candidate.engines, *candidate.failures}:
            yield of_engine(engine, Outcome.BLOCKS, "runs in the baseline only: was not asked of the candidate")
        elif engine not in {*baseline.engines, *baseline.failures}:
            yield of_engine(engine, Outcome.TOLD, "runs in the candidate only")
        before, after = baseline.packs.get(engine, 0), candidate.packs.get(engine)
        if after is not None and engine not in candidate.failures and shrank(before, after):
            yield of_engine(
                engine, Outcome.BLOCKS, f"evidence shrank: {counted(after, 'pack')}, the baseline had {before}"
            )


def of_engine(engine: str, outcome: Outcome, why: str) -> Ruled:
    """A ruling on a whole engine, or on the run where ``engine`` is ""."""
    return Ruled(Ruling(outcome, why), engine, "", "", ())


def _of_versions(candidate: Baseline, baseline: Baseline) -> Iterator[Ruled]:
    """Other versions of anything, each with its engines; other stored witnesses."""
    changed: dict[str, list[str]] = {}
    for engine in candidate.engines:
        before, after = baseline.engines.get(engine, {}), candidate.engines[engine]
        for name in dict.fromkeys([*before, *after]) if before else ():
            if (old := before.get(name, "none")) != (new := after.get(name, "none")):
                changed.setdefault(f"another {name}: {old} → {new}", []).append(engine)
    for why, engines in changed.items():
        yield of_engine("", Outcome.TOLD, f"{why} ({', '.join(engines)})")
    known = candidate.stored_witnesses and baseline.stored_witnesses
    if known and candidate.stored_witnesses != baseline.stored_witnesses:
        yield of_engine("", Outcome.TOLD, "other stored witnesses were replayed")


FEW = 10
"""Evidence of fewer cases or packs than this number counts as little."""


def shrank(before: int, after: int) -> bool:
    """Whether cases or packs are fewer than a tenth of what the baseline had, or few where the baseline had more than
    few."""
    return after * 10 < before or after < FEW <= before


def weaker(before: Sequence[str], after: Sequence[str] | None) -> str:
    """Which observed equivalences became which, if any was lost; else "". None stands for a program that was not
    asked."""
    if implied(tuple(before)) <= implied(tuple(after or ())):
        return ""
    told = "not asked" if after is None else " and ".join(after) or "nothing"
    return f"{' and '.join(before)} → {told}"


def unless_accepted(why: str, signature: str, listed: Divergence | None, today: datetime.date) -> Ruling:
    """A blocking ruling, unless ``listed`` accepts this way to fail."""
    if listed is None:
        return Ruling(Outcome.BLOCKS, why)
    if listed.expired(today):
        return Ruling(Outcome.BLOCKS, f"{why}: accepted until {listed.expires}")
    if listed.signature != signature:
        return Ruling(Outcome.BLOCKS, f"{why}: in another way than was accepted")
    return Ruling(Outcome.PASSES, "accepted")


def listing(
    divergences: Iterable[Divergence], place: Place, version: str, today: datetime.date, signature: str = ""
) -> Divergence | None:
    """The divergence that speaks of a cell in this version: one of this way to fail before one of another, one that has
    not expired before one that has, one of its perturbation before one of all."""
    found = [d for d in divergences if d.covers(place) and d.of_version(version)]
    return min(
        found,
        key=lambda d: (signature not in ("", d.signature), d.expired(today), not d.perturbation),
        default=None,
    )


def rule(before: Standing | None, after: Standing | None, listed: Divergence | None, today: datetime.date) -> Ruling:
    """The ruling of the gate on a cell. ``listed`` is a divergence that matches the cell in the candidate's version."""
    if after is None:
        return Ruling(Outcome.BLOCKS, "the candidate was not asked")
    if after.verdict is Verdict.ERROR:
        return Ruling(Outcome.BLOCKS, "the harness failed")
    if after.verdict is Verdict.VIOLATED:
        return _violated(before, after, listed, today)
    if after.verdict is Verdict.HOLDS:
        return _holds(before, after, listed)
    if before is not None and before.verdict is Verdict.HOLDS:
        return Ruling(Outcome.BLOCKS, f"held, is {after.verdict.value}: lost coverage is not a pass")
    if listed or (before is not None and before.verdict is Verdict.VIOLATED):
        return Ruling(Outcome.TOLD, f"was violated, is {after.verdict.value}: not shown to be mended")
    return _PASSES


_PASSES = Ruling(Outcome.PASSES, "")


def _holds(before: Standing | None, after: Standing, listed: Divergence | None) -> Ruling:
    if before is not None and shrank(before.cases, after.cases):
        found = f"holds on {counted(after.cases, 'case')}, the baseline had {before.cases}"
        if before.verdict is Verdict.HOLDS:
            return Ruling(Outcome.BLOCKS, f"evidence shrank: {found}")
        if before.verdict is Verdict.VIOLATED:
            return Ruling(Outcome.TOLD, f"evidence shrank: {found}: not shown to be mended")
    return Ruling(Outcome.TOLD, "stale: holds, take it out of the expectations") if listed else _PASSES


def _violated(before: Standing | None, after: Standing, listed: Divergence | None, today: datetime.date) -> Ruling:
    if listed:
        if listed.expired(today):
            return Ruling(Outcome.BLOCKS, f"accepted until {listed.expires}")
        if listed.signature != after.signature:
            return Ruling(Outcome.BLOCKS, "fails in another way than was accepted")
        return _as_often(before, after) or Ruling(Outcome.PASSES, "accepted")
    if before is not None and before.verdict is Verdict.VIOLATED:
        if before.signature == after.signature:
            return _as_often(before, after) or Ruling(Outcome.PASSES, "as in the baseline")
        return Ruling(Outcome.BLOCKS, "fails in another way than in the baseline")
    if before is not None and before.verdict is Verdict.HOLDS:
        return Ruling(Outcome.BLOCKS, "held, is violated")
    return Ruling(Outcome.BLOCKS, "is violated, and nobody has accepted it")


def _as_often(before: Standing | None, after: Standing) -> Ruling | None:
    """What to tell of a violated cell that was violated before, but in other cases or runs than in these."""
    if before is None or before.verdict is not Verdict.VIOLATED:
        return None
    if bool(before.intermittent) != bool(after.intermittent):
        was, now = (f"fails in {s.intermittent} runs" if s.intermittent else "always fails" for s in (before, after))
        return Ruling(Outcome.TOLD, f"{was} in the baseline, {now} here")
    if 0 < before.violations < before.cases and after.violations == after.cases:
        return Ruling(Outcome.TOLD, "was violated in some cases, is violated in all cases")
    return None

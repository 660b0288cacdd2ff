"""The parts of the page beside the matrix: changes, claims, perturbations, agreement, engines."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from conformance.judgement.agreement import Agreement
from conformance.judgement.stability import Stability
from conformance.model.engine import bare
from conformance.model.feature import NATIVE
from conformance.model.values import canonical
from conformance.reports.grid import Column, Grid
from conformance.reports.page.kills import caught_of
from conformance.reports.power import known_powers, powers_of_run
from conformance.reports.text.likeness import agreed, difference_lines, inapplicable, partly, stable_up_to
from conformance.reports.words import (
    BARS,
    amount,
    standings,
    strengths,
)
from conformance.results.claims import Answer, Decision, all_decisions
from conformance.results.record import EngineRecord, FeatureRecord
from conformance.results.results import Results
from conformance.selftest.power import Power
from conformance.support.grouping import grouped


@dataclass(frozen=True)
class EngineLine:
    """An engine of a run. ``counts``: how many guarantees stand where; ``strengths``: (mark, meaning, how many) of
    those that hold as a whole; ``like``: the name in links and the id of an earlier engine that offers its features in
    the same way, None without one; ``lacking``: what is emulated or unsupported, features of one reason together."""

    id: str
    anchor: str
    label: str
    record: EngineRecord
    counts: list[tuple[int, str]]
    strengths: list[tuple[str, str, int]]
    powers: list[tuple[str, Power]]
    like: tuple[str, str] | None

    @property
    def lacking(self) -> list[tuple[list[str], FeatureRecord]]:
        found = grouped((feature, name) for name, feature in self.record.features.items() if feature.how != NATIVE.how)
        return [(names, feature) for feature, names in found.items()]


def engines(grid: Grid, powers: Sequence[Power] = ()) -> list[EngineLine]:
    """Every engine of every run: versions, configuration, capabilities, counts, and the power of runs on it, in words:
    what is given, or what was measured for runs like this one."""
    first: dict[str, tuple[str, str]] = {}
    found = []
    for number, run in enumerate(grid.runs):
        of_run = powers or powers_of_run(run.run, known_powers())
        for engine in run.engines:
            record, rows = run.environment[engine], grid.rows_of(number, engine)
            anchor, features = grid.engine_anchor(number, engine), canonical(record.to_json().get("features", {}))
            found.append(
                EngineLine(
                    engine,
                    anchor,
                    grid.labels[number],
                    record,
                    [(n, word) for word, n in standings(rows).items() if n],
                    [(BARS[s], s.value, n) for s, n in strengths(rows).items() if n],
                    [(caught_of(power), power) for power in of_run if bare(power.engine) == bare(engine)],
                    first.get(features),
                )
            )
            first.setdefault(features, (anchor, engine))
    return found


def claims(grid: Grid) -> dict[Answer, list[Decision]]:
    """The documents' claims beside the findings of the last run, by answer; none if the run says nothing of any."""
    found = grouped((decision.answer, decision) for decision in all_decisions(grid.runs[-1]))
    if not found.keys() & {Answer.CONTRADICTED, Answer.CONFIRMED, Answer.UNDECIDED}:
        return {}
    return {answer: found[answer] for answer in Answer if answer in found}


@dataclass(frozen=True)
class ProgramRows:
    """A program, in the columns that say something of it.

    Attributes:
        rows: (perturbation, what is promised, for each column the likeness up to which the output is stable, with
            details, on each engine).
    """

    scenario: str
    name: str
    columns: list[Column]
    rows: list[tuple[str, str, list[list[tuple[str, str]]]]]


def stability(grid: Grid) -> list[ProgramRows]:
    """Programs, each with a row per perturbation: the equivalences up to which the output is stable, in each column."""
    programs: dict[tuple[str, str], dict[str, dict[tuple[int, str], Stability]]] = {}
    for number, run in enumerate(grid.runs):
        for found in run.stability:
            rows = programs.setdefault((found.scenario, found.program), {})
            rows.setdefault(found.perturbation, {})[number, found.engine] = found
    shown = []
    for (scenario, program), rows in programs.items():
        there = {place for found in rows.values() for place in found}
        columns = [c for c in grid.columns if any((c.run, e) in there for e in c.engines)]
        lines = [_perturbation_row(columns, perturbation, found) for perturbation, found in rows.items()]
        shown.append(ProgramRows(scenario, f"{grid.texts[scenario].name} ({program})", columns, lines))
    return shown


def _perturbation_row(
    columns: list[Column], perturbation: str, found: dict[tuple[int, str], Stability]
) -> tuple[str, str, list[list[tuple[str, str]]]]:
    promised = next(iter(found.values())).promised
    told = [[_in_words(found[c.run, e]) for e in c.engines if (c.run, e) in found] for c in columns]
    return perturbation, promised.value if promised else "", told


def _in_words(found: Stability) -> tuple[str, str]:
    word = stable_up_to(found)
    if found.pairs and found.promised and word == found.promised.value:
        word = "✓"
    details = [amount(found.pairs, "pair")] if found.pairs else []
    details += [f"{found.refuting} short of the promise"] if found.refuting else []
    details += [apart] if found.pairs and (apart := inapplicable(found)) else []
    details += [f"where it counts: {', '.join(some)}"] if (some := partly(found)) else []
    return word, "; ".join(details)


@dataclass(frozen=True)
class Alike:
    """Pairs that differ on one smallest case, and that case as lines of text; "" where it tells only what a case of one
    engine and the reference tells, or that two engines read *late* differently."""

    pairs: list[Agreement]
    lines: str


class AgreementShown:
    """The agreement of a run's engines: over all programs, and program by program."""

    agreed = staticmethod(agreed)

    def __init__(self, run: Results) -> None:
        self.whole: dict[tuple[str, str], list[int]] = {}
        for found in run.agreements:
            pair = (found.left, found.left if found.with_reference else found.right)
            both = self.whole.setdefault(pair, [0, 0])
            both[0] += found.cases - found.differing
            both[1] += found.cases
        compared = {engine for pair, (_, cases) in self.whole.items() if cases for engine in pair}
        self.engines = [engine for engine in run.engines if engine in compared]
        differing = grouped(
            (f"{run.scenarios[found.scenario].name} ({found.program})", found)
            for found in run.agreements
            if found.differing
        )
        self.programs = {name: list(self._alike(found)) for name, found in differing.items()}

    def _alike(self, found: Sequence[Agreement]) -> Iterator[Alike]:
        """The pairs that differ on a program, by their smallest case."""
        apart = {one.left for one in found if one.with_reference}
        by_case = grouped((canonical(one.smallest.to_json() if one.smallest else None), one) for one in found)
        for pairs in by_case.values():
            yield Alike(pairs, "\n".join(self._lines(pairs)) if _tells(pairs, apart) else "")

    def right(self, found: Agreement) -> str:
        """The right side of a pair, in words."""
        return "the reference, late likewise" if found.with_reference else found.right

    def between(self, left: str, right: str) -> list[int] | None:
        """(identical, compared) of two engines, whichever way round; of one engine and the reference for itself."""
        found = self.whole.get((left, right)) or self.whole.get((right, left))
        return found if found and found[1] else None

    def _lines(self, pairs: Sequence[Agreement]) -> list[str]:
        """The case on which some pairs differ in the same way. One name stands for all engines on one side."""
        lefts, rights = {pair.left for pair in pairs}, {self.right(pair) for pair in pairs}
        left = next(iter(lefts)) if len(lefts) == 1 else "the first"
        right = next(iter(rights)) if len(rights) == 1 else "the other" if len(lefts) == 1 else "the second"
        return list(difference_lines(pairs[0], left, right))


def _tells(pairs: Sequence[Agreement], apart: Collection[str]) -> bool:
    """Whether a case tells more of some pairs than that one of them differs from the reference (``apart``: these have a
    case of their own) or that the two read *late* differently."""
    return any(p.with_reference or (p.not_on_time < p.differing and not {p.left, p.right} & {*apart}) for p in pairs)

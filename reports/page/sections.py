"""The parts of the page beside the matrix: changes, claims, perturbations, agreement, engines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from conformance.judgement.agreement import Agreement
from conformance.judgement.stability import Stability
from conformance.model.engine import bare
from conformance.model.feature import NATIVE
from conformance.model.values import canonical
from conformance.reports.grid import Column, Grid
from conformance.reports.page.kills import caught_of
from conformance.reports.power import known_powers, powers_of_run
from conformance.reports.text.claims import CLAIM_STYLES, Style, cases_in, probed_on, shown_by
from conformance.reports.text.likeness import agreed, difference_lines, inapplicable, partly, stable_up_to
from conformance.reports.words import (
    BARS,
    amount,
    change_in_words,
    changed_claim,
    not_run,
    number_changed,
    standings,
    strengths,
)
from conformance.results.catalogue import Claim
from conformance.results.changes import Change, Changes
from conformance.results.claims import Answer, Decision, OnEngine, all_decisions
from conformance.results.record import EngineRecord, FeatureRecord, RunRecord
from conformance.results.results import Results
from conformance.selftest.power import Power
from conformance.support.grouping import grouped


@dataclass(frozen=True)
class RunLine:
    """A run, for the head of the page. ``versions`` are those of the frameworks, in words."""

    record: RunRecord
    shortened: list[str]
    label: str
    not_run: list[tuple[str, str]]
    versions: str


def run_lines(grid: Grid) -> list[RunLine]:
    return [
        RunLine(run.run, run.shortened, label, not_run(run), _versions(run))
        for run, label in zip(grid.runs, grid.labels, strict=True)
    ]


def _versions(run: Results) -> str:
    found = (run.environment[engine].framework for engine in run.engines)
    return ", ".join(dict.fromkeys(" ".join(named) for named in found if named))


@dataclass(frozen=True)
class ChangeLine:
    """A change in words, with the name of its cell in links."""

    anchor: str
    title: str
    how: str


@dataclass(frozen=True)
class ChangedSince:
    """The changes from the earlier runs to a run. ``kinds``: (title, the changes of a kind)."""

    between: Changes
    old: str
    new: str
    kinds: list[tuple[str, list[ChangeLine]]]


def changed(grid: Grid) -> list[ChangedSince]:
    """The changes in each run since the run before, by kind and never as a net count."""
    return [
        ChangedSince(
            between,
            grid.labels[0] if number == 1 else "the runs before",
            grid.labels[number],
            [
                (f"{number_changed(found)} {kind.value}", [_change_line(grid, number, change) for change in found])
                for kind, found in between.found.items()
            ],
        )
        for number, between in grid.changes
    ]


def _change_line(grid: Grid, number: int, change: Change) -> ChangeLine:
    row = (change.scenario, change.about)
    there = [n for n in range(number + 1) if (row, change.engine) in grid.folded[n]]
    return ChangeLine(
        "stability" if change.of_program else grid.anchor(there[-1], row, change.engine),
        f"{change.engine}: {changed_claim(grid.runs, change)}",
        change_in_words(change),
    )


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


@dataclass(frozen=True)
class ClaimLine:
    """A claim, and each answer with the engines that gave it.

    Attributes:
        asked: (how, guarantee in words, name in links) of the guarantees that decide it.
        engines: (answer, its look, (engine, name of what decides in links, number of cases or the engine's own answer,
            command) of each).
    """

    claim: Claim
    reason: str
    probed: str
    asked: list[tuple[str, str, str]]
    engines: list[tuple[str, Style, list[tuple[str, str, str, str]]]]


@dataclass(frozen=True)
class ClaimsShown:
    """The documents' claims: their number by answer, the claims by answer, and (quote, document) of each claim that was
    not asked."""

    counts: list[tuple[str, Style, int]]
    shown: list[tuple[str, Style, list[ClaimLine]]]
    not_asked: list[tuple[str, str]]


def claims(grid: Grid) -> ClaimsShown | None:
    """The documents' claims beside the findings of the last run; None if the run says nothing of any claim."""
    decisions = all_decisions(grid.runs[-1])
    found = {answer: [d for d in decisions if d.answer is answer] for answer in Answer}
    if not any(found[answer] for answer in (Answer.CONTRADICTED, Answer.CONFIRMED, Answer.UNDECIDED)):
        return None
    return ClaimsShown(
        [(answer.value, CLAIM_STYLES[answer], len(found[answer])) for answer in Answer if found[answer]],
        [
            (answer.value, CLAIM_STYLES[answer], [_claim_line(grid, decision) for decision in found[answer]])
            for answer in Answer
            if answer is not Answer.NOT_ASKED and found[answer]
        ],
        [(d.claim.quote, d.claim.document.title) for d in found[Answer.NOT_ASKED]],
    )


def _claim_line(grid: Grid, decision: Decision) -> ClaimLine:
    claim = decision.claim
    asked = [
        (
            "may be broken: " if condition in claim.shown_by else "" if condition.stands else "the opposite of: ",
            grid.texts[condition.scenario].guarantees[condition.guarantee].claim,
            grid.row_anchor(condition.row),
        )
        for condition in claim.conditions
        if condition.row in grid.rows
    ]
    answered = [
        (
            answer.value,
            CLAIM_STYLES[answer],
            [
                (on.engine, _where(grid, on), "; ".join(on.answers) or cases_in(on), shown_by(on))
                for on in decision.of(answer)
            ],
        )
        for answer in Answer
        if answer is not Answer.NOT_ASKED and decision.of(answer)
    ]
    return ClaimLine(claim, "" if decision.engines else decision.reason, probed_on(decision), asked, answered)


def _where(grid: Grid, on: OnEngine) -> str:
    """The name in links of what decides a claim on an engine of the last run."""
    last = len(grid.runs) - 1
    return grid.anchor(last, on.because[0].row, on.engine) if on.because else grid.engine_anchor(last, on.engine)


@dataclass(frozen=True)
class StabilityWords:
    """The equivalences up to which a program's output is stable."""

    word: str
    details: str


@dataclass(frozen=True)
class PerturbationRow:
    perturbation: str
    promised: str
    columns: list[list[StabilityWords]]


@dataclass(frozen=True)
class ProgramRows:
    """A program, with a row for each perturbation, in the columns that say something of it."""

    scenario: str
    name: str
    columns: list[Column]
    rows: list[PerturbationRow]


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
) -> PerturbationRow:
    promised = next(iter(found.values())).promised
    told = [[_in_words(found[c.run, e]) for e in c.engines if (c.run, e) in found] for c in columns]
    return PerturbationRow(perturbation, promised.value if promised else "", told)


def _in_words(found: Stability) -> StabilityWords:
    word = stable_up_to(found)
    if found.pairs and found.promised and word == found.promised.value:
        word = "✓"
    details = [amount(found.pairs, "pair")] if found.pairs else []
    details += [f"{found.refuting} short of the promise"] if found.refuting else []
    details += [apart] if found.pairs and (apart := inapplicable(found)) else []
    details += [f"where it counts: {', '.join(some)}"] if (some := partly(found)) else []
    return StabilityWords(word, "; ".join(details))


@dataclass(frozen=True)
class Pair:
    """Two engines, or an engine and the reference, that differ on a program. ``word`` names the equivalences up to
    which they agree."""

    left: str
    right: str
    word: str
    agreement: Agreement


@dataclass(frozen=True)
class Alike:
    """Pairs that differ on one smallest case, and that case as lines of text; "" where it tells only what a case of one
    engine and the reference tells, or that two engines read *late* differently."""

    pairs: list[Pair]
    lines: str


class AgreementShown:
    """The agreement of a run's engines: over all programs, and program by program."""

    def __init__(self, run: Results) -> None:
        self.whole: dict[tuple[str, str], list[int]] = {}
        differences: dict[str, dict[str, list[Pair]]] = {}
        for found in run.agreements:
            pair = (found.left, found.left if found.with_reference else found.right)
            both = self.whole.setdefault(pair, [0, 0])
            both[0] += found.cases - found.differing
            both[1] += found.cases
            if found.differing:
                name = f"{run.scenarios[found.scenario].name} ({found.program})"
                smallest = canonical(found.smallest.to_json() if found.smallest else None)
                right = "the reference, late likewise" if found.with_reference else found.right
                alike = differences.setdefault(name, {}).setdefault(smallest, [])
                alike.append(Pair(found.left, right, agreed(found), found))
        compared = {engine for pair, (_, cases) in self.whole.items() if cases for engine in pair}
        self.engines = [engine for engine in run.engines if engine in compared]
        apart = {
            name: [p.left for pairs in groups.values() for p in pairs if p.agreement.with_reference]
            for name, groups in differences.items()
        }
        self.programs = {
            name: [
                Alike(pairs, "\n".join(_lines(pairs)) if _tells(pairs, apart[name]) else "")
                for pairs in groups.values()
            ]
            for name, groups in differences.items()
        }

    def between(self, left: str, right: str) -> list[int] | None:
        """(identical, compared) of two engines, whichever way round; of one engine and the reference for itself."""
        found = self.whole.get((left, right)) or self.whole.get((right, left))
        return found if found and found[1] else None


def _tells(pairs: Sequence[Pair], apart: Collection[str]) -> bool:
    """Whether a case tells more of some pairs than that one of them differs from the reference (``apart``: these have a
    case of their own) or that the two read *late* differently."""
    return any(
        p.agreement.with_reference
        or (p.agreement.not_on_time < p.agreement.differing and not {p.left, p.right} & set(apart))
        for p in pairs
    )


def _lines(pairs: Sequence[Pair]) -> list[str]:
    """The case on which some pairs differ in the same way. One name stands for all engines on one side."""
    lefts, rights = {pair.left for pair in pairs}, {pair.right for pair in pairs}
    left = next(iter(lefts)) if len(lefts) == 1 else "the first"
    right = next(iter(rights)) if len(rights) == 1 else "the other" if len(lefts) == 1 else "the second"
    return list(difference_lines(pairs[0].agreement, left, right))

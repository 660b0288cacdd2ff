"""The answers that a run's results give to the claims of documents, see ``catalogue``."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from importlib.resources import files

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.verdict import fold
from conformance.model.engine import bare, is_accepted
from conformance.model.scenario import opposite_of
from conformance.results.catalogue import Claim, Condition, Document, catalogue
from conformance.results.results import Results
from conformance.support.grouping import grouped
from conformance.support.plain import Plain


class Answer(Enum):
    """The possible answers of results to a claim, the most telling first."""

    CONTRADICTED = "contradicted"
    CONFIRMED = "confirmed"
    UNDECIDED = "undecided"
    NOT_ASKED = "not asked in this run"
    NOT_DECIDABLE = "not decidable here"


@dataclass(frozen=True)
class Probed(Plain):
    """The result of a probe.

    Attributes:
        script: the digest of the script that saw it.
        versions: name -> version of what it ran on; the framework is called as its claims call it.
    """

    answer: Answer
    seen: str
    script: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class OnEngine:
    """The answer of one engine to a claim. ``because`` holds the deciding cells of the guarantees, each folded over its
    perturbations, ``answers`` what the engine said to the queries that the claim says are refused, in words."""

    engine: str
    answer: Answer
    because: tuple[MatrixCell, ...] = ()
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    """The answer of results to a claim. ``reason`` is one line. ``probed`` is the result of the claim's probe, if it
    has one."""

    claim: Claim
    answer: Answer
    reason: str
    engines: tuple[OnEngine, ...] = ()
    probed: Probed | None = None

    @property
    def by_answer(self) -> dict[Answer, list[OnEngine]]:
        """The engines that were asked, by what they say, the most telling answer first."""
        found = grouped((on.answer, on) for on in self.engines)
        return {answer: found[answer] for answer in Answer if answer in found and answer is not Answer.NOT_ASKED}


@cache
def probed() -> dict[str, Probed]:
    """Claim -> result of its probe at the last run of the probes."""
    data = json.loads(files("conformance.results").joinpath("claims_probed.json").read_text(encoding="utf-8"))
    return {name: Probed.from_json(found) for name, found in data.items()}


def quoted(results: Results, claims: Iterable[Claim]) -> list[Claim]:
    """Claims made from quotes of users' guarantees, in scenarios that none of ``claims`` asks. A quote speaks of the
    framework that its document is named after, else of all engines but the reference."""
    frameworks = sorted({claim.document.framework for claim in catalogue()} - {""})
    asked = {condition.scenario for claim in claims for condition in claim.conditions}
    there, found = results.engines, []
    for scenario, texts in results.scenarios.items():
        for guarantee, text in texts.guarantees.items():
            if text.quote and scenario not in asked:
                about = next((name for name in frameworks if name in text.source.lower()), "")
                engines = tuple(e for e in there if e != "reference" and e.startswith(about))
                document = Document(text.source, text.url, framework=about)
                asked_as = (Condition(scenario, guarantee),)
                found.append(Claim(f"{scenario}/{guarantee}", text.quote, document, engines, asked_as))
    return found


def decide(claims: Iterable[Claim], results: Results, probed: Mapping[str, Probed]) -> list[Decision]:
    """The answer of results to each claim, in the order of the claims. ``probed``: claim -> result of its probe. A cell
    that contradicts a claim by holding has the witness against its opposite."""
    cells, engines = results.by_row, results.engines
    return [_decide(claim, engines, results, cells, probed.get(claim.id)) for claim in claims]


def _decide(
    claim: Claim,
    asked: Sequence[str],
    results: Results,
    cells: Mapping[tuple[tuple[str, str], str], list[MatrixCell]],
    seen: Probed | None,
) -> Decision:
    if claim.not_decidable:
        return Decision(claim, Answer.NOT_DECIDABLE, claim.not_decidable)
    if claim.probe:
        return _by_probe(claim, results, seen)
    engines = tuple(_on_engine(claim, e, results, cells) for e in asked if claim.speaks_of(e))
    found = Counter(on_engine.answer for on_engine in engines)
    answer = next((answer for answer in Answer if found[answer]), Answer.NOT_ASKED)
    if answer is Answer.UNDECIDED and claim.shown_by:
        reason = "it says what may happen, which was not seen"
    elif answer is Answer.NOT_ASKED:
        reason = f"none of {', '.join(claim.engines)} was asked for what decides it"
    elif answer is Answer.NOT_DECIDABLE:
        reason = "the engines that it speaks of cannot be asked"
    else:
        reason = ", ".join(f"{answer.value} on {found[answer]}" for answer in Answer if found[answer])
    return Decision(claim, answer, reason, engines)


def _by_probe(claim: Claim, results: Results, seen: Probed | None) -> Decision:
    """The decision by a probe. The probe's result counts for results with the same version of the framework."""
    if seen is None:
        return Decision(claim, Answer.NOT_ASKED, "its probe was not run")
    about = claim.document.framework
    versions = {record.versions.get(about) for record in results.environment.values()} - {None}
    if seen.versions[about] not in versions:
        reason = (
            f"its probe ran on {about} {seen.versions[about]} ({seen.answer.value}), which these results are not of"
        )
        return Decision(claim, Answer.NOT_ASKED, reason, probed=seen)
    return Decision(claim, seen.answer, seen.seen, probed=seen)


def _on_engine(
    claim: Claim, engine: str, results: Results, cells: Mapping[tuple[tuple[str, str], str], list[MatrixCell]]
) -> OnEngine:
    """The decision on one engine by its most telling cells: cells that contradict the claim, else undecided cells, else
    cells that confirm the claim."""
    if claim.refused:
        return _refused(claim, engine, results)
    found: dict[Answer, list[MatrixCell]] = {}
    for condition in claim.conditions:
        parts = [c for c in cells.get((condition.row, engine), []) if condition.perturbation in ("", c.perturbation)]
        if parts:
            cell = fold(parts)
            if cell.verdict is Verdict.HOLDS and not condition.stands:
                cell = replace(cell, witness=_against_opposite(condition, engine, results))
            found.setdefault(_says(cell, condition, condition in claim.shown_by), []).append(cell)
    order = [Answer.CONTRADICTED, Answer.UNDECIDED, Answer.CONFIRMED, Answer.NOT_DECIDABLE]
    if claim.shown_by:
        order = [Answer.CONFIRMED, Answer.UNDECIDED, Answer.NOT_DECIDABLE]
    answer = next((answer for answer in order if answer in found), Answer.NOT_ASKED)
    return OnEngine(engine, answer, tuple(found.get(answer, ())))


def _refused(claim: Claim, engine: str, results: Results) -> OnEngine:
    """The decision on one engine by what it said to the queries that the claim says are refused."""
    said = results.environment[engine].answers
    told = {name: said[name] for name in claim.refused if name in said}
    if not told:
        return OnEngine(engine, Answer.NOT_ASKED)
    contradicted = [name for name, answer in told.items() if is_accepted(answer)]
    answer = Answer.CONTRADICTED if contradicted else Answer.CONFIRMED
    return OnEngine(engine, answer, answers=tuple(f"{name}: {told[name]}" for name in contradicted or told))


def _against_opposite(condition: Condition, engine: str, results: Results) -> str:
    """The id of a witness against the opposite of a guarantee that holds on an engine, "" where there is none."""
    wanted = condition.scenario, opposite_of(condition.guarantee), bare(engine)
    told = ((name, (w.case.scenario, w.guarantee, bare(w.engine))) for name, w in results.witnesses.items())
    return next((name for name, about in told if about == wanted), "")


def _says(cell: MatrixCell, condition: Condition, may: bool) -> Answer:
    """The answer of one cell to a claim. ``may``: the claim says that the guarantee may be broken."""
    if cell.verdict is Verdict.UNSUPPORTED:
        return Answer.NOT_DECIDABLE
    if cell.verdict not in (Verdict.HOLDS, Verdict.VIOLATED):
        return Answer.UNDECIDED
    if may:
        return Answer.CONFIRMED if cell.verdict is Verdict.VIOLATED else Answer.UNDECIDED
    return Answer.CONFIRMED if (cell.verdict is Verdict.HOLDS) is condition.stands else Answer.CONTRADICTED


def all_decisions(results: Results) -> list[Decision]:
    """The answer of results to the catalogue's claims, and to the quotes of users' own guarantees."""
    claims = catalogue()
    return decide([*claims, *quoted(results, claims)], results, probed())


def counted(decisions: Iterable[Decision]) -> dict[Answer, int]:
    found = Counter(decision.answer for decision in decisions)
    return {answer: found[answer] for answer in Answer}

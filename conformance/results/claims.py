"""Claims: sentences of documents and tutorials about stateful processing, with the answer that a run's results give to
each.

The claims stand in ``claims.toml`` beside this module, each with a quote and what decides it:

- ``decided_by``: guarantees. All must hold; a violated one contradicts the claim. "not SCENARIO/GUARANTEE" marks a
  claim that says the opposite of a guarantee: if the guarantee holds, it contradicts the claim. This is sound only if
  the claim speaks of every case that tests the guarantee.
- ``shown_by``: guarantees too, for a claim that something *may* happen. A violated guarantee shows the claim; nothing
  contradicts the claim.
- ``probe``: the name of a script outside the harness. The result of the probe is recorded in ``claims_probed.json``,
  with the version.
- ``not_decidable``: why the harness cannot decide it.

A guarantee is named SCENARIO/GUARANTEE by its ids; SCENARIO/GUARANTEE@PERTURBATION names the guarantee under that
perturbation alone.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.judgement.verdict import fold
from conformance.model.engine import bare
from conformance.model.scenario import opposite_of
from conformance.results.results import Results

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WAYS = ("decided_by", "shown_by", "probe", "not_decidable")
TEXT = {"id", "quote", "document", "probe", "not_decidable", "note", "finding"}
LISTS = {"engines", "decided_by", "shown_by"}


class UnusableClaims(ValueError):
    """An unusable catalogue. The message names the claim and its defect."""


class Answer(Enum):
    """The possible answers of results to a claim, the most telling first."""

    CONTRADICTED = "contradicted"
    CONFIRMED = "confirmed"
    UNDECIDED = "undecided"
    NOT_ASKED = "not asked in this run"
    NOT_DECIDABLE = "not decidable here"


@dataclass(frozen=True)
class Document:
    """The document of a claim.

    Attributes:
        version: the release that its text is of, or when it was read.
        framework: what it is about, "spark" or "beam"; "" where nobody knows.
        official: whether the framework's own project, or its vendor, publishes it.
    """

    title: str
    url: str = ""
    version: str = ""
    framework: str = ""
    official: bool = False


@dataclass(frozen=True)
class Condition:
    """A guarantee that bears on a claim, under one perturbation or, with "", under all. ``stands`` is True if the claim
    says the same as the guarantee, and False if the claim says the opposite."""

    scenario: str
    guarantee: str
    perturbation: str = ""
    stands: bool = True

    @property
    def row(self) -> tuple[str, str]:
        return self.scenario, self.guarantee

    def __str__(self) -> str:
        under = f"@{self.perturbation}" if self.perturbation else ""
        return f"{'' if self.stands else 'not '}{self.scenario}/{self.guarantee}{under}"


@dataclass(frozen=True)
class Claim:
    """A sentence of a document, and what decides it.

    Attributes:
        engines: of which engines it speaks: ids, each with its variants; () for a probe or one that is not decidable.
        probe: the name of the script that decides it, "" where guarantees do.
        note: how the sentence was read, where that is not plain.
        finding: the number in docs/findings.md of what contradicts it, with a script outside the harness; "" where nothing does.
    """

    id: str
    quote: str
    document: Document
    engines: tuple[str, ...] = ()
    decided_by: tuple[Condition, ...] = ()
    shown_by: tuple[Condition, ...] = ()
    probe: str = ""
    not_decidable: str = ""
    note: str = ""
    finding: str = ""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.decided_by + self.shown_by

    def speaks_of(self, engine: str) -> bool:
        return any(bare(engine) == name or bare(engine).startswith(f"{name}:") for name in self.engines)


@dataclass(frozen=True)
class Probed:
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
    perturbations."""

    engine: str
    answer: Answer
    because: tuple[MatrixCell, ...]


@dataclass(frozen=True)
class Decision:
    """The answer of results to a claim. ``reason`` is one line. ``probed`` is the result of the claim's probe, if it
    has one."""

    claim: Claim
    answer: Answer
    reason: str
    engines: tuple[OnEngine, ...] = ()
    probed: Probed | None = None

    def of(self, answer: Answer) -> list[OnEngine]:
        return [found for found in self.engines if found.answer is answer]


@cache
def catalogue() -> tuple[Claim, ...]:
    """The claims that come with the harness."""
    return read(files("conformance.results").joinpath("claims.toml").read_text(encoding="utf-8"))


@cache
def probed() -> dict[str, Probed]:
    """Claim -> result of its probe at the last run of the probes."""
    data = json.loads(files("conformance.results").joinpath("claims_probed.json").read_text(encoding="utf-8"))
    return {
        name: Probed(Answer(found["answer"]), found["seen"], found["script"], found["versions"])
        for name, found in data.items()
    }


def read(text: str) -> tuple[Claim, ...]:
    """The claims of a catalogue.

    Raises:
        UnusableClaims: it cannot be used.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnusableClaims(f"the claims are not TOML: {error}") from None
    try:
        documents = {name: Document(**entry) for name, entry in data["documents"].items()}
        groups: dict[str, list[str]] = data["engines"]
        found = [_claim(entry, documents, groups) for entry in data["claim"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise UnusableClaims(f"the claims have not the form that they should have: {error}") from None
    for name, times in Counter(claim.id for claim in found).items():
        if times > 1:
            raise UnusableClaims(f"there are two claims {name!r}")
    return tuple(found)


def _claim(entry: Mapping[str, Any], documents: Mapping[str, Document], groups: Mapping[str, list[str]]) -> Claim:
    where = f"claim {entry.get('id', entry.get('quote'))!r}"
    if extra := set(entry) - TEXT - LISTS:
        raise UnusableClaims(f"{where}: unknown key {min(extra)!r}")
    wrong = [k for k, v in entry.items() if not isinstance(v, list if k in LISTS else str) or not v]
    if missing := [*({"id", "quote", "document"} - set(entry)), *wrong]:
        raise UnusableClaims(f"{where}: {missing[0]} is missing, empty or not of its kind")
    if entry["document"] not in documents:
        raise UnusableClaims(f"{where}: unknown document {entry['document']!r}")
    if sum(way in entry for way in WAYS) != 1:
        raise UnusableClaims(f"{where}: give exactly one of {', '.join(WAYS)}")
    if (bool(entry.get("decided_by")) or bool(entry.get("shown_by"))) != bool(entry.get("engines")):
        raise UnusableClaims(
            f"{where}: a claim that guarantees decide names the engines it speaks of, and no other does"
        )
    engines = [engine for name in entry.get("engines", ()) for engine in groups.get(name, [name])]
    return Claim(
        id=entry["id"],
        quote=entry["quote"],
        document=documents[entry["document"]],
        engines=tuple(dict.fromkeys(engines)),
        decided_by=tuple(_condition(text, where) for text in entry.get("decided_by", ())),
        shown_by=tuple(_condition(text, where) for text in entry.get("shown_by", ())),
        probe=entry.get("probe", ""),
        not_decidable=entry.get("not_decidable", ""),
        note=entry.get("note", ""),
        finding=entry.get("finding", ""),
    )


def opposed(engine: str) -> set[tuple[str, str]]:
    """(scenario, guarantee) of each guarantee that contradicts a claim of the catalogue about an engine by holding
    there."""
    about = (claim for claim in catalogue() if claim.speaks_of(engine))
    return {condition.row for claim in about for condition in claim.conditions if not condition.stands}


def _condition(text: str, where: str) -> Condition:
    row, _, perturbation = text.removeprefix("not ").partition("@")
    scenario, slash, guarantee = row.partition("/")
    if not slash:
        raise UnusableClaims(f"{where}: {text!r} is not SCENARIO/GUARANTEE")
    return Condition(scenario, guarantee, perturbation, stands=not text.startswith("not "))


def quoted(results: Results, claims: Iterable[Claim]) -> list[Claim]:
    """Claims made from quotes of users' guarantees, in scenarios that none of ``claims`` asks. A quote speaks of the
    framework that its document is named after, else of all engines but the reference."""
    frameworks = sorted({claim.document.framework for claim in catalogue()} - {""})
    asked = {condition.scenario for claim in claims for condition in claim.conditions}
    found = []
    for scenario, texts in results.scenarios.items():
        for guarantee, text in texts.guarantees.items():
            if text.quote and scenario not in asked:
                about = next((name for name in frameworks if name in text.source.lower()), "")
                engines = tuple(e for e in results.engines if e != "reference" and e.startswith(about))
                document = Document(text.source, text.url, framework=about)
                asked_as = (Condition(scenario, guarantee),)
                found.append(Claim(f"{scenario}/{guarantee}", text.quote, document, engines, asked_as))
    return found


def decide(claims: Iterable[Claim], results: Results, probed: Mapping[str, Probed]) -> list[Decision]:
    """The answer of results to each claim, in the order of the claims. ``probed``: claim -> result of its probe. A cell
    that contradicts a claim by holding has the witness against its opposite."""
    cells: dict[tuple[tuple[str, str], str], list[MatrixCell]] = {}
    for cell in results.cells:
        cells.setdefault((cell.row, cell.engine), []).append(cell)
    return [_decide(claim, results, cells, probed.get(claim.id)) for claim in claims]


def _decide(
    claim: Claim, results: Results, cells: Mapping[tuple[tuple[str, str], str], list[MatrixCell]], seen: Probed | None
) -> Decision:
    if claim.not_decidable:
        return Decision(claim, Answer.NOT_DECIDABLE, claim.not_decidable)
    if claim.probe:
        return _by_probe(claim, results, seen)
    engines = tuple(_on_engine(claim, e, results, cells) for e in results.engines if claim.speaks_of(e))
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

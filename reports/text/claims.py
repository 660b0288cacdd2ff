"""Claims in words: the results' answer to a claim, and the evidence for it."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.judgement.cell import Verdict
from conformance.reports.words import FEW, amount, replay_command
from conformance.results.claims import Answer, Decision, OnEngine, counted


@dataclass(frozen=True)
class Style:
    """A class of the style sheet, and a symbol."""

    style: str
    symbol: str


CLAIM_STYLES = {
    Answer.CONTRADICTED: Style("violated", "✗"),
    Answer.CONFIRMED: Style("holds", "✓"),
    Answer.UNDECIDED: Style("unknown", "?"),
    Answer.NOT_ASKED: Style("unsupported", "–"),
    Answer.NOT_DECIDABLE: Style("unsupported", "–"),
}
"""The look of each answer to a claim: that of the most similar verdict."""

MOST = 30
"""How many contradicted claims are told without their evidence."""


def cases_in(found: OnEngine) -> str:
    """The number of cases behind an engine's answer to a claim, and of those that break the guarantee: sums over
    guarantees."""
    cases, against = sum(c.cases for c in found.because), sum(c.violations for c in found.because)
    return f"{against}/{cases}" if against else str(cases or "")


def shown_by(found: OnEngine) -> str:
    """The command that replays a guarantee which contradicts a claim by holding, "" for none. A violated guarantee
    needs no command: its own cell has one."""
    cells = (cell for cell in found.because if cell.witness and cell.verdict is Verdict.HOLDS)
    return next((replay_command(cell.witness) for cell in cells), "")


def probed_on(decision: Decision) -> str:
    """The versions that a claim's probe ran on, "" if it has no probe."""
    if not decision.probed:
        return ""
    return f"probe {decision.claim.probe} on {', '.join(f'{k} {v}' for k, v in decision.probed.versions.items())}"


def claims_lines(decisions: Sequence[Decision], everything: bool = False) -> Iterator[str]:
    """Claims by their answers, the most telling first: a few of each, a line each, or all with their evidence; then
    how many have which answer."""
    for answer in Answer:
        found = [decision for decision in decisions if decision.answer is answer]
        most = MOST if answer is Answer.CONTRADICTED else FEW
        for decision in found if everything else found[:most]:
            yield from claim_lines(decision) if everything else itertools.islice(claim_lines(decision), 1)
        if not everything and len(found) > most:
            yield f"  and {len(found) - most} more {answer.value}: -v"
    yield ", ".join(f"{number} {answer.value}" for answer, number in counted(decisions).items() if number)


def claim_lines(decision: Decision) -> Iterator[str]:
    """A claim and its decision as lines of text, with the deciding cells of each engine and their witnesses."""
    document = decision.claim.document
    about = " ".join(filter(None, [document.title, f"({document.version})" if document.version else ""]))
    yield (
        f"{CLAIM_STYLES[decision.answer].symbol} {decision.answer.value}: “{decision.claim.quote}” "
        f"({decision.claim.id})"
    )
    yield f"    {about}{', ' if document.url else ''}{document.url}"
    if decision.claim.note:
        yield f"    {decision.claim.note}"
    if decision.answer is Answer.CONTRADICTED and decision.claim.finding:
        yield f"    finding {decision.claim.finding} in docs/findings.toml, with a script outside the harness"
    if not decision.engines:
        yield f"    {decision.reason}" + (f" ({probed_on(decision)})" if decision.probed else "")
    for found in decision.engines:
        yield from (f"    {found.answer.value} on {found.engine}: {told}" for told in found.answers)
        for cell in found.because:
            witness = f", {replay_command(cell.witness)}" if cell.witness else ""
            cases = f" in {amount(cell.cases, 'case')}" if cell.cases else ""
            row = "/".join(cell.row)
            yield f"    {found.answer.value} on {found.engine}: {row} {cell.verdict.value}{cases}{witness}"

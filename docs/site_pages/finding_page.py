"""The pages of the findings: one for each, from docs/findings.toml, its scripts, what they printed, and measured cells;
and an index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from conformance.reports.advice import Advice
from conformance.reports.findings import NAMED, Finding, excerpt
from conformance.reports.page.leads import claimed
from conformance.results import claims
from conformance.results.catalogue import catalogue
from site_pages.measured import FRAMEWORKS, Measured, Row
from site_pages.rendering import rendered

PRISM = "--prism_location"
"""The argument that names Prism's binary."""

LINES = 24
"""How many lines of a script's output a page shows."""

Places = Mapping[int, Mapping[Row, list[str]]]
"""Finding -> guarantee -> the engines that show it there."""


def place_of_finding(number: int) -> str:
    return f"docs/findings/{number}.md"


def finding_pages(
    findings: Iterable[Finding], docs: Path, measured: Measured, advice: Sequence[Advice]
) -> dict[str, str]:
    """Place in the site -> text, for each finding. ``docs``: the folder of the scripts."""
    findings = list(findings)
    shown = shown_by(findings, measured, advice)
    said = json.loads((docs / "findings/said.json").read_text(encoding="utf-8"))
    pages = {}
    for finding in findings:
        pages[place_of_finding(finding.number)] = rendered(
            "finding",
            finding=finding,
            expected=_moved(finding.expected),
            observed=_moved(finding.observed),
            do=_moved(finding.do),
            excerpt=Markup(excerpt(finding, _text(docs, finding.scripts[0]))) if finding.shows else "",
            printed=[printed for script in finding.scripts for printed in _printed(script, said)],
            claims=_claims(finding.number),
            cells=sorted(shown.get(finding.number, {}).items()),
            report=_report(finding, docs),
        )
    return pages


def index(findings: Iterable[Finding]) -> str:
    """The table of all findings, for docs/findings.md."""
    return rendered("findings", findings=list(findings))


def shown_by(findings: Iterable[Finding], measured: Measured, advice: Sequence[Advice]) -> Places:
    """Where a violated cell leads to a finding: its advice names the finding, or the cell contradicts a claim that
    does. A finding of one framework is shown by engines of no other."""
    contradicting = claimed()
    of = {finding.number: {name for name in FRAMEWORKS if name in finding.on.lower()} for finding in findings}
    found: dict[int, dict[Row, list[str]]] = {}
    for row, engine in measured.violated():
        first = next((a for a in advice if a.about(row, engine)), None)
        numbers = {*map(int, NAMED.findall(first.text))} if first else set()
        for number in numbers | contradicting.get((row, engine), set()):
            if engine.partition("-")[0] in of[number]:
                found.setdefault(number, {}).setdefault(row, []).append(engine)
    return found


def _printed(script: str, said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each recorded run of a script printed. A release that it ran with is no argument of the script."""
    name = Path(script).stem
    return [
        {
            "command": " ".join(
                ["python", f"docs/{script}", *(part for part in run.split()[1:] if "==" not in part)]
            ).replace(PRISM, f"{PRISM}=BINARY"),
            "versions": " and ".join(f"{package} {version}" for package, version in was["versions"].items()),
            "lines": Markup("\n".join(was["lines"][:LINES])),
            "more": max(0, len(was["lines"]) - LINES),
            "errors": was["errors"],
        }
        for run, was in said.items()
        if run.split()[0] == name and script.startswith(("findings/", "upstream/"))
    ]


def _claims(number: int) -> list[dict[str, Any]]:
    """The sentences of documents that a finding contradicts, and what a probe of them saw."""
    probed = claims.probed()
    return [
        {"claim": claim, "seen": probed[claim.id].seen if claim.id in probed else ""}
        for claim in catalogue()
        if claim.finding == str(number)
    ]


def _report(finding: Finding, docs: Path) -> dict[str, Any] | None:
    report = finding.report
    if report is None:
        return None
    return {
        "title": report.title,
        "seen": report.seen,
        "text": _moved(report.text),
        "source": Markup(_text(docs, report.script)),
    }


def _text(docs: Path, script: str) -> str:
    return (docs / script).read_text(encoding="utf-8").rstrip()


def _moved(text: str) -> Markup:
    """A text whose links are relative to docs/, for a page in docs/findings/."""
    return Markup(text.replace("](", "](../").replace("](../https://", "](https://"))

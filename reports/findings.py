"""The project's findings: what engines were seen to do that surprised us, from docs/findings.toml."""

import re
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from conformance.reports.own import own_file
from conformance.support.reading import tables_of, text_of

LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")
NAMED = re.compile(r"findings\.md#finding-(\d+)")
"""How a text names a finding by its number."""

HARMS = ("wrong answer", "error", "order or time", "unit tests", "surprise")
"""What a finding does to a user, worst first."""


class UnusableFindings(ValueError):
    """A file of findings cannot be used. The message says what is wrong with it."""


@dataclass(frozen=True)
class Ticket:
    """A ticket or change of the framework, and its state when the finding was written."""

    name: str
    address: str
    state: str


@dataclass(frozen=True)
class UpstreamReport:
    """A report that is ready to file. ``seen``: versions; ``script``: relative to docs/; ``text``: Markdown, with
    expected and observed."""

    title: str
    seen: str
    script: str
    text: str


@dataclass(frozen=True)
class Finding:
    """A finding.

    Attributes:
        number: for ever.
        title: one sentence.
        on: engines and versions.
        harm: one of ``HARMS``.
        expected, observed, do: Markdown, with links relative to docs/.
        scripts: relative to docs/, the smallest first.
        shows: the parts of the first script that matter: (beginning of the first line, number of lines).
        command: what shows it where no script of its own does, else "".
    """

    number: int
    title: str
    on: str
    harm: str
    expected: str
    observed: str
    do: str
    scripts: tuple[str, ...] = ()
    shows: tuple[tuple[str, int], ...] = ()
    command: str = ""
    upstream: tuple[Ticket, ...] = ()
    report: UpstreamReport | None = None

    @property
    def engine(self) -> str:
        """``on`` without markup."""
        return plain(self.on)

    @property
    def text(self) -> str:
        """``observed`` and ``do`` without markup, in one line."""
        return " ".join(plain(f"{self.observed} {self.do}").split())


def plain(text: str) -> str:
    """A text without its markup; a link is its words."""
    return LINK.sub(r"\1", text).replace("`", "").replace("*", "")


def read_findings(path: Path) -> dict[int, Finding]:
    """The findings of a file by number. Raises UnusableFindings."""
    known = {field.name for field in fields(Finding)}
    found: dict[int, Finding] = {}
    for entry in tables_of(text_of(path, UnusableFindings), path, UnusableFindings).get("finding", []):
        try:
            if unknown := sorted(entry.keys() - known):
                raise ValueError(f"unknown key {unknown[0]!r}")
            finding = _finding(entry)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise UnusableFindings(f"{path}: finding {entry.get('number', '?')}: {error!r}") from None
        if finding.number in found or finding.harm not in HARMS:
            raise UnusableFindings(f"{path}: finding {finding.number} is there twice, or its harm is none of {HARMS}")
        found[finding.number] = finding
    return found


def _finding(entry: dict[str, Any]) -> Finding:
    report = entry.get("report")
    texts = {name: entry[name].strip() for name in ("title", "on", "harm", "expected", "observed", "do")}
    return Finding(
        int(entry["number"]),
        **texts,
        scripts=tuple(entry.get("scripts", ())),
        shows=tuple((begins, int(lines)) for begins, lines in entry.get("shows", ())),
        command=entry.get("command", ""),
        upstream=tuple(Ticket(**ticket) for ticket in entry.get("upstream", ())),
        report=UpstreamReport(**{name: text.strip() for name, text in report.items()}) if report else None,
    )


@cache
def known_findings() -> dict[int, Finding]:
    """The project's findings by number; none where its file of findings is not at hand."""
    place = own_file("findings.toml")
    return read_findings(place) if place else {}


def excerpt(finding: Finding, script: str) -> str:
    """The lines of a script's text that show a finding. Raises ValueError where a part does not begin with one line of
    the script."""
    lines = script.splitlines()
    parts = []
    for begins, count in finding.shows:
        at = [number for number, line in enumerate(lines) if line.strip().startswith(begins)]
        if len(at) != 1:
            raise ValueError(f"finding {finding.number}: {len(at)} lines of its script begin with {begins!r}, not one")
        parts.append("\n".join(lines[at[0] : at[0] + count]))
    return "\n…\n".join(parts)

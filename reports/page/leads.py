"""Where a cell leads: what to do about a violation, the findings that it shows and their upstream tickets, and the
source of what was asked. Each text stands on the page once."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from conformance.comparison.history import Course, courses_in, sources
from conformance.judgement.cell import Verdict
from conformance.model.engine import bare
from conformance.plugins.points import InvalidPlugin
from conformance.plugins.registry import UnknownName, load_scenarios
from conformance.reports.advice import Advice, advice_on, known_advice
from conformance.reports.findings import NAMED, known_findings, plain
from conformance.reports.grid import Grid, Row
from conformance.reports.own import own_baselines
from conformance.reports.page.excerpts import source_of
from conformance.reports.site.places import since
from conformance.results.baseline import Baseline
from conformance.results.catalogue import catalogue

UPSTREAM = re.compile(r"\[([^\]]*)\]\(https?:")
"""How a text names a ticket of a framework."""


@dataclass(frozen=True)
class Source:
    """The source of a scenario's programs and predicates."""

    scenario: str
    anchor: str
    text: str


class Leads:
    """What the cells of a page lead to.

    Attributes:
        advice: the advice on cells that are violated, as the page shows it: (cause, paragraphs, numbers of findings).
        findings: those that cells or advice of the page are about, by number.
        indexed: titles with upstream tickets of findings and advice about guarantees of the page, whether they are
            violated or not.
    """

    def __init__(self, grid: Grid) -> None:
        self._known = known_advice()
        self._findings = known_findings()
        violated = {
            (row, engine)
            for folded in grid.folded
            for (row, engine), cell in folded.items()
            if cell.verdict is Verdict.VIOLATED
        }
        of_frameworks = any(record.framework for run in grid.runs for record in run.environment.values())
        self._courses = known_courses({(bare(engine), *row) for row, engine in violated}) if of_frameworks else {}
        self._advised = {place: found for place in violated if (found := advice_on(*place))}
        shown = [advice for advice in self._known if advice in self._advised.values()]
        self._numbers = {advice: number for number, advice in enumerate(shown)}
        self._claimed = claimed()
        self._about = {place: self._numbers_of(*place, self._advised.get(place)) for place in violated}
        self.advice = [(a.cause, paragraphs(a.text), self._linked(a)) for a in shown]
        self.findings = [
            self._findings[n]
            for n in sorted({n for about in self._about.values() for n in about})
            if n in self._findings
        ]
        self.sources = _sources(grid)
        numbers: dict[str, int] = {}
        self._index: dict[Row, dict[int, None]] = {}
        for row, engine in dict.fromkeys(place for folded in grid.folded for place in folded):
            for text in self._texts(row, engine):
                self._index.setdefault(row, {})[numbers.setdefault(text, len(numbers))] = None
        self.indexed = list(numbers)

    def _texts(self, row: Row, engine: str) -> Iterator[str]:
        """The titles, with their tickets, of the advice and the findings on a guarantee on an engine."""
        advice = advice_on(row, engine)
        if advice:
            yield " ".join([advice.cause, *UPSTREAM.findall(advice.text)])
        for number in self._numbers_of(row, engine, advice):
            finding = self._findings[number]
            yield " ".join([finding.title, *(ticket.name for ticket in finding.upstream)])

    def index_of(self, row: Row) -> tuple[int, ...]:
        """The places in ``indexed`` of what findings and advice say of a guarantee."""
        return tuple(self._index.get(row, ()))

    def _linked(self, advice: Advice) -> list[int]:
        return [number for number in map(int, NAMED.findall(advice.text)) if number in self._findings]

    def _numbers_of(self, row: Row, engine: str, advice: Advice | None) -> tuple[int, ...]:
        found = {*(self._linked(advice) if advice else ()), *self._claimed.get((row, engine), ())}
        return tuple(sorted(number for number in found if number in self._findings))

    def since(self, row: Row, engine: str) -> str:
        """Since which release a guarantee is violated on an engine, by the measured releases; "" if fewer than two have
        it."""
        course = self._courses.get((bare(engine), *row))
        if course is None or len(course.points) < 2:
            return ""
        return f"{since(course)}; measured from {course.points[0].version} to {course.now.version}"

    def advice_on(self, row: Row, engine: str) -> int | None:
        """The number of the advice on a violated cell, in ``advice``."""
        found = self._advised.get((row, engine))
        return self._numbers[found] if found else None

    def findings_of(self, row: Row, engine: str) -> tuple[int, ...]:
        """The numbers of the findings that a violated cell shows."""
        return self._about.get((row, engine), ())


def claimed() -> dict[tuple[Row, str], set[int]]:
    """(row, engine) -> the numbers of findings, by the claims that a violation there contradicts."""
    found: dict[tuple[Row, str], set[int]] = {}
    for claim in catalogue():
        if str(claim.finding).isdigit():
            for condition in claim.conditions:
                for engine in claim.engines:
                    found.setdefault((condition.row, engine), set()).add(int(claim.finding))
    return found


def paragraphs(text: str) -> list[str]:
    """Advice without its markup, a line each; what it links to is left out where the link is all."""
    return [plain(line) for line in text.splitlines() if line.strip() and not line.startswith("[More]")]


def known_courses(rows: Collection[tuple[str, str, str]]) -> Mapping[tuple[str, str, str], Course]:
    """(engine, scenario, guarantee) -> its course over the measured releases, for these rows."""
    return courses_in(measured(), rows) if rows else {}


@cache
def measured() -> Mapping[Path, Baseline]:
    """The baselines of measured releases; none where there is none."""
    place = own_baselines()
    return sources([place]) if place else {}


def _sources(grid: Grid) -> list[Source]:
    """The sources of the page's scenarios, as they stand here; none of scenarios that are not here."""
    try:
        there = {scenario.id: scenario for scenario in load_scenarios()}
    except (UnknownName, InvalidPlugin):
        return []
    asked = dict.fromkeys(row[0] for row in grid.rows)
    found = ((name, source_of(there[name])) for name in asked if name in there)
    return [Source(name, f"source-{name}", text) for name, text in found if text]

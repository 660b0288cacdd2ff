"""The addresses of the site's files, and the words for how a guarantee stands, which pages, feed and documents
share."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from conformance.comparison.history import Course, Point
from conformance.judgement.cell import IN_PART, Verdict
from conformance.reports.words import STANDINGS
from conformance.results.record import GuaranteeRecord, ScenarioRecord

WORDS = {verdict: verdict.value for verdict in Verdict} | {Verdict.VIOLATED: "broken", Verdict.UNKNOWN: "undecided"}


def place(name: str) -> str:
    """An id as a part of an address: what a file's name or a relative link cannot carry, such as a colon, becomes a
    dash."""
    return re.sub(r"[^\w@+.-]|^\.+", "-", name)


def of_engine(engine: str, suffix: str = "json") -> str:
    return f"engine/{place(engine)}.{suffix}"


def of_guarantee(scenario: str, guarantee: str, suffix: str = "json") -> str:
    return f"guarantee/{place(scenario)}/{place(guarantee)}.{suffix}"


def since(course: Course) -> str:
    """Since when a row stands as it does: "broken since 4.2.1 (holds in 4.1.4)", "holds since 3.5.9 or earlier"."""
    word = f"{WORDS[course.now.verdict]} since {course.since}"
    before = course.before
    return f"{word} ({WORDS[before.verdict]} in {before.version})" if before else f"{word} or earlier"


def standing(point: Point) -> tuple[str, str]:
    """(symbol, words) of a point."""
    if point.in_part:
        return STANDINGS["in-part"][0], f"holds, {IN_PART}"
    return STANDINGS[point.verdict.value][0], WORDS[point.verdict]


@dataclass(frozen=True)
class Texts:
    """Scenarios in words, by id. What has no words stands there by its id: a baseline may be older than a scenario's
    text."""

    scenarios: Mapping[str, ScenarioRecord]

    def scenario(self, name: str) -> str:
        found = self.scenarios.get(name)
        return found.name if found else name

    def guarantee(self, scenario: str, name: str) -> GuaranteeRecord:
        found = self.scenarios.get(scenario)
        return (found.guarantees.get(name) if found else None) or GuaranteeRecord(name)

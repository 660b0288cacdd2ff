"""Reports: renderings of results, ours and third parties' alike. The entry points ``conformance.reports`` register them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.model.naming import unknown
from conformance.plugins.points import registered
from conformance.plugins.registry import UnknownName
from conformance.results.results import Results

GROUP = "reports"
"""The group of their entry points."""


@dataclass(frozen=True)
class Report:
    """A rendering of results as a file.

    Attributes:
        render: the results of one or several runs, oldest first -> the text of the file.
        file: the name of the file that a run writes beside its results, "" for none.
    """

    render: Callable[[Sequence[Results]], str]
    file: str = ""


def report_names() -> list[str]:
    """The names of the registered reports, in order. No report is loaded."""
    return list(registered(GROUP))


def load_report(name: str) -> Report:
    """The report of a name. An entry point names a ``Report``, or a function that renders.

    Raises:
        UnknownName: there is no such report.
    """
    points = registered(GROUP)
    if name not in points:
        raise UnknownName(unknown("report", name, report_names()))
    found: Any = points[name].load()
    return found if isinstance(found, Report) else Report(found)


def run_reports() -> list[Report]:
    """The reports that a run writes."""
    return [report for report in map(load_report, report_names()) if report.file]

"""Reports: renderings of results, ours and third parties' alike. The entry points ``conformance.reports`` register
them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conformance.plugins.points import registered
from conformance.plugins.registry import load_named
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
    found = load_named(GROUP, "report", name)
    return found if isinstance(found, Report) else Report(found)


def run_reports() -> list[Report]:
    """The reports that a run writes."""
    return [report for report in map(load_report, report_names()) if report.file]

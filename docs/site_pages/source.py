"""The source of a scenario's programs, for its page."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

from conformance.model.program import Program
from conformance.model.scenario import Scenario
from conformance.reports.page.excerpts import excerpt


def modules(scenario: Scenario) -> dict[str, list[Program]]:
    """Name of a module -> the programs of the scenario in it."""
    found: dict[str, list[Program]] = {}
    for program in scenario.programs.values():
        found.setdefault(type(program).__module__, []).append(program)
    return found


def documented(scenario: Scenario) -> str:
    """The text of the scenario's module about the scenario, or the scenario's summary."""
    found = (inspect.getdoc(sys.modules.get(name)) for name in modules(scenario))
    return next(filter(None, found), scenario.summary)


def sources(scenario: Scenario) -> Iterator[str]:
    for name, programs in modules(scenario).items():
        yield excerpt(inspect.getsource(sys.modules[name]), {type(program).__name__ for program in programs})

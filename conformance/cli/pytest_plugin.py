"""A pytest plugin: guarantees of a team's own scenarios as test items, one for each guarantee on each engine.

    pytest --conformance [--conformance-engine ENGINE]... [--conformance-cases N] [--conformance-seed N]

collects files called ``scenario_*.py`` (or as the ini option ``conformance_files`` says), which are files as
``conformance run --load`` takes them, with a ``SCENARIO`` or a ``PORT``. The scenarios of a file run when the first of
its items does. A violated guarantee fails its item, with the witness as text; what the expectations accept
(``expectations.toml`` beside pytest's root, or ``--conformance-expectations``) is an expected failure; unsupported and
unknown are skipped, with the reason.

Files called ``subject_*.py`` (``conformance_subjects``) have subjects: a user's own queries or pipelines, an item each.
They are asked what ``conformance subject`` asks, for as long as ``--conformance-budget 60s`` says. What failed in the
last run is asked first. A test of your own asks a subject by the fixture ``conformance_ask``.

Nothing heavy is imported unless ``--conformance`` is given.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conformance.subjects.verdicts import Report


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "guarantees of stateful stream processing")
    group.addoption("--conformance", action="store_true", help="Collect scenarios, an item a guarantee and engine.")
    group.addoption("--conformance-engine", action="append", help="An engine (repeat for several). Default: all.")
    group.addoption("--conformance-cases", type=int, default=2, help="As run's --cases. Default: 2.")
    group.addoption("--conformance-seed", type=int, default=1, help="Default: 1.")
    group.addoption(
        "--conformance-budget", help="How long the subjects of a file take, such as 60s. Default: one round."
    )
    group.addoption("--conformance-expectations", type=Path, help="Default: expectations.toml, where there is one.")
    parser.addini("conformance_files", "patterns of files with scenarios", type="args", default=["scenario_*.py"])
    parser.addini("conformance_subjects", "patterns of files with subjects", type="args", default=["subject_*.py"])


def pytest_configure(config: pytest.Config) -> None:
    """Raises UsageError for an option that would do nothing."""
    named = ("engine", "cases", "seed", "budget", "expectations")
    defaults = {"cases": 2, "seed": 1}
    given = [name for name in named if config.getoption(f"--conformance-{name}") != defaults.get(name)]
    if given and not config.getoption("--conformance"):
        raise pytest.UsageError(f"--conformance-{given[0]} does nothing without --conformance: give it, too")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    for patterns, kind in (("conformance_subjects", "SubjectFile"), ("conformance_files", "ScenarioFile")):
        if parent.config.getoption("--conformance") and any(map(file_path.match, parent.config.getini(patterns))):
            from conformance.cli import pytest_items

            found: pytest.Collector = getattr(pytest_items, kind).from_parent(parent, path=file_path)
            return found
    return None


@pytest.fixture
def conformance_ask(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """Asks a subject its questions, or some of them, and fails the test where one is violated:
    ``conformance_ask(visits, "order", budget="30s")``. Returns the report."""
    from conformance.cli.pytest_items import ask

    return partial(ask, request.config)

"""The page of a run, open in a browser that has no network."""

import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from conformance.judgement.cell import Verdict
from conformance.reports.page import html
from conformance.results.results import Results

collect_ignore = [] if find_spec("playwright") else ["test_matrix_page.py", "test_questions.py"]


def pytest_report_header():
    return "tests/browser: left out, `tox -e browser` runs them" if collect_ignore else None


def pytest_addoption(parser):
    parser.addoption("--run", type=Path, help="The folder of a run whose page is tested. Default: a small run is made.")


@pytest.fixture(scope="session")
def ran(request, tmp_path_factory):
    """The folder of a run on real engines."""
    if folder := request.config.getoption("--run"):
        return folder.resolve()
    folder = tmp_path_factory.mktemp("run") / "out"
    asked = [f"--engine={name}" for name in ("reference", "beam-direct", "beam-native:windows")]
    asked += ["--cases=5", "--seed=1", f"--out={folder}", f"--witnesses={folder}/none"]
    subprocess.run([sys.executable, "-m", "conformance.cli", "run", *asked], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def results(ran):
    return Results.read(ran / "results.json.gz")


@pytest.fixture(scope="session")
def violated(results):
    """(engine, row) of a violated cell with a witness."""
    found = (
        (e, row) for row, cells in results.folded().items() for e, c in cells.items() if c.verdict is Verdict.VIOLATED
    )
    return next(found)


@pytest.fixture(scope="session")
def part(results, violated, tmp_path_factory):
    """The page of the same run, had only the scenario of that cell been asked: axe-core takes a minute on all of
    them."""
    _, (scenario, _) = violated
    path = tmp_path_factory.mktemp("part") / "matrix.html"
    cells = [cell for cell in results.cells if cell.scenario == scenario]
    path.write_text(html.render([replace(results, cells=cells)]), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def browser():
    from chromium import launch
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = launch(playwright)
        yield started
        started.close()


@pytest.fixture(scope="session")
def wrong():
    """What pages logged as errors, threw, or asked the network for, since it was last looked at."""
    return []


def _open(browser, wrong, path, anchor="", **settings):
    context = browser.new_context(offline=True, **({"viewport": {"width": 1280, "height": 900}} | settings))
    page = context.new_page()
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(("file://", "blob:")) else wrong.append(asked.url))
    page.goto(path.as_uri() + anchor)
    return page


@pytest.fixture
def open_page(browser, wrong):
    """Opens a file in a tab of its own."""
    opened = []

    def open_it(path, anchor="", **settings):
        opened.append(_open(browser, wrong, path, anchor, **settings))
        return opened[-1]

    yield open_it
    for page in opened:
        page.context.close()


@pytest.fixture(scope="session")
def opened(browser, wrong):
    """Gives the one page of a file, as it is after it was opened by an address; to open it anew takes seconds."""
    pages = {}

    def of(path, anchor=""):
        page = pages.get(path) or pages.setdefault(path, _open(browser, wrong, path))
        page.set_viewport_size({"width": 1280, "height": 900})
        page.emulate_media(media="screen", color_scheme="light")
        page.evaluate(
            "anchor => { history.pushState(null, '', anchor || '#'); dispatchEvent(new Event('hashchange')); "
            "scrollTo(0, 0) }",
            anchor,
        )
        return page

    yield of
    for page in pages.values():
        page.context.close()


@pytest.fixture(autouse=True)
def nothing_wrong(wrong):
    """What a page logs as an error, throws, or asks the network for, fails the test."""
    yield
    found = [*wrong]
    wrong.clear()
    assert found == []

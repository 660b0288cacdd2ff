"""A report of somebody else's package is as reachable as ours: by its entry point alone."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner
from hostile import hostile_results
from rich.console import Console

from conformance.cli import job
from conformance.cli.commands.report import report_
from conformance.plugins.registry import UnknownName
from conformance.results.report import Report, load_report, report_names
from conformance.results.results import RESULTS, Results


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / RESULTS
    hostile_results().write(path)
    return path


MODULE = """
from conformance.results.report import Report


def verdicts(runs):
    return "".join(f"{cell.engine} {cell.verdict.value}\\n" for cell in runs[-1].cells)


def number(runs):
    return f"{len(runs)} runs"


VERDICTS = Report(verdicts, "verdicts.txt")
"""

ENTRY_POINTS = """
[conformance.reports]
verdict-list = their_reports:VERDICTS
number = their_reports:number
"""


@pytest.fixture
def theirs(tmp_path):
    """The folder of a package that is installed nowhere but on the path."""
    folder = tmp_path / "site"
    about = folder / "their_reports-0.1.dist-info"
    about.mkdir(parents=True)
    (folder / "their_reports.py").write_text(MODULE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-reports\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


@pytest.fixture
def on_the_path(theirs, monkeypatch):
    monkeypatch.syspath_prepend(theirs)


def conformance(*arguments, theirs, cwd):
    path = os.pathsep.join(filter(None, [str(theirs), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "conformance.cli", *map(str, arguments)]
    env = os.environ | {"PYTHONPATH": path}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, check=False)


def test_their_report_has_an_option_of_its_own(theirs, stored, tmp_path):
    done = conformance(
        "report", stored, "--report", "number=n.txt", "--verdict-list", "v.txt", theirs=theirs, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "n.txt").read_text() == "1 runs"
    assert "beam-direct holds\n" in (tmp_path / "v.txt").read_text()


@pytest.mark.usefixtures("on_the_path")
def test_several_reports_are_written_at_once(stored, tmp_path):
    files = {"number": tmp_path / "n", "verdict-list": tmp_path / "v", "badge": tmp_path / "b"}
    asked = [part for name, path in files.items() for part in ("--report", f"{name}={path}")]
    done = CliRunner().invoke(report_, [str(stored), str(stored), *asked])
    assert done.exit_code == 0, done.output
    assert files["number"].read_text() == "2 runs"
    assert all(path.stat().st_size for path in files.values())


@pytest.mark.usefixtures("on_the_path")
def test_a_run_writes_their_report_beside_ours_under_the_name_that_it_gives(stored, tmp_path):
    """A report that names no file is written when it is asked for."""
    out = tmp_path / "out"
    job.prepare(out)
    (out / "verdicts.txt").write_text("of an earlier run")
    job.prepare(out)
    assert not (out / "verdicts.txt").exists()
    with (tmp_path / "printed").open("w") as printed:
        job.write(Results.read(stored), out, Console(file=printed, width=200))
    assert "verdicts.txt" in (tmp_path / "printed").read_text()
    written = {path.name for path in out.iterdir() if path.is_file()}
    ours = {"results.json.gz", "matrix.html", "summary.md", "junit.xml", "ctrf.json", "cells.csv", "badge.svg"}
    assert written == {*ours, "verdicts.txt"}


def test_a_report_that_fails_has_a_line_and_takes_nothing_along(stored, tmp_path, monkeypatch):
    out = tmp_path / "out"
    job.prepare(out)
    (out / "summary.md").mkdir()
    monkeypatch.setattr("conformance.reports.text.badge.REPORT", Report(lambda runs: 1 / 0, "badge.svg"))
    with (tmp_path / "printed").open("w") as printed:
        assert not job.write(Results.read(stored), out, Console(file=printed, width=200))
    told = (tmp_path / "printed").read_text()
    assert f"not written: {out / 'summary.md'}: Is a directory\n" in told
    assert f"not written: {out / 'badge.svg'}: ZeroDivisionError: division by zero\n" in told
    assert Results.read(out / "results.json.gz").cells == Results.read(stored).cells
    assert (out / "matrix.html").exists()


def test_an_interrupt_while_reports_are_written_leaves_the_results(stored, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("conformance.run.processes.answers", interrupted)
    job.prepare(tmp_path / "out")
    with (tmp_path / "printed").open("w") as printed:
        assert not job.write(Results.read(stored), tmp_path / "out", Console(file=printed, width=200))
    assert "interrupted before all reports were written" in (tmp_path / "printed").read_text()
    assert Results.read(tmp_path / "out" / "results.json.gz").cells


@pytest.mark.usefixtures("on_the_path")
@pytest.mark.parametrize("asked", ["nothing=x", "nothing="])
def test_an_unknown_report_gives_the_list(stored, asked):
    done = CliRunner().invoke(report_, [str(stored), "--report", asked])
    assert done.exit_code == 2
    assert ("unknown report 'nothing'; there are: badge, csv, ctrf, html" in done.output) == (asked == "nothing=x")
    assert ("is not NAME=FILE" in done.output) == (asked == "nothing=")
    with pytest.raises(UnknownName, match="number, plain, verdict-list"):
        load_report("nothing")


def test_names_are_told_without_loading_a_report(theirs, monkeypatch):
    """So that a broken report does not stop the command line."""
    (theirs / "their_reports.py").write_text("raise RuntimeError")
    monkeypatch.syspath_prepend(theirs)
    assert {"number", "verdict-list"} <= set(report_names())

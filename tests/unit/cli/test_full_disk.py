"""A disk that is full, and an interrupt while a run writes, take nothing along."""

import errno
import io
import os
import shutil
import signal
from collections import namedtuple
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from conformance.cli import job
from conformance.cli.hints import Unfinished
from conformance.cli.main import main
from conformance.results.record import RunRecord
from conformance.results.results import Results
from conformance.run.options import Options
from conformance.support.writing import naming, write_whole

FULL = OSError(errno.ENOSPC, "No space left on device")  # as a file that is open already raises it: without a name


@pytest.fixture
def full(monkeypatch):
    """Files that end in what a test puts here cannot be written."""
    suffixes, write = [], Path.write_bytes

    def or_refuse(path, content):
        if any(suffix in path.name for suffix in suffixes):
            write(path, content[:1])
            raise OSError(*FULL.args)
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", or_refuse)
    return suffixes


def test_a_file_is_there_whole_or_as_it_was(tmp_path, full):
    write_whole(tmp_path / "a" / "file.txt", "before")
    full.append("file.txt")
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_whole(tmp_path / "a" / "file.txt", "after")
    assert caught.value.filename == str(tmp_path / "a" / "file.txt")
    assert [path.read_text() for path in (tmp_path / "a").iterdir()] == ["before"]


def test_an_error_that_has_a_name_keeps_it(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, naming(Path("other")):
        (tmp_path / "none").read_text()
    assert caught.value.filename == str(tmp_path / "none")


def written(out, results=None):
    """(whether all was written, what was printed)."""
    console = Console(file=io.StringIO(), width=200)
    done = job.write(results or Results(RunRecord(), {}, {}, []), out, console)
    return done, console.file.getvalue()


def test_a_report_without_room_is_a_line_and_the_results_are_there(tmp_path, full):
    full.append("matrix.html")
    done, said = written(tmp_path)
    assert not done
    assert f"not written: {tmp_path / 'matrix.html'}: No space left on device\n" in said
    assert Results.read(tmp_path / "results.json.gz").cells == []
    assert (tmp_path / "summary.md").exists()
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".part"]


def test_results_without_room_are_a_line_with_their_path(tmp_path, full):
    full.append("results.json.gz")
    with pytest.raises(Unfinished, match=f"not written: {tmp_path / 'results.json.gz'}: No space") as caught:
        written(tmp_path)
    assert caught.value.exit_code == 3


def test_the_last_run_stays_until_another_has_results(tmp_path):
    written(tmp_path)
    job.prepare(tmp_path)
    assert not (tmp_path / "results.json.gz").exists()
    assert not (tmp_path / "summary.md").exists()
    assert Results.read(tmp_path / "results.before.json.gz").cells == []
    assert job.last_run(tmp_path), "the next run says what changed since then"


def test_room_is_checked_before_a_run(tmp_path, monkeypatch):
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(3 * 2**20))
    asked = Options(engines=("a", "b"), scenarios=(), out=tmp_path / "not" / "there")
    with pytest.raises(Unfinished, match="there: 3 MiB are free there, and this run needs some 8 MiB: make room"):
        job.check_room(asked)


def test_a_report_that_does_not_fit_is_named_and_the_others_are_written(tmp_path, full, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Results(RunRecord(), {}, {}, []).write(tmp_path / "results.json")
    full.append("page.html")
    done = CliRunner().invoke(main, ["report", "results.json", "--html", "page.html", "--markdown", "short.md"])
    assert (done.exit_code, done.output) == (3, "Error: not written: page.html: No space left on device\n")
    assert (tmp_path / "short.md").exists()


def test_an_interrupt_waits_until_the_results_are_there(tmp_path, monkeypatch):
    kept = job.write_witnesses

    def interrupted(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        kept(*arguments)

    monkeypatch.setattr(job, "write_witnesses", interrupted)
    done, said = written(tmp_path)
    assert not done
    assert "interrupted before all reports were written" in said
    assert Results.read(tmp_path / "results.json.gz").cells == []
    assert (tmp_path / "witnesses" / "confirmations.jsonl").exists()


def test_an_interrupt_of_any_command_is_a_line(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("conformance.cli.job.load_engine", interrupted)
    done = CliRunner().invoke(main, ["doctor"])
    assert (done.exit_code, done.output) == (3, "Error: interrupted\n")

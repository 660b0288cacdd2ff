"""A run at the terminal: its progress display, its output files, and its exit."""

from __future__ import annotations

import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from conformance.cli.hints import Unfinished
from conformance.model.engine import CannotRun
from conformance.plugins.registry import load_engine
from conformance.reports.text.screen import say
from conformance.results.baseline import Baseline, UnreadableBaseline
from conformance.results.record import LEFT_OUT
from conformance.results.report import run_reports
from conformance.results.results import RESULTS, Results
from conformance.results.witness import CONFIRMATIONS, write_witnesses
from conformance.support.reading import text_of
from conformance.support.writing import write_whole

if TYPE_CHECKING:
    from conformance.run.options import Options


BEFORE = "results.before.json.gz"
"""The name that the results of the last run in a folder get when another run begins there."""

ROOM, ROOM_OF_AN_ENGINE = 4, 1
"""MiB that must be free before a run: for the page and the logs, and for the tables and results of an engine with one
case of each program on each timeline. The quick run of 24 engines (316 cases) writes 14 MiB."""


def console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 160)


def execute(options: Options, console: Console, verbose: bool = False) -> bool:
    """Runs the requested job, and writes all its results. The end of the run tells what changed since the last run
    whose results are in the same folder. Returns whether the job ran to its end and all was written. Parameters and
    errors are those of ``perform``."""
    before = "" if verbose else last_run(options.out)  # the whole matrix says nothing of it
    results = perform(options, console, verbose)
    written = write(results, options.out, console, verbose, before)
    if untested := nothing_tested(results):
        say(console, untested, "yellow")
    return written and not untested and not failed(results)


def last_run(out: Path) -> str:
    """The text of the results that a folder has, of the run before where the last one was killed; "" for none."""
    for name in (RESULTS, BEFORE):
        try:
            return text_of(out / name, UnreadableBaseline)
        except UnreadableBaseline:
            continue
    return ""


def since_the_last(before: str, results: Results) -> str:
    """What changed since the run whose results have this text, "" if that cannot be compared."""
    from conformance.reports.text.ending import since_the_last

    try:
        return since_the_last(Baseline.of_text(before, RESULTS), Baseline.of(results))
    except UnreadableBaseline:
        return ""


def perform(options: Options, console: Console, verbose: bool = True) -> Results:
    """Runs the requested job and shows its progress, with ``verbose`` each step of it. An interrupt before any result
    exists ends the program.

    Raises:
        UnusableCases, UnknownName: the job cannot run.
        Unfinished: the disk has no room for what the job writes.
    """
    from conformance.reports.text.terminal import Live
    from conformance.run.run import Run

    for name in options.engines:
        load_engine(name)
    check_cases(options)
    check_room(options)
    prepare(options.out)
    if options.cases_from is None:
        say(console, f"seed {options.seed}")
    try:
        with Live(console, verbose) as live:
            job = Run(options, live)
            signal.signal(signal.SIGINT, job.stop)
            signal.signal(signal.SIGTERM, job.stop)
            results = job.execute()
    except KeyboardInterrupt:
        goes_on = options.traces.folder and not options.traces.fresh
        on = "; the same command goes on from what engines have answered" if goes_on else ""
        say(console, f"interrupted before there was any result{on}", "yellow")
        sys.exit(Unfinished.exit_code)
    return results


def check_cases(options: Options) -> None:
    """Reads the cases that the job is to take, if it is to take any, before minutes are spent. Raises UnusableCases."""
    from conformance.results.store import read_cases

    if options.cases_from:
        for _ in read_cases(options.cases_from, options.scenarios):
            pass


def check_room(options: Options) -> None:
    """Whether the disk has room for what a run writes, before minutes are spent. Raises Unfinished."""
    there = next(folder for folder in (options.out, *options.out.absolute().parents) if folder.is_dir())
    free, needed = shutil.disk_usage(there).free, ROOM + ROOM_OF_AN_ENGINE * len(options.engines) * options.wanted
    if free < needed * 2**20:
        raise Unfinished(
            f"{options.out}: {free / 2**20:.0f} MiB are free there, and this run needs some {needed} MiB: make "
            "room, or give --out"
        )


def failed(results: Results) -> bool:
    """Whether a run was cut short, or an engine did not run to its end. What a budget left out is no failure."""
    return (results.run.partial and not results.run.budget) or any(
        record.failure not in ("", LEFT_OUT) for record in results.environment.values()
    )


def nothing_tested(results: Results) -> str:
    """That no engine but the reference answered anything, though others were asked; "" if one did. Such a run must not
    pass for one that found nothing."""
    from conformance.judgement.agreement import REFERENCE
    from conformance.judgement.cell import Verdict
    from conformance.reports.words import some

    others = [name for name in results.environment if name != REFERENCE]
    said = (Verdict.HOLDS, Verdict.VIOLATED, Verdict.ERROR)
    if not others or results.subjects or any(c.engine != REFERENCE and c.verdict in said for c in results.cells):
        return ""
    return f"nothing was tested: of {some(others)}, none answered anything; the lines above say why"


@contextmanager
def uninterrupted() -> Iterator[None]:
    """An interrupt, or the signal to end, waits for the end of what is done here. Raises KeyboardInterrupt then."""
    came: list[int] = []
    before = {number: signal.signal(number, lambda n, _: came.append(n)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


def keep(results: Results, out: Path) -> None:
    """Writes the results and their witnesses."""
    results.write(out / RESULTS)
    write_witnesses(out / "witnesses", results.witnesses.values())


def write(results: Results, out: Path, console: Console, verbose: bool = False, before: str = "") -> bool:
    """Writes the results, then each of their reports, and prints the end of the run, with ``verbose`` the whole matrix.
    ``before`` is the text of the results of the last run, "" for none. Returns whether all was written: what could not
    be has a line, and an interrupt ends the reports.

    Raises:
        Unfinished: the results could not be written.
    """
    from conformance.reports.text.ending import ending
    from conformance.reports.text.terminal import summary
    from conformance.run.processes import answers, available

    reports = run_reports()

    def render(number: int) -> str:
        """Why a report could not be written, "" if it was."""
        file = out / reports[number].file
        return unwritten(file, lambda: write_whole(file, reports[number].render([results])))

    try:
        with uninterrupted():
            wrong = [_kept(results, out)]
        results.folded()  # made here once, for the processes that are forked from this one
        # By number, since processes are sent what they are to do.
        wrong = [*filter(None, (*wrong, *answers(render, range(len(reports)), available())))]
        if verbose:
            summary(results, console)
        else:
            ending(results, console, since_the_last(before, results) if before else "")
    except KeyboardInterrupt:
        wrong = ["interrupted before all reports were written"]
    for line in wrong:
        say(console, line, "yellow")
    if wrong:
        again = f"the results are there: conformance report {out / RESULTS} --html FILE writes a report of them"
        say(console, again)
        return False
    say(console, f"results in {out}: {', '.join(report.file for report in reports)}, {RESULTS}, witnesses/")
    return True


def _kept(results: Results, out: Path) -> str:
    """Writes the results, then the witnesses, which the results have, too. Says why these could not be written, "" if
    they were. Raises Unfinished."""
    if why := unwritten(out / RESULTS, lambda: results.write(out / RESULTS)):
        raise Unfinished(f"{why}; what engines answered is kept: make room, and the same command goes on from there")
    return unwritten(out / "witnesses", lambda: write_witnesses(out / "witnesses", results.witnesses.values()))


def unwritten(path: Path, write: Callable[[], None]) -> str:
    """Why a file could not be written, "" if it was. What makes a file may come from anywhere, and others are written
    all the same."""
    try:
        write()
    except Exception as error:
        why = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        return f"not written: {path}: {why}"
    return ""


def runnable(console: Console, names: Iterable[str]) -> list[str]:
    """The engines that this machine can run. One printed line for each reason says which others cannot run."""
    from conformance.reports.words import some

    found, lacking = able(names)
    for why, others in lacking.items():
        say(console, f"{some(others)}: left out: {why}", "yellow")
    return found


def able(names: Iterable[str]) -> tuple[list[str], dict[str, list[str]]]:
    """(the engines that this machine can run, why others cannot run -> these)."""
    found: list[str] = []
    lacking: dict[str, list[str]] = {}
    for name in names:
        try:
            load_engine(name).check()
        except CannotRun as error:
            lacking.setdefault(str(error), []).append(name)
        else:
            found.append(name)
    return found, lacking


def prepare(out: Path) -> None:
    """Makes the folder, and removes the files of an earlier run, so that no stale file is read as new. Its results get
    another name, from which every report can be made again. Other files stay."""
    (out / "witnesses").mkdir(parents=True, exist_ok=True)
    if (out / RESULTS).exists():
        (out / RESULTS).replace(out / BEFORE)
    stale = [out / report.file for report in run_reports()]
    stale += [out / "witnesses" / CONFIRMATIONS]
    stale += [path for path in (out / "witnesses").rglob("*.json") if re.fullmatch(r"[0-9a-f]{12}", path.stem)]
    for path in stale:
        path.unlink(missing_ok=True)

"""A run at the terminal: what it shows while it works, what it writes, and how it ends."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from conformance.engine import CannotRun
from conformance.registry import load_engine, load_reports
from conformance.results import Results
from conformance.runner import Options, Run
from conformance.storage import read_cases
from conformance.witnesses import Witness

REPORTS = {
    "html": "matrix.html",
    "markdown": "summary.md",
    "junit": "junit.xml",
    "csv": "cells.csv",
    "badge": "badge.svg",
}
"""What a run writes beside its results."""


def console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 160)


def execute(options: Options, console: Console) -> Results:
    """Run what was asked for, and write all that comes of it. As ``perform``."""
    results = perform(options, console)
    write(results, options.out, console)
    return results


def perform(options: Options, console: Console) -> Results:
    """Run what was asked for, showing how it goes. An interrupt before there was any result ends the program.

    Raises:
        UnusableCases, UnknownName: it cannot be run.
    """
    from reports.terminal import Live

    for name in options.engines:
        load_engine(name)
    if options.cases_from:
        for _ in read_cases(options.cases_from, options.scenarios):
            pass
    prepare(options.out)
    if options.cases_from is None:
        console.print(f"seed {options.seed}", highlight=False)
    try:
        with Live(console) as live:
            job = Run(options, live)
            signal.signal(signal.SIGINT, job.stop)
            signal.signal(signal.SIGTERM, job.stop)
            results = job.execute()
    except KeyboardInterrupt:
        console.print("interrupted before there was any result", style="yellow")
        sys.exit(3)
    return results


def failed(results: Results) -> bool:
    """Whether a run was cut short, or an engine did not come to its end."""
    return bool(results.run["partial"]) or any(entry["failure"] for entry in results.environment.values())


def keep(results: Results, out: Path) -> None:
    """Write the results and their witnesses."""
    (out / "witnesses").mkdir(parents=True, exist_ok=True)
    results.write(out / "results.json")
    for name, witness in results.witnesses.items():
        Witness.from_json(witness).write(out / "witnesses" / f"{name}.json")


def write(results: Results, out: Path, console: Console) -> None:
    """Write the results and all reports of them, and print the summary."""
    from reports.terminal import summary

    keep(results, out)
    for name, file in REPORTS.items():
        (out / file).write_text(load_reports()[name]([results]), encoding="utf-8")
    summary(results, console)
    console.print(
        f"results in {escape(str(out))}: {', '.join(REPORTS.values())}, results.json, witnesses/",
        highlight=False,
        soft_wrap=True,
    )


def runnable(console: Console, names: Iterable[str]) -> list[str]:
    """Those of the engines that this machine can run; says in one line each why the others cannot."""
    found = []
    for name in names:
        try:
            load_engine(name).check()
        except CannotRun as error:
            console.print(f"{name}: left out: {escape(str(error))}", style="yellow", highlight=False, soft_wrap=True)
        else:
            found.append(name)
    return found


def prepare(out: Path) -> None:
    """Make the folder, and take away what an earlier run wrote there, so that nothing stale is read as new; what else
    lies there stays."""
    (out / "witnesses").mkdir(parents=True, exist_ok=True)
    stale = [out / name for name in ("results.json", *REPORTS.values())]
    stale += [path for path in (out / "witnesses").iterdir() if re.fullmatch(r"[0-9a-f]{12}\.json", path.name)]
    for path in stale:
        path.unlink(missing_ok=True)

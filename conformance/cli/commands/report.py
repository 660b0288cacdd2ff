"""The report command: renders results again, as any registered report."""

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from conformance.cli import options
from conformance.cli.hints import Unfinished
from conformance.cli.job import console as open_console
from conformance.cli.job import unwritten
from conformance.results.report import load_report, report_names
from conformance.results.results import Results
from conformance.selftest.power import read_powers
from conformance.selftest.selftest import SelfTest
from conformance.support.naming import unknown
from conformance.support.writing import write_whole

MATRIX = "html"
"""The report that can show a kill matrix."""

TAKEN = {"report", "kills", "power", "help"}
"""Option names that cannot be the short form of a report."""


def _named(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, Path]]:
    """(name of a report, where to write it) of each NAME=FILE."""
    found = []
    for value in values:
        name, _, file = value.partition("=")
        if not name or not file:
            raise click.BadParameter(f"{value!r} is not NAME=FILE", context, option)
        if name not in report_names():
            raise click.BadParameter(unknown("report", name, report_names()), context, option)
        found.append((name, Path(file)))
    return found


def reports_to_write(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the option --report, and a short form for each registered report. The command receives ``files``:
    (name of a report, where to write the report) for each requested report."""
    short = {f"report_{number}": name for number, name in enumerate(report_names()) if name not in TAKEN}

    @wraps(command)
    def with_files(*, asked: list[tuple[str, Path]], **values: Any) -> None:
        found = {name: values.pop(parameter) for parameter, name in short.items()}
        command(files=[*asked, *((name, path) for name, path in found.items() if path)], **values)

    for parameter, name in reversed(short.items()):
        file = click.Path(path_type=Path)
        click.option(f"--{name}", parameter, type=file, help=f"Short for --report {name}=FILE.")(with_files)
    told = f"Write a report to a file (repeat for several). Reports: {', '.join(report_names())}."
    click.option("--report", "asked", metavar="NAME=FILE", multiple=True, callback=_named, help=told)(with_files)
    return with_files


@click.command("report")
@click.argument("results", nargs=-1, required=True, type=options.PATH)
@reports_to_write
@options.verbose
@click.option("--kills", type=options.PATH, help="Show the kill matrix of this self-test in the page.")
@click.option(
    "--power",
    "powers",
    multiple=True,
    type=options.PATH,
    help="Show in the page what this `selftest --as ENGINE --json` found (repeat for several files).",
)
def report_(
    results: tuple[Path, ...],
    verbose: bool,
    kills: Path | None,
    powers: tuple[Path, ...],
    files: list[tuple[str, Path]],
) -> None:
    """Make reports again from results files, of several runs oldest first; without options, print the end of the last,
    with -v its whole matrix."""
    found = [Results.read(path) for path in results]
    if (kills or powers) and MATRIX not in dict(files):
        raise click.UsageError(f"--{'kills' if kills else 'power'} says what the page shows: give --html too")

    def write(name: str, path: Path) -> None:
        if (kills or powers) and name == MATRIX:
            from conformance.reports.page import html

            of_runs = [power for path in powers for power in read_powers(path)]
            write_whole(path, html.render(found, SelfTest.read(kills) if kills else None, of_runs))
        else:
            write_whole(path, load_report(name).render(found))

    if wrong := [*filter(None, (unwritten(path, partial(write, name, path)) for name, path in files))]:
        raise Unfinished("; ".join(wrong))
    if not files:
        from conformance.reports.text.ending import ending
        from conformance.reports.text.terminal import summary

        (summary if verbose else ending)(found[-1], open_console())

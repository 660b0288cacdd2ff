"""The command subject, which tests a user's own query or pipeline."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from conformance.cli import options
from conformance.cli.hints import Unfinished
from conformance.model.engine import CannotRun
from conformance.plugins.points import shown
from conformance.subjects.processes.process import Told, ask_all
from conformance.subjects.processes.releases import between, release
from conformance.subjects.processes.worker import Request
from conformance.subjects.verdicts import Report, Verdict
from conformance.support.naming import counted
from conformance.support.release import Release

FOUND = "subjects.json"
"""The file of all reports, in the folder of a run."""

COLOURS = {Verdict.HOLDS: "green", Verdict.VIOLATED: "red", Verdict.REFUSED: "yellow", Verdict.NOT_ASKED: "yellow"}


@dataclass(frozen=True)
class Versions:
    """The releases that the subjects of a file run in, their next version, and the query that must answer alike."""

    releases: tuple[str, ...]
    next_: str
    begun: str
    alike: str

    def check(self) -> None:
        """Raises UsageError for options that do not go together."""
        if len(self.releases) > 2:
            raise click.UsageError("--release: give one release, or two to compare")
        if self.begun and len(self.releases) > 1:
            raise click.UsageError("--begun-on: give one --release that goes on")
        if self.alike and (self.next_ or self.begun):
            raise click.UsageError("--same-as asks nothing else: leave --next and --begun-on out")


@click.command("subject")
@click.argument("file", metavar="FILE[::NAME]")
@click.option("--question", "questions", multiple=True, help="A question (repeat for several). Default: all.")
@click.option(
    "--sample",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of your own rows, a JSON object a line: cases are made of them.",
)
@click.option(
    "--budget",
    metavar="TIME",
    callback=options.seconds,
    help="Take as long as this (90s, 5m), in each release, for more and more cases. Default: one round of cases.",
)
@click.option(
    "--release",
    "releases",
    metavar="PACKAGE==VERSION",
    multiple=True,
    help="Run in this release, in an environment of its own. With two, the second one must also answer as the first "
    "one does.",
)
@click.option(
    "--next",
    "next_",
    metavar="FILE[::NAME]",
    default="",
    help="The next version: does it go on from the checkpoint of FILE's? Nothing else is asked.",
)
@click.option(
    "--begun-on",
    "begun",
    metavar="PACKAGE==VERSION",
    default="",
    help="Begin in this release, and go on in that of --release: an upgrade, or a rollback. Without --next, by the "
    "same version.",
)
@click.option(
    "--same-as",
    "alike",
    metavar="FILE[::NAME]",
    default="",
    help="Another query or pipeline, of this framework or of another one, that must give the same answers to the same "
    "rows. Nothing else is asked.",
)
@options.seed
@options.out("build/subjects")
@options.into("on", Versions)
def subject_(
    file: str,
    questions: tuple[str, ...],
    sample: Path | None,
    budget: float | None,
    on: Versions,
    seed: int,
    out: Path,
) -> None:
    """Test a function of your own (a query or a pipeline) that @subject declares: what may not change its answer, must
    not.

    FILE is a Python file. NAME is one of its subjects; without it, all are tested. What is violated leaves a script in
    --out that shows it.

    Exit code 0 if nothing is violated, 1 if anything is or the next version is refused, 2 for wrong usage or input, 3
    if an engine could not be run to its end, or the command was interrupted.
    """
    path, colons, name = file.partition("::")
    next_path, _, next_name = (on.next_ or on.alike).partition("::")
    for each in (path, *([next_path] if next_path else [])):
        if not Path(each).is_file():
            raise click.UsageError(f"there is no file {each}")
    on.check()
    if on.begun and not on.next_:
        next_path, next_name = path, name
    request = Request(
        str(Path(path).resolve()),
        (name,) if colons else (),
        questions,
        seed,
        budget or 0,
        str(sample.resolve()) if sample else "",
        again=True,
        where=path,
        next_file=str(Path(next_path).resolve()) if next_path else "",
        next_subject=next_name,
        alike=bool(on.alike),
    )
    releases = [release(text) for text in on.releases]
    code, reports = ask_subjects(request, releases, out, release(on.begun) if on.begun else None)
    scripts = any(finding.script for report in reports for finding in report.findings)
    each = f"and in {' and '.join(f'{one.version}/' for one in releases)}: " if len(releases) > 1 else ""
    click.echo(f"in {shown(out)}: {FOUND}, {each}engine.log" + (", a script for each violation" if scripts else ""))
    sys.exit(code)


def ask_subjects(
    request: Request, releases: Sequence[Release], out: Path, begun: Release | None = None
) -> tuple[int, list[Report]]:
    """Asks the subjects of a file, in the installed release, in one, or in two that are compared; versions before a
    restart run in the release ``begun``. Prints and writes what was found, and returns the exit code and the
    reports. Raises Unfinished where the user interrupts it."""
    told = []
    each_release: list[Release | None] = [*releases] or [None]
    for one in each_release:
        place = out / one.version if one and len(releases) > 1 else out
        mine = replace(request, out=str(place))
        try:
            told.append(ask_all(mine, place / "engine.log", progress, one, begun, print_report))
        except CannotRun as error:
            told.append(Told(cannot=(str(error),)))
        show(told[-1])
        if told[-1].interrupted:
            break
    reports = [report for each in told for report in each.reports]
    code = max(each.code for each in told)
    if len(told) == 2 and not told[1].interrupted:
        compared = between(told[0].reports, told[1].reports)
        for report in compared:
            print_report(report)
        reports += compared
        code = max(code, int(any(report.violated for report in compared)))
    out.mkdir(parents=True, exist_ok=True)
    (out / FOUND).write_text(json.dumps([report.to_json() for report in reports], indent=1) + "\n", encoding="utf-8")
    if told[-1].interrupted:
        raise Unfinished(f"interrupted; what was found is in {shown(out / FOUND)}")
    return code, reports


def progress(line: str) -> None:
    """Shows what happens, on a terminal alone."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{line[:100]}", nl=False, err=True)


def show(told: Told) -> None:
    """Prints what a process said."""
    progress("")
    if told.unusable:
        raise click.UsageError(told.unusable)
    for line in told.cannot:
        click.echo(click.style(line, fg="yellow"), err=True)


def print_report(report: Report) -> None:
    """Prints what was found of a subject."""
    progress("")
    if report.error:
        click.echo(f"Error: {report.error}", err=True)
        return
    click.echo(f"{report.subject} on {report.version}" + (f" ({report.packed})" if report.packed else ""))
    for finding in report.findings:
        verdict = click.style(f"{finding.verdict.value:<9}", fg=COLOURS[finding.verdict])
        if finding.verdict in (Verdict.NOT_ASKED, Verdict.REFUSED):
            click.echo(f"  {verdict}  {finding.question:<10}  {finding.why}")
            continue
        rows = f", {counted(finding.rows, 'row')}" if finding.rows else ""
        click.echo(f"  {verdict}  {finding.question:<10}  {finding.means} ({counted(finding.cases, 'case')}{rows})")
        if finding.verdict is Verdict.VIOLATED:
            click.echo(f"             {finding.why}")
            if finding.script:
                click.echo(f"             python {shown(Path(finding.script).resolve())}")

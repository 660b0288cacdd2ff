"""The history command: whether comparisons of releases show the changes that are known."""

import subprocess
import sys
import tempfile
from pathlib import Path

import click

from conformance.cli import hints, options
from conformance.comparison.recall import Answer, Run, answered, read_catalogue, runs_of
from conformance.results.results import RESULTS, Results
from conformance.support.naming import unknown

ENOUGH = 0.8
"""The share of the known changes that comparisons must show."""


@click.command("history")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--catalogue", type=options.PATH, help="Another file of changes. Default: the project's.")
@click.option("--list", "as_list", is_flag=True, help="Print the changes and the runs that show them, and run none.")
def history_(ids: tuple[str, ...], catalogue: Path | None, as_list: bool) -> None:
    """Run each known change between two releases on both of them, and say whether the comparison shows it. IDs are
    those of tickets; without any: all. Pairs of releases between which nothing changed must be quiet.

    Exit code 0; 1 where fewer than 80 % of the changes are shown, or a quiet pair is not quiet; 2 for wrong usage; 3
    where a run failed.
    """
    from conformance.reports.own import known_history

    changes = read_catalogue(catalogue) if catalogue else known_history()
    there = {change.id: change for change in changes}
    if odd := [name for name in ids if name not in there]:
        raise click.UsageError(unknown("change", odd[0], there))
    asked = [change for change in changes if not ids or change.id in ids]
    if as_list:
        for run in runs_of(asked):
            for change in run.changes:
                click.echo(f"{change.id}: {change.says}")
            click.echo(f"    conformance {' '.join(run.arguments(Path('build/history') / run.changes[0].id))}")
        return
    found: list[Answer] = []
    for run in runs_of(asked):
        results = _results(run)
        for change in run.changes:
            found.append(answered(change, results))
            click.echo(found[-1].line)
    shown = [answer for answer in found if not answer.change.quiet]
    right, alarms = sum(a.right for a in shown), [a for a in found if a.change.quiet and not a.right]
    quiet = f"; {len(alarms)} false alarms on {len(found) - len(shown)} quiet pairs" if len(found) > len(shown) else ""
    click.echo(f"{right} of {len(shown)} known changes shown{quiet}")
    if alarms or right < ENOUGH * len(shown):
        sys.exit(1)


def _results(run: Run) -> Results:
    """Raises Unfinished."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "conformance", *run.arguments(Path(folder))]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        path = Path(folder) / RESULTS
        if not path.exists():
            said = (ended.stderr or ended.stdout).strip().splitlines() or [f"exit code {ended.returncode}"]
            raise hints.Unfinished(f"{run.changes[0].id}: the run gave no results: {said[-1]}")
        return Results.read(path)


"""The commands of this module."""

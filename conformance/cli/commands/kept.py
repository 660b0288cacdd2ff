"""The command cache: the traces, cases and check results that runs keep for later ones."""

import datetime

import click

from conformance.execution.kept import DAYS, MEGABYTES, Kept, parts, traces_folder
from conformance.support.naming import counted


@click.command("cache")
@click.option("--prune", is_flag=True, help="Remove what is too old or too much, by the two bounds below.")
@click.option("--days", type=click.FloatRange(0), default=DAYS, show_default=True, help="Unused for so many days.")
@click.option(
    "--megabytes", type=click.FloatRange(0), default=MEGABYTES, show_default=True, help="More than so many MiB."
)
@click.option("--clear", is_flag=True, help="Remove everything.")
def cache_(prune: bool, days: float, megabytes: float, clear: bool) -> None:
    """Show what runs keep for later runs, or remove it. A run itself removes what no run has used for 60 days, and the
    longest unused above 4 GiB."""
    folder = traces_folder()
    if clear or prune:
        removed = Kept(folder).prune(0 if clear else days, 0 if clear else megabytes)
        click.echo(f"{counted(removed, 'file')} removed")
    click.echo(str(folder))
    for kind, (number, size, used) in parts(folder).items():
        day = datetime.datetime.fromtimestamp(used, datetime.timezone.utc).date()
        click.echo(f"  {kind}: {counted(number, 'file')}, {size / 2**20:.1f} MiB, the longest unused since {day}")

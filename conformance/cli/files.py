"""The command check-files: whether files of a user's repository can be used, without running anything."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.comparison.expectations import UnusableExpectations, unmatched
from conformance.comparison.expectations import read as read_expectations
from conformance.plugins.loading import ask_for
from conformance.plugins.registry import engine_ids, load_scenarios, users, variant_ids


@click.command("check-files")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def check_files_(files: tuple[Path, ...]) -> None:
    """Check files of scenarios or ports (.py) and of expectations (.toml), as a pre-commit hook does.

    Scenarios must load, and no two may have one id. Expectations must be whole, and of engines and scenarios that there are. The first
    bad file gives one line and exit code 2.
    """
    kinds = {suffix: [path for path in files if path.suffix == suffix] for suffix in (".py", ".toml")}
    if other := [path for path in files if path not in (*kinds[".py"], *kinds[".toml"])]:
        raise click.UsageError(f"{other[0]} is neither a Python file nor TOML")
    ask_for(map(str, kinds[".py"]))
    users()
    engines, scenarios = [*engine_ids(), *variant_ids()], [scenario.id for scenario in load_scenarios()]
    for path in kinds[".toml"]:
        if wrong := unmatched(read_expectations(path), (), engines, scenarios):
            raise UnusableExpectations(f"{path}: {wrong[0]}")


COMMANDS = (check_files_,)

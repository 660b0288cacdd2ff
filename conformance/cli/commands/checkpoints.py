"""The commands checkpoints and crashes: which release of a package goes on from which other one, and what a job keeps
that is killed. What they find is kept in a file."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from packaging.version import Version

from conformance.cli import options
from conformance.cli.job import console as open_console
from conformance.cli.job import perform
from conformance.comparison.checkpoints import Resumed, resume
from conformance.comparison.crashes import Killed, kill, stores_of
from conformance.comparison.measured import Row, read, write
from conformance.execution.environments import python_of
from conformance.execution.kept import traces_folder
from conformance.model.engine import CannotRun, Resumable
from conformance.plugins.registry import engine_ids, load_engine, package_of, packages, releases_of
from conformance.results.results import Results
from conformance.run.options import KeptTraces, Options
from conformance.support.naming import unknown
from conformance.support.release import version_in

CUT_SHORT = 3
"""The exit code where a release could not be run to its end."""


@dataclass(frozen=True)
class Matrix:
    """What is asked, and where it is kept."""

    engines: tuple[str, ...]
    scenarios: tuple[str, ...]
    seed: int
    out: Path
    timeout: float
    file: Path


def _matrix(name: str, all_engines: str, engine: str) -> options.Decorator:
    """The options of a command of this name."""
    file = click.option(
        "--file",
        type=click.Path(path_type=Path, dir_okay=False),
        default=Path(f"build/{name}.json"),
        show_default=True,
        help="Where the matrix is kept. What it has already is not asked again.",
    )
    return options.together(
        options.engines(all_engines, engine),
        options.scenarios("all"),
        options.seed,
        options.out(f"build/{name}"),
        options.timeout(600, "one pack of cases on one engine"),
        file,
        options.into("asked", Matrix),
    )


@click.command("checkpoints")
@click.argument("package")
@click.argument("releases", nargs=-1, required=True)
@_matrix("checkpoints", "all of the package that keep a checkpoint", "An engine, without a version")
def checkpoints_(package: str, releases: tuple[str, ...], asked: Matrix) -> None:
    """Begin jobs in each of some RELEASES of PACKAGE, and go on from their checkpoints in each other one, then in the
    first one again: which upgrades, and which rollbacks, keep what a job has.

    Exit code 0, 2 for wrong usage, 3 if a release could not be run to its end.
    """
    numbers, engines = _releases(package, releases), _engines(package, asked.engines)
    _measure(asked, Resumed, lambda given, run, known: resume(numbers, engines, given, run, known), _way)


@click.command("crashes")
@click.argument("package")
@_matrix("crashes", "all of the package whose jobs can be killed", "An engine")
def crashes_(package: str, asked: Matrix) -> None:
    """Kill jobs of PACKAGE's engines at each point of a bundle, with their state in each store that an engine has, and
    let others go on from what was written.

    Exit code 0, 2 for wrong usage, 3 if the command was interrupted.
    """
    if package not in packages():
        raise click.UsageError(unknown("package", package, packages()))
    there = [name for name in engine_ids() if package_of(name) == package]
    stores = stores_of(asked.engines or there)
    if not stores:
        raise click.UsageError(f"no engine of {package} has jobs that can be killed")
    _measure(asked, Killed, lambda given, run, known: kill(stores, given, run, known), _kills)


def _measure(
    asked: Matrix,
    kind: type[Row],
    found: Callable[[Options, Callable[[Options], Results], Iterable[Row]], Iterator[list[Row]]],
    line: Callable[[Row], str],
) -> None:
    """Find rows, and keep and print each as soon as it is found."""
    known = {row.place: row for row in (read(asked.file, kind) if asked.file.exists() else ())}
    about = tuple(options.scenarios_named(asked.scenarios))
    traces = KeptTraces(traces_folder())
    given = Options((), about, asked.out, seed=asked.seed, timeout=asked.timeout, traces=traces)
    console = open_console()

    def run(mine: Options) -> Results:
        for each in dict.fromkeys(each for name in mine.engines for each in releases_of(name)):
            python_of(each)  # one that cannot be installed ends the command: halves of the scenarios would fail alike
        results = perform(mine, console, verbose=False)
        if results.run.partial:
            raise CannotRun(f"interrupted; what was found before is in {asked.file}")
        return results

    try:
        for rows in found(given, run, known.values()):
            known |= {row.place: row for row in rows}
            write(asked.file, known.values())
            for row in rows:
                click.echo(line(row))
    except CannotRun as error:
        click.echo(str(error), err=True)
        sys.exit(CUT_SHORT)
    click.echo(f"in {asked.file}")


def _way(row: Resumed) -> str:
    told = row.lacks or (f"{row.words} programs go on" if row.kept or row.lost else "nothing can be said")
    first = next(iter({**row.open, **row.lost}.items() if not row.kept else row.lost.items()), None)
    return f"{row.engine}: {' → '.join(row.way)}: {told}" + (f"; {first[0]}: {first[1]}" if first else "")


def _kills(row: Killed) -> str:
    points = {**row.kept, **row.violated}
    told = f"killed at {len(points)} points, {len(row.broken)} guarantees violated"
    return f"{row.engine} on {row.store}: {row.failure or told}" + "".join(
        f"; {name}: {why}" for name, why in list(row.broken.items())[:1]
    )


def _releases(package: str, releases: tuple[str, ...]) -> list[str]:
    """The releases as their framework writes them, oldest first. Raises UsageError."""
    if package not in packages():
        raise click.UsageError(unknown("package", package, packages()))
    found = set[Version]()
    for number in releases:
        if not (version := version_in(number)):
            raise click.UsageError(f"{number!r} is no version of {package}")
        found.add(version)
    if len(found) < 2:
        raise click.UsageError(f"name two releases of {package}, or more")
    return [str(version) for version in sorted(found)]


def _engines(package: str, named: tuple[str, ...]) -> list[str]:
    """The engines to ask. Raises UnknownName, UsageError."""
    there = [name for name in engine_ids() if package_of(name) == package and isinstance(load_engine(name), Resumable)]
    if odd := [name for name in named if name not in there]:
        load_engine(odd[0])
        raise click.UsageError(f"--engine {odd[0]}: no engine of {package} whose jobs go on from a checkpoint")
    if not there:
        raise click.UsageError(f"no engine of {package} keeps a checkpoint that another release could go on from")
    return [*named] or there


"""The commands of this module."""

"""The commands run, merge and check, which run or judge scenarios."""

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.console import Console

from conformance.cli import options
from conformance.cli.hints import Unfinished
from conformance.cli.job import console as open_console
from conformance.cli.job import execute, failed, perform, prepare, runnable, write
from conformance.cli.settings import ConfigurableCommand, check_used
from conformance.model.engine import CannotRun, Replaced
from conformance.plugins.registry import (
    engine_ids,
    load_engine,
    package_of,
    packages,
    port_engines,
    users_scenarios,
)
from conformance.reports.text.screen import say
from conformance.run.hosts import Hosts
from conformance.run.options import Excerpt, of_a_quick_run
from conformance.run.recheck import check_again
from conformance.run.run import Options
from conformance.run.shards import FILE, TRACES, Shards, leave, shard_of
from conformance.subjects.found import drivers
from conformance.support.naming import counted

QUICK, QUICK_ROWS = 1, 2

RUN_CASES = 2
"""Default number of cases of each program on each timeline."""


def _shard(context: click.Context, option: click.Parameter, given: str | None) -> tuple[int, int] | None:
    if given is None:
        return None
    number, slash, of = given.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise click.BadParameter(f"{given!r} is not K/N, number K of N shards")
    return int(number), int(of)


@dataclass(frozen=True)
class Extent:
    """How much of a run is run.

    Attributes:
        shard: (number, of how many).
        budget: seconds.
        rows: the most rows of an engine for programs of a kind, None for all.
        perturbations: those that are asked about (ids), () for all.
        quick: whether it is a first look.
    """

    shard: tuple[int, int] | None
    budget: float | None
    rows: int | None
    perturbations: tuple[str, ...]
    quick: bool


@click.command("run", cls=ConfigurableCommand)
@click.option(
    "--release",
    "releases",
    metavar="PACKAGE==VERSION",
    multiple=True,
    help="Run the engines of this package in this release, in an environment of its own. Without --engine: all of "
    "them, and the reference. One engine: --engine ID@VERSION.",
)
@options.asked(
    options.engines("all that this machine can run; with ports loaded, these and the reference"),
    RUN_CASES,
    "build/conformance",
)
@options.checker
@click.option(
    "--shard",
    metavar="K/N",
    callback=_shard,
    help="Run a share of this run: number K of N, on another machine each, with one seed. `conformance merge` puts "
    "them together.",
)
@click.option(
    "--budget",
    metavar="TIME",
    callback=options.seconds,
    help="Take no longer than this, such as 90s or 5m: engines run in the order of value. Stored witnesses are "
    "replayed in packs, those confirmed here until a fifth of them failed; new ones run alone once.",
)
@click.option(
    "--rows",
    type=click.IntRange(1),
    help="The most rows of an engine for programs of a kind, in the order of `conformance plan`. Default: all.",
)
@options.perturbations
@click.option(
    "--quick",
    is_flag=True,
    help=f"A first look: --cases {QUICK} --rows {QUICK_ROWS} on one engine of each kind, without scenarios that wait "
    "for processing time. Stored witnesses are replayed as with --budget.",
)
@options.verbose
@options.into("extent", Extent)
def run_(asked: options.Asked, releases: tuple[str, ...], checker: str, extent: Extent, verbose: bool) -> None:
    """Run scenarios on engines; write results.json.gz, matrix.html, summary.md, junit.xml, ctrf.json, cells.csv,
    badge.svg and the witnesses."""
    console = open_console()
    if extent.shard and extent.budget is not None:
        raise click.UsageError("--shard and --budget do not go together: shards are of a whole run")
    engines, about = _engines_of(asked, releases, extent.quick, console), asked.about
    check_used(click.get_current_context(), engines, checker)
    options.check_perturbations(extent.perturbations, engines)
    if extent.quick:
        asked, extent = replace(asked, wanted=QUICK), replace(extent, rows=extent.rows or QUICK_ROWS)
        if not (asked.scenarios or users_scenarios()):
            about = tuple(of_a_quick_run(about))
    run = asked.options(
        engines,
        about,
        checker=checker,
        excerpt=Excerpt(extent.rows or 0, extent.perturbations),
        brief=extent.quick or extent.budget is not None,
        budget=extent.budget,
        subjects=_subjects(asked, releases, extent.quick),
    )
    if extent.shard:
        sys.exit(_run_shard(run, *extent.shard, console))
    sys.exit(0 if execute(run, console, verbose) else Unfinished.exit_code)


def _subjects(asked: options.Asked, releases: tuple[str, ...], quick: bool) -> tuple[str, ...]:
    """The frameworks whose subjects a run asks: all of them in a run of everything, else none."""
    chosen = asked.engines or asked.scenarios or asked.cases_from or releases or quick
    return () if chosen or users_scenarios() or port_engines() else tuple(drivers())


def _engines_of(asked: options.Asked, releases: tuple[str, ...], quick: bool, console: Console) -> tuple[str, ...]:
    """The engines to run. A printed line for each that cannot, or that a first look leaves out. Raises UsageError,
    UnknownName, Unfinished."""
    ports = port_engines()
    there = _in_releases(asked.engines, releases) or runnable(console, ["reference", *ports] if ports else engine_ids())
    if asked.engines:
        return tuple(there)
    if there == ["reference"]:
        raise Unfinished("nothing to test: no engine but the reference can run here; the lines above say why")
    mine = engines_of_a_quick_run(there, ports, partial(_lacks, asked.timeout)) if quick else there
    if left := [name for name in there if name not in mine]:
        families = Counter(name.partition(":")[0] for name in left)
        words = (name if number == 1 and name in left else f"{name}:* ({number})" for name, number in families.items())
        say(console, f"--quick leaves out {', '.join(words)}")
    return tuple(mine)


def engines_of_a_quick_run(
    asked: Sequence[str], ports: Sequence[str], lacks: Callable[[str], bool] = lambda name: False
) -> list[str]:
    """Those that a first look asks: one of each kind, another one in its place if its release ``lacks`` it, and every
    one that the user loaded."""

    def taken(name: str) -> str:
        engine, at, version = name.partition("@")
        mine = load_engine(engine)
        return taken(f"{mine.instead}{at}{version}") if isinstance(mine, Replaced) and lacks(name) else name

    own = ("reference", *ports)
    first = (name for name in asked if name in own or load_engine(name).capabilities.quick)
    return list(dict.fromkeys(name if name in own else taken(name) for name in first))


def _lacks(timeout: float, name: str) -> bool:
    """Whether the release of an engine (ID@VERSION) lacks its API; not, where the release cannot be had: the run says
    so."""
    engine, at, version = name.partition("@")
    if not at:
        return False
    try:
        with TemporaryDirectory() as logs, Hosts(Path(logs), timeout) as hosts:
            return bool(hosts.lacking([engine], version)[engine])
    except CannotRun:
        return False


def _run_shard(asked_for: Options, number: int, of: int, console: Console) -> int:
    """Runs a shard, says what it ran, and returns the exit code."""
    for stale in (asked_for.out / FILE, asked_for.out / TRACES):
        shutil.rmtree(stale) if stale.is_dir() else stale.unlink(missing_ok=True)
    results = perform(shard_of(asked_for, number, of), console)
    leave(asked_for, number, of, results)
    ran = ", ".join(f"{name} ({counted(r.packs.run, 'pack')})" for name, r in results.environment.items()) or "nothing"
    say(console, f"shard {number} of {of} ran {ran}; merge: conformance merge OUT…")
    return 3 if failed(results) else 0


@click.command("merge")
@click.argument("folders", type=options.PATH, nargs=-1, required=True)
@options.load
@options.out("build/conformance")
@options.timeout(600, "one pack of cases on one engine")
@options.witnesses
def merge_(folders: tuple[Path, ...], out: Path, timeout: float, witnesses: Path) -> None:
    """Put the shards of a run together: results, reports and witnesses as of one run. FOLDERS are the shards' (--out).

    Traces of the shards answer in the place of engines. Only an engine that several shards shared may have to run here:
    to confirm its violations.
    """
    console = open_console()
    shards = Shards.read(folders)
    results = shards.checked(perform(shards.options(out, witnesses, timeout), console))
    sys.exit(0 if write(results, out, console) and not failed(results) else 3)


def _in_releases(engines: tuple[str, ...], releases: tuple[str, ...]) -> list[str]:
    """The ids of the requested engines in the requested releases; [] if the user requested neither.

    Raises:
        UsageError: an invalid release, or an engine of two releases.
        UnknownName: no such engine.
    """
    wanted: dict[str, str] = {}
    for text in releases:
        package, equal, number = text.partition("==")
        if not (equal and number) or package not in packages():
            raise click.UsageError(f"--release {text}: write PACKAGE==VERSION; packages: {', '.join(packages())}")
        wanted[package] = number
    if any("+" in name for name in engines):
        raise click.UsageError("an engine ID@OLD+NEW is what `conformance upgrade` runs: give --from and --to there")
    there = list(engines)
    if wanted and not there:
        there = ["reference", *(name for name in engine_ids() if package_of(name) in wanted)]
    found = [f"{n}@{wanted[p]}" if "@" not in n and (p := package_of(n)) in wanted else n for n in there]
    return list(dict.fromkeys(found))


@click.command("check")
@click.argument("traces", type=options.PATH)
@options.engines("all that gave traces")
@options.load
@options.scenarios("all of the run")
@options.out("build/check")
@options.checker
@options.verbose
def check_(
    traces: Path, engines: tuple[str, ...], scenarios: tuple[str, ...], out: Path, checker: str, verbose: bool
) -> None:
    """Judge the stored traces of a run again, by the guarantees that there are now, without running an engine. TRACES
    is the run's folder.

    A new violation is `unknown` until its witness has failed alone: replay it.
    """
    console = open_console()
    results = check_again(traces, out, engines, scenarios, checker, lambda: prepare(out))
    sys.exit(0 if write(results, out, console, verbose) else 3)

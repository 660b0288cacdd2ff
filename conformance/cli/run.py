"""The commands run and check, which run or judge scenarios."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from conformance.cli import options
from conformance.cli.job import console as open_console
from conformance.cli.job import execute, failed, prepare, runnable, write
from conformance.cli.settings import ConfigurableCommand
from conformance.model.program import by_processing_time
from conformance.plugins.registry import (
    engine_ids,
    load_engine,
    load_scenarios,
    package_of,
    packages,
    port_engines,
    users_scenarios,
)
from conformance.run.recheck import check_again
from conformance.run.run import Options

QUICK, QUICK_SHARE = 5, 0.1

RUN_CASES = 100
"""Default number of cases that test each guarantee in a run."""


@click.command("run", cls=ConfigurableCommand)
@options.engines("all that this machine can run; with ports loaded, these and the reference")
@click.option(
    "--release",
    "releases",
    metavar="PACKAGE==VERSION",
    multiple=True,
    help="Run the engines of this package in this release, in an environment of its own. Without --engine: all of them, and the "
    "reference. One engine: --engine ID@VERSION.",
)
@options.load
@options.scenarios("all, or what was loaded")
@options.cases(RUN_CASES)
@options.cases_from
@options.seed
@options.out("build/conformance")
@options.timeout(600, "one pack of cases on one engine")
@options.witnesses
@options.checker
@click.option("--all-packs", is_flag=True, help="Slow engines run all packs of cases, not a selection of them.")
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    help="Fraction of the selected packs that slow engines run. Default: all of them.",
)
@click.option(
    "--quick",
    is_flag=True,
    help=f"A first look: --cases {QUICK} --share {QUICK_SHARE:g} on one engine of each kind, without scenarios that wait for "
    "processing time. Stored witnesses are replayed in packs, new ones run alone once.",
)
def run_(
    engines: tuple[str, ...],
    releases: tuple[str, ...],
    scenarios: tuple[str, ...],
    wanted: int,
    cases_from: Path | None,
    seed: int,
    out: Path,
    timeout: float,
    witnesses: Path,
    checker: str,
    all_packs: bool,
    share: float,
    quick: bool,
) -> None:
    """Run scenarios on engines; write results.json, matrix.html, summary.md, junit.xml, cells.csv, badge.svg and the
    witnesses."""
    console = open_console()
    ports = port_engines()
    asked = _in_releases(engines, releases) or runnable(console, ["reference", *ports] if ports else engine_ids())
    about = load_scenarios(scenarios) if scenarios else users_scenarios() or load_scenarios()
    if quick:
        wanted, share = QUICK, QUICK_SHARE
        if not engines:
            asked = [name for name in asked if name == "reference" or load_engine(name).capabilities.quick]
        if not scenarios:
            about = [s for s in about if not by_processing_time(s.programs.values())]
    asked_for = Options(
        engines=tuple(asked),
        scenarios=tuple(about),
        out=out,
        wanted=wanted,
        seed=seed,
        cases_from=cases_from,
        witnesses=(witnesses,),
        timeout=timeout,
        checker=checker,
        all_packs=all_packs,
        share=share,
        brief=quick,
    )
    sys.exit(3 if failed(execute(asked_for, console)) else 0)


def _in_releases(engines: tuple[str, ...], releases: tuple[str, ...]) -> list[str]:
    """The ids of the requested engines in the requested releases; [] if the user requested neither.

    Raises:
        UsageError: an invalid release, or an engine of two releases.
        UnknownName: no such engine.
    """
    wanted: dict[str, str] = {}
    for text in releases:
        package, equal, number = text.partition("==")
        if not equal or package not in packages():
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
@click.argument("traces", type=click.Path(path_type=Path))
@options.engines("all that gave traces")
@options.load
@options.scenarios("all of the run")
@options.out("build/check")
@options.checker
def check_(traces: Path, engines: tuple[str, ...], scenarios: tuple[str, ...], out: Path, checker: str) -> None:
    """Judge the stored traces of a run again, by the guarantees that there are now, without running an engine. TRACES is the
    run's folder.

    A new violation is `unknown` until its witness has failed alone: replay it.
    """
    console = open_console()
    results = check_again(traces, out, engines, scenarios, checker, lambda: prepare(out))
    write(results, out, console)


COMMANDS = (run_, check_)

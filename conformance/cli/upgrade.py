"""The command upgrade: a framework in two releases, by their numbers or by what two lock files pin."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from packaging.version import InvalidVersion, Version

from conformance.cli import options
from conformance.cli.compare import divergences, judged, today
from conformance.cli.job import check_cases, failed, keep, perform
from conformance.cli.job import console as open_console
from conformance.cli.subject import test
from conformance.comparison.expectations import Divergence
from conformance.comparison.gate import report_of
from conformance.comparison.locks import steps
from conformance.comparison.outputs import differences, outputs
from conformance.comparison.refusals import refusals_changed
from conformance.comparison.upgrade import Upgrade, in_releases, replays_in_both
from conformance.execution.kept import traces_folder
from conformance.model.engine import CannotRun, bare
from conformance.model.naming import instead
from conformance.plugins.registry import (
    engine_ids,
    load_engine,
    load_scenarios,
    package_of,
    packages,
    port_engines,
    users,
    users_scenarios,
)
from conformance.results.baseline import Baseline
from conformance.results.changes import changes
from conformance.results.report import load_report
from conformance.results.results import Results
from conformance.run.run import Options
from conformance.subjects.found import files_of_subjects
from conformance.subjects.releases import release
from conformance.subjects.worker import Request

UPGRADE = 1
"""The least number of cases of each program on each timeline in a comparison of two releases."""

BLOCKED, CUT_SHORT = 1, 3
"""Exit codes."""


@click.command("upgrade")
@click.argument("package", required=False)
@click.option("--from", "old", help="The release that is in use.")
@click.option("--to", "new", help="The release to go to.")
@click.option(
    "--from-lock",
    "locks",
    type=(click.Path(path_type=Path), click.Path(path_type=Path)),
    metavar="OLD NEW",
    help="In place of PACKAGE, --from and --to: two lock or requirements files. Each package with engines that they pin in different "
    "releases is upgraded, into a folder of its own in --out.",
)
@options.engines("all of the package that both releases have; with ports loaded, these", "An engine, without a version")
@options.load
@options.scenarios("all, or what was loaded")
@options.cases(UPGRADE)
@options.cases_from
@options.seed
@options.out("build/upgrade")
@options.timeout(600, "one pack of cases on one engine")
@options.witnesses
@options.fresh
@options.expectations
@click.option(
    "--quick",
    is_flag=True,
    help="A first look: cases as drawn or given, on the shortest timelines, without rows that change anything around them.",
)
def upgrade_(
    package: str | None,
    old: str | None,
    new: str | None,
    locks: tuple[Path, Path] | None,
    engines: tuple[str, ...],
    scenarios: tuple[str, ...],
    wanted: int,
    cases_from: Path | None,
    seed: int,
    out: Path,
    timeout: float,
    witnesses: Path,
    fresh: bool,
    expectations: Path | None,
    quick: bool,
) -> None:
    """Run both releases of PACKAGE on identical cases, say what changed, try checkpoints of the old one on the new one, and gate. Of a file
    with subjects (--load), both releases are asked all questions, and must give the same answers.

    Exit code 0 if nothing blocks, 1 if anything does, 2 for wrong usage, 3 if a release could not be run to its end.
    """
    if not (locks or (package and old and new)):
        raise click.UsageError("give PACKAGE with --from and --to, or --from-lock OLD NEW")
    if locks and (package or old or new):
        raise click.UsageError("--from-lock takes the packages and their releases from the two files: give no others")
    if subjects := files_of_subjects():
        if not (package and old and new):
            raise click.UsageError("subjects are compared between two releases: give PACKAGE with --from and --to")
        both_releases = [release(f"{package}=={number}") for number in _releases(package, old, new)]
        codes = [test(Request(file, seed=seed, where=file), both_releases, out / Path(file).stem) for file in subjects]
        if not users().ports and not users_scenarios():
            sys.exit(max(codes))
    accepted = divergences(expectations)  # a mistake here shows before minutes are spent
    both = Options(
        engines=(),
        scenarios=tuple(load_scenarios(scenarios) if scenarios else users_scenarios() or load_scenarios()),
        out=out,
        wanted=wanted,
        seed=seed,
        cases_from=cases_from,
        witnesses=(witnesses,),
        timeout=timeout,
        rows=1 if quick else 0,  # the base rows: others may differ between two releases, which have other plans
        brief=True,  # each release is asked again about the differences between the releases
        sampled=not fresh,
        traces=traces_folder(),
        fresh=fresh,
    )
    asked = [s.id for s in both.scenarios]
    check_cases(both)
    if package and old and new:
        mine = _engines_of(package, engines, asked)
        sys.exit(_upgraded(package, Upgrade(*_releases(package, old, new), mine, both), accepted))
    codes = [_upgraded(name, found, accepted) for name, found in _of_locks(locks, engines, both)] if locks else []
    sys.exit(max(codes, default=0))


def _releases(package: str, old: str, new: str) -> tuple[str, str]:
    """The two releases, written as their framework writes them. Raises UsageError."""
    found = []
    for option, number in (("--from", old), ("--to", new)):
        try:
            found.append(Version(number))
        except InvalidVersion:
            raise click.UsageError(f"{option}: {number!r} is no version of {package}") from None
    if found[0] == found[1]:
        raise click.UsageError(f"--from and --to are both {package} {found[0]}: name two releases")
    return str(found[0]), str(found[1])


def _of_locks(locks: tuple[Path, Path], engines: tuple[str, ...], both: Options) -> list[tuple[str, Upgrade]]:
    """The upgrades from one lock file to another, by package, each into a folder of its own. Prints what the files say. Packages of
    which no engine (of those in ``engines``) and no port was asked for are left out."""
    known, ports = packages(), port_engines()
    for name in engines:
        if package_of(name) not in known or "@" in name:
            raise click.UsageError(f"--engine {name}: name an engine of {' or '.join(known)}, without a version")
    mine = [package_of(name) for name in engines or ports] or known
    asked_for = [package for package in known if package in mine]
    found = steps(*locks, asked_for)
    for step in found:
        click.echo(step.words)
    if not any(step.differs for step in found):
        click.echo(f"nothing to upgrade: {locks[0]} and {locks[1]} pin no two releases of {', '.join(asked_for)}")
    upgrades = []
    for package, old, new in ((step.package, step.old, step.new) for step in found if step.differs):
        named = tuple(name for name in engines if package_of(name) == package)
        asked = _engines_of(package, named, [s.id for s in both.scenarios])
        upgrades.append((package, Upgrade(old, new, asked, replace(both, out=both.out / package))))
    return upgrades


def _upgraded(package: str, asked: Upgrade, accepted: list[Divergence]) -> int:
    """Makes an upgrade, writes its reports and prints its end. Returns the exit code."""
    from reports import comparison

    both, old, new, out = asked.options, asked.old, asked.new, asked.options.out
    console = open_console()

    def run(more: Options) -> Results:
        results = perform(more, console)
        keep(results, more.out)
        return results

    try:
        found = asked.execute(run, click.echo)
    except (CannotRun, KeyboardInterrupt) as error:
        why = str(error) or f"interrupted; what there is lies in {out}"
        out.mkdir(parents=True, exist_ok=True)
        (out / "summary.md").write_text(comparison.not_compared(old, new, why), encoding="utf-8")
        click.echo(f"cannot compare {old} and {new}: {why}", err=True)
        return CUT_SHORT
    before, after = found.old, found.new
    stood, stands = Baseline.of(before), Baseline.of(after)
    pairs = [(one, two) for one in before.engines for two in after.engines if bare(one) == bare(two)]
    compared = outputs(out / "both", pairs, both.scenarios)
    places = [(bare(total.right), total.scenario, total.program, "") for total in compared]
    report = judged(stands, stood, accepted, places)
    differing = differences(compared, both.scenarios, out / "differences", both.timeout)
    of_outputs = [one.ruled(accepted, stands.version(one.place[0]), today()) for one in differing]
    replays = replays_in_both({out / "old": before, out / "new": after}, old, new)
    of_cells = in_releases(report.ruled, old, new, replays)
    more = [*(lacking.ruled(old, new) for lacking in found.left_out), *refusals_changed(before, after)]
    report = report_of([*more, *of_cells, *of_outputs])
    for side, results in (("old", before), ("new", after)):
        (out / side).mkdir(parents=True, exist_ok=True)
        keep(results, out / side)
    (out / "matrix.html").write_text(load_report("html").render([before, after]), encoding="utf-8")
    between, same = changes(stood, stands), [*comparison.output_lines(compared, after)]
    summary = comparison.upgrade_markdown(report, between, [before, after], f"{package} {old}", new, same, replays)
    (out / "summary.md").write_text(summary, encoding="utf-8")
    (out / "junit.xml").write_text(comparison.gate_junit(report), encoding="utf-8")
    for line in (*same, *comparison.diff_lines(between, [before, after]), *comparison.gate_lines(report)):
        click.echo(line)
    click.echo(f"in {out}: matrix.html, summary.md, junit.xml, and the results of each in old/ and new/")
    return CUT_SHORT if failed(before) or failed(after) else 0 if report.open else BLOCKED


def _engines_of(package: str, asked: tuple[str, ...], scenarios: Sequence[str]) -> tuple[str, ...]:
    """The requested engines of the package, else the engines of the loaded ports, else all engines but native operators of other
    scenarios. Raises UsageError."""
    there = [name for name in engine_ids() if package_of(name) == package]
    if not there:
        raise click.UsageError(f"no engine is of the package {package!r}; {instead(package, packages(), 'packages')}")
    for name in asked:
        if package_of(name) != package or "@" in name:
            raise click.UsageError(f"--engine {name}: name an engine of {package}, without a version")
    ports = port_engines()
    mine = [name for name in ports if package_of(name) == package]
    if ports and not mine and not asked:
        raise click.UsageError(f"no port that was loaded is of {package}; name an engine with --engine")
    natives = {name: load_engine(name).capabilities.native_operator for name in there}
    there = [
        name
        for name, found in natives.items()
        if not found or any(program.split("/")[0] in scenarios for program in found.programs)
    ]
    return asked or tuple(mine or there)


COMMANDS = (upgrade_,)

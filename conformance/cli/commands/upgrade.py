"""The command upgrade: a framework in two releases, by their numbers or by what two lock files pin."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from conformance.cli import options
from conformance.cli.commands.compare import divergences, judged, today
from conformance.cli.commands.subject import ask_subjects
from conformance.cli.hints import Unfinished
from conformance.cli.job import check_cases, failed, keep, perform
from conformance.cli.job import console as open_console
from conformance.comparison.expectations import Divergence
from conformance.comparison.gate import Outcome, listing, report_of, rule
from conformance.comparison.locks import steps
from conformance.comparison.moves import Difference, Kind, Move, differences, shown_on_both, silent
from conformance.comparison.outputs import differences as differing_outputs
from conformance.comparison.outputs import outputs
from conformance.comparison.upgrade import Upgrade, in_releases, refusals_changed, replays_in_both, without
from conformance.model.engine import CannotRun, Resumable, bare
from conformance.plugins.registry import (
    engine_ids,
    load_engine,
    package_of,
    packages,
    port_engines,
    users,
)
from conformance.results.baseline import Baseline
from conformance.results.changes import changes
from conformance.results.report import load_report
from conformance.results.results import RESULTS, Results
from conformance.results.witness import file_of
from conformance.run.options import Excerpt
from conformance.run.run import Options
from conformance.subjects.found import files_of_subjects, keeps_checkpoints
from conformance.subjects.processes.releases import release
from conformance.subjects.processes.worker import Request
from conformance.support.naming import instead
from conformance.support.release import version_in
from conformance.support.writing import write_whole

UPGRADE = 1
"""The least number of cases of each program on each timeline in a comparison of two releases."""

BLOCKED, CUT_SHORT = 1, 3
"""Exit codes."""

NOTHING_BACK = "--rollback is about checkpoints, and nothing of {} keeps one: leave it out"
"""Said where no engine could go back."""


@dataclass(frozen=True)
class Sides:
    """What is compared: a package in two releases, what two lock files pin, or two engines."""

    package: str | None
    old: str | None
    new: str | None
    locks: tuple[Path, Path] | None
    old_engine: str | None
    new_engine: str | None
    rollback: bool

    def check(self) -> None:
        """Raises UsageError unless one kind of comparison is asked for, and as a whole."""
        releases, engines = (self.package, self.old, self.new), (self.old_engine, self.new_engine)
        if sum(map(any, (releases, engines, (self.locks,)))) > 1:
            raise click.UsageError(
                "give PACKAGE with --from and --to, or --from-lock, or --from-engine with --to-engine: not two of them"
            )
        if any(engines) and self.rollback:
            raise click.UsageError(
                "--rollback is about two releases of a package: no checkpoint goes from one engine to another"
            )
        if any(engines) and not all(engines):
            raise click.UsageError("--from-engine and --to-engine go together: name both engines")
        if not (self.locks or all(releases) or all(engines)):
            raise click.UsageError(
                "give PACKAGE with --from and --to, or --from-lock OLD NEW, or --from-engine and --to-engine"
            )


@click.command("upgrade")
@click.argument("package", required=False)
@click.option("--from", "old", help="The release that is in use.")
@click.option("--to", "new", help="The release to go to.")
@click.option(
    "--from-lock",
    "locks",
    type=(click.Path(path_type=Path), click.Path(path_type=Path)),
    metavar="OLD NEW",
    help="In place of PACKAGE, --from and --to: two lock or requirements files. Each package with engines that they "
    "pin in different releases is upgraded, into a folder of its own in --out.",
)
@click.option(
    "--from-engine",
    "old_engine",
    metavar="ENGINE[@RELEASE]",
    help="In place of PACKAGE, --from and --to: the engine in use, by its id, in a release or as it is here. With "
    "--to-engine.",
)
@click.option("--to-engine", "new_engine", metavar="ENGINE[@RELEASE]", help="The engine to go to.")
@click.option(
    "--rollback",
    is_flag=True,
    help="Try checkpoints of the new release on the old one, then on the new one again: can you go back?",
)
@options.asked(
    options.engines(
        "all of the package that both releases have; with ports loaded, these", "An engine, without a version"
    ),
    UPGRADE,
    "build/upgrade",
)
@options.expectations
@click.option(
    "--quick",
    is_flag=True,
    help="A first look: cases as drawn or given, on the shortest timelines, without rows that change anything around "
    "them.",
)
@options.verbose
@options.into("sides", Sides)
def upgrade_(sides: Sides, asked: options.Asked, expectations: Path | None, quick: bool, verbose: bool) -> None:
    """Run both releases of PACKAGE on identical cases, say what changed, try checkpoints of the old one on the new one,
    and gate. With --load of a file with subjects: ask them in both releases, which must answer alike.

    With --from-engine and --to-engine: run two engines, and say what held on the one and is broken on the other, by
    cause.

    Exit code 0 if nothing blocks, 1 if anything does, 2 for wrong usage, 3 if a release could not be run to its end.
    """
    sides.check()
    if subjects := files_of_subjects():
        sys.exit(max(_of_subjects(file, sides, asked) for file in subjects))
    accepted = divergences(expectations)  # a mistake here shows before minutes are spent
    both = asked.options(
        (),
        asked.about,
        # The base rows: others may differ between two releases, which have other plans.
        excerpt=Excerpt(rows=1 if quick else 0),
        brief=True,  # each release is asked again about the differences between the releases
    )
    check_cases(both)
    if sides.old_engine and sides.new_engine:
        if asked.engines:
            raise click.UsageError("--from-engine and --to-engine name the engines: leave out --engine")
        sys.exit(_moved(_move(sides.old_engine, sides.new_engine), both, accepted, verbose))
    if sides.package and sides.old and sides.new:
        mine = _engines_of(sides.package, asked.engines, [s.id for s in both.scenarios])
        if sides.rollback and not any(isinstance(load_engine(name), Resumable) for name in mine):
            raise click.UsageError(NOTHING_BACK.format(" and ".join(asked.engines) or sides.package))
        found = Upgrade(*_releases(sides.package, sides.old, sides.new), mine, both, sides.rollback)
        sys.exit(_upgraded(sides.package, found, accepted))
    locked = _of_locks(sides, asked.engines, both)
    sys.exit(max((_upgraded(name, found, accepted) for name, found in locked), default=0))


def _of_subjects(file: str, sides: Sides, asked: options.Asked) -> int:
    """Asks the subjects of a file in both releases, compares their answers, and returns the exit code. Raises
    UsageError."""
    if users().ports or users().scenarios:
        raise click.UsageError(
            f"{file} has subjects, and a port or a scenario is loaded, too: compare them one after the other"
        )
    if not (sides.package and sides.old and sides.new):
        raise click.UsageError("subjects are compared between two releases: give PACKAGE with --from and --to")
    if sides.rollback and not keeps_checkpoints(sides.package):
        raise click.UsageError(NOTHING_BACK.format(sides.package))
    releases = [release(f"{sides.package}=={number}") for number in _releases(sides.package, sides.old, sides.new)]
    request, out = Request(file, seed=asked.seed, where=file), asked.out / Path(file).stem
    codes = [ask_subjects(request, releases, out)[0]]
    if keeps_checkpoints(sides.package):
        old, new = releases
        behind = replace(request, next_file=file)
        ways = ((old, new), (new, old)) if sides.rollback else ((old, new),)
        for begun, resumed in ways:
            click.echo(f"checkpoints of {begun.version} on {resumed.version}")
            place = out / f"{begun.version}-then-{resumed.version}"
            codes.append(ask_subjects(behind, [resumed], place, begun)[0])
    return max(codes)


def _move(old: str, new: str) -> Move:
    """The engines of a move. Raises UnknownName, UsageError."""
    for name in (old, new):
        load_engine(name)
        if "+" in name:
            raise click.UsageError(f"{name}: name an engine in one release")
    if old == new:
        raise click.UsageError(f"--from-engine and --to-engine are both {old}: name two engines, or two releases")
    return Move(old, new)


def _moved(move: Move, both: Options, accepted: list[Divergence], verbose: bool) -> int:
    """Runs both engines of a move, writes its reports and prints its end. Returns the exit code."""
    from conformance.reports.text import move_text as moves

    out, console = both.out, open_console()
    engines = dict.fromkeys(("reference", move.old, move.new))
    try:
        results = perform(replace(both, engines=tuple(engines)), console)
        if not failed(results):
            results = shown_on_both(results, move, both)
    except KeyboardInterrupt:
        raise Unfinished("interrupted; what engines answered is kept: the same command goes on from there") from None
    keep(results, out)
    why = next((r.failure for r in results.environment.values() if r.failure), "interrupted") if failed(results) else ""
    if why := why or silent(results, move):
        click.echo(f"cannot compare {move.old} and {move.new}: {why}", err=True)
        return CUT_SHORT
    found = differences(results, move)
    stands = Baseline.of(without(results, {*results.environment} - {move.new}))
    told = moves.Told(results, move, found, frozenset(one for one in found if _accepts(stands, one, accepted)))
    commands = {name: f"conformance replay {file_of(out / 'witnesses', w)}" for name, w in results.witnesses.items()}
    write_whole(out / "matrix.html", load_report("html").render([results]))
    write_whole(out / "summary.md", moves.markdown(told, commands))
    for line in moves.lines(told, verbose):
        click.echo(line)
    click.echo(f"in {out}: summary.md, matrix.html, {RESULTS}, witnesses/")
    return BLOCKED if {*told.of(Kind.BROKEN)} - told.accepted else 0


def _accepts(stands: Baseline, one: Difference, accepted: list[Divergence]) -> bool:
    """Whether the expectations accept what the new engine of a move breaks, as the gate reads them. ``stands`` has this
    engine alone."""
    (engine,) = stands.engines
    places = [(engine, *one.row, name) for name in one.perturbations]
    version = stands.version(engine)
    return one.kind is Kind.BROKEN and all(
        rule(None, stands.cells[place], listing(accepted, place, version, today()), today()).outcome is Outcome.PASSES
        for place in places
    )


def _releases(package: str, old: str, new: str) -> tuple[str, str]:
    """The two releases, written as their framework writes them. Raises UsageError."""
    found = []
    for option, number in (("--from", old), ("--to", new)):
        if not (version := version_in(number)):
            raise click.UsageError(f"{option}: {number!r} is no version of {package}")
        found.append(version)
    if found[0] == found[1]:
        raise click.UsageError(f"--from and --to are both {package} {found[0]}: name two releases")
    return str(found[0]), str(found[1])


def _of_locks(sides: Sides, engines: tuple[str, ...], both: Options) -> list[tuple[str, Upgrade]]:
    """The upgrades from one lock file to another, by package, each into a folder of its own. Prints what the files say.
    Packages of which no engine (of those in ``engines``) and no port was asked for are left out."""
    if sides.locks is None:
        return []
    locks, known, ports = sides.locks, packages(), port_engines()
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
        upgrades.append((package, Upgrade(old, new, asked, replace(both, out=both.out / package), sides.rollback)))
    return upgrades


def _upgraded(package: str, asked: Upgrade, accepted: list[Divergence]) -> int:
    """Makes an upgrade, writes its reports and prints its end. Returns the exit code."""
    from conformance.reports.text import comparison

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
        write_whole(out / "summary.md", comparison.not_compared(old, new, why))
        click.echo(f"cannot compare {old} and {new}: {why}", err=True)
        return CUT_SHORT
    before, after = found.old, found.new
    stood, stands = Baseline.of(before), Baseline.of(after)
    pairs = [(one, two) for one in before.engines for two in after.engines if bare(one) == bare(two)]
    compared = outputs(out / "both", pairs, both.scenarios)
    places = [(bare(total.right), total.scenario, total.program, "") for total in compared]
    report = judged(stands, stood, accepted, places)
    differing = differing_outputs(compared, both.scenarios, out / "differences", both.timeout)
    of_outputs = [one.ruled(accepted, stands.version(one.place[0]), today()) for one in differing]
    replays = replays_in_both({out / "old": before, out / "new": after}, old, new)
    of_cells = in_releases(report.ruled, old, new, replays)
    more = [*(lacking.ruled(old, new) for lacking in found.left_out), *refusals_changed(before, after)]
    report = report_of([*more, *of_cells, *of_outputs])
    for side, results in (("old", before), ("new", after)):
        keep(results, out / side)
    write_whole(out / "matrix.html", load_report("html").render([before, after]))
    between = changes(stood, stands)
    others = (name for name in between.new_guarantees if not name.endswith(tuple(comparison.SURVIVED)))
    between = replace(between, new_guarantees=tuple(others))  # what comes of checkpoints has lines of its own
    same = [*comparison.output_lines(compared, after), *comparison.checkpoint_lines(after)]
    summary = comparison.upgrade_markdown(report, between, [before, after], f"{package} {old}", new, same, replays)
    write_whole(out / "summary.md", summary)
    write_whole(out / "junit.xml", comparison.gate_junit(report))
    for line in (*same, *comparison.diff_lines(between, [before, after], True), *comparison.gate_lines(report)):
        click.echo(line)
    click.echo(f"in {out}: matrix.html, summary.md, junit.xml, and the results of each in old/ and new/")
    return CUT_SHORT if failed(before) or failed(after) else 0 if report.open else BLOCKED


def _engines_of(package: str, asked: tuple[str, ...], scenarios: Sequence[str]) -> tuple[str, ...]:
    """The requested engines of the package, else the engines of the loaded ports, else all engines but native operators
    of other scenarios. Raises UsageError."""
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

    def idle(name: str) -> bool:
        native = load_engine(name).capabilities.native_operator
        return native is not None and all(program.split("/")[0] not in scenarios for program in native.programs)

    left_out = [name for name in asked if idle(name)]
    if left_out and len(left_out) == len(asked):
        raise click.UsageError(f"--engine {left_out[0]}: it runs none of these scenarios; name others with --scenario")
    for name in left_out:
        click.echo(f"{name}: left out: it runs none of these scenarios")
    return tuple(mine) if mine and not asked else tuple(name for name in asked or there if not idle(name))

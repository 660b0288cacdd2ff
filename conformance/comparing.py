"""The commands that compare runs and releases: diff, gate, baseline, upgrade and bisect."""

from __future__ import annotations

import datetime
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from conformance.baseline import Baseline
from conformance.bisecting import CannotBisect, between, bisect, released
from conformance.changes import changes
from conformance.confirmation import ERROR, FIXED, STILL_FAILS
from conformance.engine import CannotRun, bare
from conformance.expectations import Divergence
from conformance.expectations import read as read_expectations
from conformance.gate import GateReport, gate
from conformance.guarantees import Scenario
from conformance.registry import engine_ids, load_reports, load_scenarios, package_of, packages, variant_ids
from conformance.results import Results, UnreadableResults, Verdict
from conformance.runner import Options
from conformance.running import console as open_console
from conformance.running import failed, keep, perform
from conformance.upgrading import Upgrade, asked_alone, outputs
from conformance.witnesses import Witness, stored_witnesses

UPGRADE = 15
"""How many cases shall put each guarantee to the test when two releases are compared."""

SHARE = 0.25
"""Which part of its choice of packs a slow engine runs then: each of two releases, and carries over in between."""


@click.command("diff")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write it as Markdown here.")
@click.option("--html", type=click.Path(path_type=Path), help="Write the matrix with the columns of both here.")
def diff_(old: Path, new: Path, as_json: bool, markdown: Path | None, html: Path | None) -> None:
    """Say what changed between two runs, cell by cell and in both directions. OLD and NEW are results or baselines."""
    from reports import comparison

    sides = _side(old), _side(new)
    between = changes(sides[0][0], sides[1][0])
    runs = [results for _, results in sides if results]
    if html:
        if len(runs) < 2:
            raise click.UsageError("--html needs results of both: a baseline has no evidence to show")
        html.write_text(load_reports()["html"](runs), encoding="utf-8")
    if markdown:
        markdown.write_text(comparison.diff_markdown(between, runs, str(old), str(new)), encoding="utf-8")
    if as_json:
        click.echo(comparison.diff_json(between), nl=False)
        return
    for line in comparison.diff_lines(between, runs):
        click.echo(line)


def _side(path: Path) -> tuple[Baseline, Results | None]:
    """A file as one side of a comparison, and the whole results where it has them."""
    try:
        results = Results.read(path)
    except UnreadableResults:
        return Baseline.read(path), None
    return Baseline.of(results), results


@click.command("gate")
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--baseline", type=click.Path(path_type=Path), required=True, help="A baseline, or results.")
@click.option(
    "--expectations",
    type=click.Path(path_type=Path),
    help="Known divergences. Default: expectations.toml, where there is one.",
)
@click.option("--markdown", type=click.Path(path_type=Path), help="Write it as Markdown here.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write it as JUnit XML here.")
@click.option("--propose", is_flag=True, help="Print entries for expectations.toml that would accept what blocks.")
def gate_(
    results: Path, baseline: Path, expectations: Path | None, markdown: Path | None, junit: Path | None, propose: bool
) -> None:
    """Compare a candidate's RESULTS with a baseline, and block what nobody has accepted (docs/gate.md has the rules).

    Exit code 1 if anything blocks, 2 if the two sides cannot be compared.
    """
    from reports import comparison

    report = _judged(Baseline.read(results), Baseline.read(baseline), _divergences(expectations))
    if markdown:
        markdown.write_text(comparison.gate_markdown(report), encoding="utf-8")
    if junit:
        junit.write_text(comparison.gate_junit(report), encoding="utf-8")
    for line in comparison.gate_lines(report):
        click.echo(line)
    if propose:
        for line in comparison.proposals(report):
            click.echo(line)
    sys.exit(0 if report.open else 1)


def _divergences(path: Path | None) -> list[Divergence]:
    """The accepted divergences of a file, or of the one that lies here. Raises UnusableExpectations."""
    default = Path("expectations.toml")
    path = path or (default if default.exists() else None)
    return read_expectations(path) if path else []


def _judged(candidate: Baseline, baseline: Baseline, divergences: list[Divergence]) -> GateReport:
    today = datetime.datetime.now(datetime.timezone.utc).date()
    engines, scenarios = [*engine_ids(), *variant_ids()], [scenario.id for scenario in load_scenarios()]
    return gate(candidate, baseline, divergences, today=today, engines=engines, scenarios=scenarios)


@click.group("baseline")
def baseline_() -> None:
    """Baselines: results without the evidence, a line for each guarantee on an engine, to keep under git."""


@baseline_.command("write")
@click.argument("results", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--without", "left_out", metavar="ENGINE", multiple=True, help="Leave an engine out (repeat for several)."
)
def baseline_write(results: Path, file: Path, left_out: tuple[str, ...]) -> None:
    """Write the baseline of RESULTS to FILE."""
    found = Baseline.read(results)
    if unknown := [name for name in left_out if name not in found.engines]:
        raise click.UsageError(f"{results} has no engine {unknown[0]!r}; there are: {', '.join(found.engines)}")
    found.without(left_out).write(file)


@baseline_.command("update")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("results", type=click.Path(path_type=Path))
def baseline_update(file: Path, results: Path) -> None:
    """Put the engines of RESULTS into the baseline FILE, and say what changed."""
    from reports import comparison

    old, (new, whole) = Baseline.read(file), _side(results)
    if {*old.engines} - {*new.engines} and (old.harness, old.cases_digest) != (new.harness, new.cases_digest):
        raise click.UsageError(
            f"{file} has engines that {results} has not, and is of another harness or other cases: write a new one"
        )
    for line in comparison.diff_lines(changes(old, new), [whole] if whole else []):
        click.echo(line)
    old.updated(new).write(file)


@baseline_.command("show")
@click.argument("file", type=click.Path(path_type=Path))
def baseline_show(file: Path) -> None:
    """Say what is in a baseline: engines, versions, how many cells of each verdict."""
    from reports.words import versions_in

    found = Baseline.read(file)
    click.echo(f"harness {found.harness}, cases {found.cases_digest[:12]}")
    for engine, counts in found.counts().items():
        said = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
        click.echo(f"{engine} ({versions_in(found.engines[engine])}): {said}")


@click.command("upgrade")
@click.argument("package")
@click.option("--from", "old", required=True, help="The release that is in use.")
@click.option("--to", "new", required=True, help="The release to go to.")
@click.option(
    "--engine",
    "engines",
    multiple=True,
    help="An engine, without a version (repeat for several). Default: all of the package that both releases have.",
)
@click.option("--scenario", "scenarios", multiple=True, help="A scenario (repeat for several). Default: all.")
@click.option(
    "--cases", "wanted", type=click.IntRange(1), default=UPGRADE, show_default=True, help="Cases per guarantee."
)
@click.option("--cases-from", type=click.Path(path_type=Path), help="Take the cases of another run: its folder.")
@click.option("--seed", type=int, help="Default: a random one, which is printed.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/upgrade"), show_default=True)
@click.option("--timeout", type=click.FloatRange(1), default=600, show_default=True, help="Seconds for one pack.")
@click.option("--witnesses", type=click.Path(path_type=Path), default=Path("witnesses"), show_default=True)
@click.option(
    "--expectations",
    type=click.Path(path_type=Path),
    help="The accepted divergences. Default: expectations.toml, where there is one.",
)
def upgrade_(
    package: str,
    old: str,
    new: str,
    engines: tuple[str, ...],
    scenarios: tuple[str, ...],
    wanted: int,
    cases_from: Path | None,
    seed: int | None,
    out: Path,
    timeout: float,
    witnesses: Path,
    expectations: Path | None,
) -> None:
    """Run both releases of PACKAGE on identical cases, say what changed, try checkpoints of the old one on the new one, and gate.

    Exit code 0 if nothing blocks, 1 if anything does, 2 for wrong usage, 3 if a release could not be run to its end.
    """
    from reports import comparison

    accepted = _divergences(expectations)  # first: a mistake there is told before minutes are spent
    options = Options(
        engines=(),
        scenarios=tuple(load_scenarios(scenarios)),
        out=out,
        wanted=wanted,
        seed=random.SystemRandom().randrange(10**6) if seed is None else seed,
        cases_from=cases_from,
        witnesses=(witnesses,),
        timeout=timeout,
        share=SHARE,
        brief=True,  # what differs between the releases is asked of each of them once more
    )
    console = open_console()

    def run(more: Options) -> Results:
        results = perform(more, console)
        keep(results, more.out)
        return results

    asked = Upgrade(old, new, _engines_of(package, engines), options)
    try:
        before, after = asked.execute(run, click.echo)
    except CannotRun as error:
        click.echo(f"cannot compare {old} and {new}: {error}", err=True)
        sys.exit(3)
    stood, stands = Baseline.of(before), Baseline.of(after)
    between, report = changes(stood, stands), _judged(stands, stood, accepted)
    for side, results in (("old", before), ("new", after)):
        keep(results, out / side)
    (out / "matrix.html").write_text(load_reports()["html"]([before, after]), encoding="utf-8")
    pairs = [(one, two) for one in before.engines for two in after.engines if bare(one) == bare(two)]
    same = [*comparison.output_lines(outputs(out, pairs, options.scenarios), after)]
    summary = comparison.gate_markdown(report) + "\n" + comparison.diff_markdown(between, [before, after], old, new)
    summary += "\n".join(["", "## What came out", "", *(f"    {line}" for line in same), ""])
    (out / "summary.md").write_text(summary, encoding="utf-8")
    (out / "junit.xml").write_text(comparison.gate_junit(report), encoding="utf-8")
    for line in (*same, *comparison.diff_lines(between, [before, after]), *comparison.gate_lines(report)):
        click.echo(line)
    click.echo(f"in {out}: matrix.html, summary.md, junit.xml, and the results of each in old/ and new/")
    sys.exit(3 if failed(before) or failed(after) else 0 if report.open else 1)


def _engines_of(package: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the package's engines that were asked for, else all. Raises UsageError."""
    there = [name for name in engine_ids() if package_of(name) == package]
    if not there:
        raise click.UsageError(f"no engine is of the package {package!r}; packages: {', '.join(packages())}")
    for name in asked:
        if package_of(name) != package or "@" in name:
            raise click.UsageError(f"--engine {name}: name an engine of {package}, without a version")
    return asked or tuple(there)


@click.command("bisect")
@click.argument("package")
@click.option("--cell", required=True, help="ENGINE/SCENARIO/GUARANTEE, by their ids, without a version.")
@click.option("--good", required=True, help="A release in which the witness does not fail.")
@click.option("--bad", required=True, help="A release in which it does; it may be the older one.")
@click.option(
    "--witness",
    "chosen",
    type=click.Path(path_type=Path),
    help="Default: the stored ones of the cell, one after the other.",
)
@click.option("--witnesses", type=click.Path(path_type=Path), default=Path("witnesses"), show_default=True)
@click.option("--timeout", type=click.FloatRange(1), default=300, show_default=True, help="Seconds for one run.")
def bisect_(package: str, cell: str, good: str, bad: str, chosen: Path | None, witnesses: Path, timeout: float) -> None:
    """Find the first release of PACKAGE in which a witness of a cell answers otherwise.

    Exit code 0 if it was found, 2 if there is nothing to find, 3 if a release could not be asked.
    """
    engine, _, row = cell.partition("/")
    scenario, _, guarantee = row.partition("/")
    if package_of(engine) != package or "@" in engine:
        raise click.UsageError(f"--cell {cell}: {engine!r} is no engine of {package}, by its id without a version")
    scenarios = load_scenarios([scenario])
    found = [Witness.read(chosen)] if chosen else stored_witnesses([witnesses], scenarios)
    mine = [w for w in found if (bare(w.engine), w.case.scenario, w.guarantee) == (engine, scenario, guarantee)]
    if not mine:
        raise click.UsageError(f"{chosen or witnesses} has no witness of {cell}: give one with --witness")
    asked = between(released(package), good, bad)
    said: list[CannotBisect] = []
    for witness in mine:
        click.echo(f"witness {witness.id}, {len(asked)} releases from {good} to {bad}")
        try:
            flip = bisect(asked, lambda version, w=witness: _fails(f"{engine}@{version}", w, scenarios, timeout))  # type: ignore[misc]
        except CannotBisect as error:
            click.echo(f"  {error}")
            said.append(error)
            continue
        click.echo(f"{package} {flip.after} is the first release in which it fails; in {flip.before} it does not")
        if flip.unanswered:
            click.echo(f"no answer from {', '.join(flip.unanswered)}, which lie between the two")
        return
    raise said[0]


def _fails(engine: str, witness: Witness, scenarios: Sequence[Scenario], timeout: float) -> bool | None:
    """Whether a witness fails on an engine, None where there is no answer; says so."""
    try:
        again = asked_alone(engine, witness, scenarios, Path("build/conformance/bisect.log"), timeout)
    except CannotRun as error:
        click.echo(f"  {engine}: {ERROR}: {error}")
        return None
    click.echo(f"  {engine}: {again.answer}: {again.message or 'the guarantee stands'}")
    return {STILL_FAILS: True, FIXED: False}.get(again.answer)


COMMANDS = (diff_, gate_, baseline_, upgrade_, bisect_)

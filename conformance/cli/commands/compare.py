"""The commands that compare runs: diff, gate and baseline; and bisect, which looks for the release of a change."""

import datetime
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from conformance.cli import hints, options
from conformance.comparison.bisect import CannotBisect, between, bisect, released
from conformance.comparison.expectations import Divergence
from conformance.comparison.expectations import read as read_expectations
from conformance.comparison.gate import GateReport, gate
from conformance.comparison.upgrade import asked_alone
from conformance.confirmation.replay import ERROR, FIXED, STILL_FAILS
from conformance.judgement.cell import Verdict
from conformance.model.engine import CannotRun, bare
from conformance.model.scenario import Scenario
from conformance.plugins.registry import engine_ids, load_scenarios, package_of, variant_ids
from conformance.results.baseline import Baseline, Place, is_results
from conformance.results.changes import changes
from conformance.results.report import load_report
from conformance.results.results import Results, UnreadableResults
from conformance.results.witness import Witness, find_witness, stored_witnesses
from conformance.support.naming import instead
from conformance.support.writing import write_whole


@click.command("diff")
@click.argument("old", type=options.PATH)
@click.argument("new", type=options.PATH)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@options.file("--markdown", "Write the changes as Markdown here.")
@options.file("--html", "Write the matrix with the engines of both runs here.")
@options.verbose
def diff_(old: Path, new: Path, as_json: bool, markdown: Path | None, html: Path | None, verbose: bool) -> None:
    """Say what changed between two runs, cell by cell and in both directions, with -v each change. OLD and NEW are
    results or baselines."""
    from conformance.reports.text import comparison

    sides = _side(old), _side(new)
    between = changes(sides[0][0], sides[1][0])
    runs = [results for _, results in sides if results]
    if html:
        if len(runs) < 2:
            raise click.UsageError("--html needs results of both: a baseline has no evidence to show")
        write_whole(html, load_report("html").render(runs))
    if markdown:
        write_whole(markdown, comparison.diff_markdown(between, runs, str(old), str(new)))
    if as_json:
        click.echo(comparison.diff_json(between), nl=False)
        return
    for line in comparison.diff_lines(between, runs, verbose):
        click.echo(line)


def _side(path: Path) -> tuple[Baseline, Results | None]:
    """A file as one side of a comparison, and the whole results where it has them."""
    try:
        results = Results.read(path)
    except UnreadableResults:
        return Baseline.read(path), None
    return Baseline.of(results), results


@click.command("gate")
@click.argument("results", type=options.PATH)
@click.option("--baseline", type=options.PATH, required=True, help="A baseline, or results.")
@options.expectations
@options.file("--markdown", "Write the answer as Markdown here.")
@options.file("--junit", "Write the answer as JUnit XML here.")
@click.option("--propose", is_flag=True, help="Print entries for expectations.toml that would accept what blocks.")
def gate_(
    results: Path, baseline: Path, expectations: Path | None, markdown: Path | None, junit: Path | None, propose: bool
) -> None:
    """Compare a candidate's RESULTS with a baseline, and block what nobody has accepted (docs/gate.md has the rules).

    Exit code 1 if anything blocks, 2 if the two sides cannot be compared.
    """
    from conformance.reports.text import comparison

    report = judged(Baseline.read(results), Baseline.read(baseline), divergences(expectations))
    if markdown:
        write_whole(markdown, comparison.gate_markdown(report))
    if junit:
        write_whole(junit, comparison.gate_junit(report))
    for line in comparison.gate_lines(report):
        click.echo(line)
    if propose:
        for line in comparison.proposals(report):
            click.echo(line)
    sys.exit(0 if report.open else 1)


def divergences(path: Path | None) -> list[Divergence]:
    """The accepted divergences of a file, or of the one that lies here. Raises UnusableExpectations."""
    default = Path("expectations.toml")
    path = path or (default if default.exists() else None)
    return read_expectations(path) if path else []


def today() -> datetime.date:
    """The day in UTC, on which expectations expire."""
    return datetime.datetime.now(datetime.timezone.utc).date()


def judged(
    candidate: Baseline, baseline: Baseline, accepted: list[Divergence], more: Sequence[Place] = ()
) -> GateReport:
    """The gate's answer on this day, by the engines and scenarios that there are. ``gate`` describes the rest."""
    engines, scenarios = [*engine_ids(), *variant_ids()], [scenario.id for scenario in load_scenarios()]
    return gate(candidate, baseline, accepted, today=today(), engines=engines, scenarios=scenarios, more=more)


@click.group("baseline", cls=hints.Group)
def baseline_() -> None:
    """Baselines: results without the evidence, a line for each guarantee on an engine, to keep under git."""


@baseline_.command("write")
@click.argument("results", type=options.PATH)
@click.argument("file", type=options.PATH)
@click.option(
    "--without", "left_out", metavar="ENGINE", multiple=True, help="Leave an engine out (repeat for several)."
)
def baseline_write(results: Path, file: Path, left_out: tuple[str, ...]) -> None:
    """Write the baseline of RESULTS to FILE. Results of a partial or brief run, or of an engine that failed, are
    refused."""
    found = Baseline.read(results)
    if unknown := [name for name in left_out if name not in found.engines]:
        raise click.UsageError(f"{results} has no engine {unknown[0]!r}; {instead(unknown[0], found.engines)}")
    found = found.without(left_out)
    found.check_fit()
    _no_results(file, f"conformance baseline write {results} FILE")
    found.write(file)


@baseline_.command("update")
@click.argument("file", type=options.PATH)
@click.argument("results", type=options.PATH)
def baseline_update(file: Path, results: Path) -> None:
    """Put the engines of RESULTS into the baseline FILE, and say what changed.

    Results of a partial or brief run, of an engine that failed, or of only some of the scenarios are refused.
    """
    from conformance.reports.text import comparison

    _no_results(file, f"conformance baseline update {results} {file}")
    old, (new, whole) = Baseline.read(file), _side(results)
    if {*old.engines} - {*new.engines} and (old.harness, old.cases_digest) != (new.harness, new.cases_digest):
        raise click.UsageError(
            f"{file} has engines that {results} has not, and is of another harness or other cases: write a new one"
        )
    new.check_fit(old)
    for line in comparison.diff_lines(changes(old, new), [whole] if whole else [], everything=True):
        click.echo(line)
    old.updated(new).write(file)


def _no_results(file: Path, otherwise: str) -> None:
    """Refuses to write a baseline over results, whose evidence would be lost."""
    if file.exists() and is_results(file):
        raise click.UsageError(f"{file} has results, and a baseline would take their place: `{otherwise}`?")


@baseline_.command("show")
@click.argument("file", type=options.PATH)
def baseline_show(file: Path) -> None:
    """Say what is in a baseline: engines, versions, how many cells of each verdict."""
    from conformance.reports.witnesses import versions_in

    found = Baseline.read(file)
    click.echo(f"harness {found.harness}, cases {found.cases_digest[:12]}")
    for engine, counts in found.counts().items():
        said = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
        click.echo(f"{engine} ({versions_in(found.engines[engine])}): {said}")


@dataclass(frozen=True)
class Ends:
    """The releases between which a change is looked for."""

    good: str
    bad: str


@click.command("bisect")
@click.argument("package")
@click.option("--cell", required=True, help="ENGINE/SCENARIO/GUARANTEE, by their ids, without a version.")
@click.option("--good", required=True, help="A release in which the witness does not fail.")
@click.option("--bad", required=True, help="A release in which it does; it may be the older one.")
@click.option(
    "--witness",
    "chosen",
    type=options.PATH,
    help="A file or an id. Default: the stored ones of the cell, one after the other.",
)
@options.witnesses
@options.timeout(300, "one run")
@options.into("ends", Ends)
def bisect_(package: str, cell: str, ends: Ends, chosen: Path | None, witnesses: Path, timeout: float) -> None:
    """Find the first release of PACKAGE in which a witness of a cell answers otherwise.

    Exit code 0 if it was found, 2 if there is nothing to find, 3 if a release could not be asked.
    """
    engine, _, row = cell.partition("/")
    scenario, _, guarantee = row.partition("/")
    if package_of(engine) != package or "@" in engine:
        raise click.UsageError(f"--cell {cell}: {engine!r} is no engine of {package}, by its id without a version")
    scenarios = load_scenarios([scenario])
    found = (
        [Witness.read(find_witness(chosen, [witnesses]))] if chosen else stored_witnesses([witnesses], scenarios).asked
    )
    mine = [w for w in found if (bare(w.engine), w.case.scenario, w.guarantee) == (engine, scenario, guarantee)]
    if not mine:
        raise click.UsageError(f"{chosen or witnesses} has no witness of {cell}: give one with --witness")
    asked = between(released(package), ends.good, ends.bad)
    said: list[CannotBisect] = []
    for witness in mine:
        click.echo(f"witness {witness.id}, {len(asked)} releases from {ends.good} to {ends.bad}")
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
    """Whether a witness fails on an engine, None if there is no answer. Prints the result."""
    try:
        again = asked_alone(engine, witness, scenarios, Path("build/conformance/logs/bisect"), timeout)
    except CannotRun as error:
        click.echo(f"  {engine}: {ERROR}: {error}")
        return None
    click.echo(f"  {engine}: {again.answer}: {again.message or 'the guarantee stands'}")
    return {STILL_FAILS: True, FIXED: False}.get(again.answer)

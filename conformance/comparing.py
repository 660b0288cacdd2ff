"""The commands that compare runs: diff, gate and baseline."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import click

from conformance.baseline import Baseline
from conformance.changes import changes
from conformance.expectations import read as read_expectations
from conformance.gate import gate
from conformance.registry import engine_ids, load_reports, variant_ids
from conformance.results import Results, UnreadableResults, Verdict


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

    default = Path("expectations.toml")
    path = expectations or (default if default.exists() else None)
    report = gate(
        Baseline.read(results),
        Baseline.read(baseline),
        read_expectations(path) if path else [],
        today=datetime.datetime.now(datetime.timezone.utc).date(),
        known=[*engine_ids(), *variant_ids()],
    )
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


@click.group("baseline")
def baseline_() -> None:
    """Baselines: results without the evidence, a line for each guarantee on an engine, to keep under git."""


@baseline_.command("write")
@click.argument("results", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def baseline_write(results: Path, file: Path) -> None:
    """Write the baseline of RESULTS to FILE."""
    Baseline.read(results).write(file)


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
    found = Baseline.read(file)
    click.echo(f"harness {found.harness}, cases {found.cases_digest[:12]}")
    for engine, counts in found.counts().items():
        versions = ", ".join(f"{name} {value}" for name, value in found.engines[engine].items() if "." not in name)
        said = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
        click.echo(f"{engine} ({versions}): {said}")


COMMANDS = (diff_, gate_, baseline_)

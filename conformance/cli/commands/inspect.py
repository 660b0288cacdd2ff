"""The commands list, claims and doctor, which show what exists, and explain, which gives the reason for a cell's
verdict."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from conformance.cli import options
from conformance.cli.hints import Choice
from conformance.cli.job import able
from conformance.cli.job import console as open_console
from conformance.judgement.verdict import fold
from conformance.model.feature import Feature
from conformance.model.scenario import Guarantee
from conformance.plugins.registry import engine_ids, load_engine, load_scenarios, port_engines
from conformance.reports.text.screen import say
from conformance.results.catalogue import Claim, catalogue
from conformance.results.claims import all_decisions
from conformance.results.results import Results
from conformance.support.naming import unknown

WIDTH, LINES = 300, 30
"""The most characters of a line, and lines of a witness, in an explanation without -v."""


@click.command("list")
@click.argument("what", type=Choice(["engines", "scenarios", "guarantees", "claims"]), default="scenarios")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@options.load
def list_(what: str, as_json: bool) -> None:
    """List engines with their capabilities, scenarios, guarantees with their sources, or claims with what decides
    them."""
    found = {"engines": _engines, "scenarios": _scenarios, "guarantees": _guarantees, "claims": _claims}[what]()
    if as_json:
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return
    console = open_console()
    for entry in found:
        console.print(f"[bold]{escape(entry['id'])}[/bold]  {escape(entry['title'])}", highlight=False, soft_wrap=True)
        for name, value in entry["details"].items():
            say(console, f"    {name}: {value}")


def _engines() -> list[dict[str, Any]]:
    found = []
    for name in [*engine_ids(), *port_engines(on_request=True)]:
        engine = load_engine(name)
        can = engine.capabilities
        details = {f.value: f"{s.how}{': ' + s.note if s.note else ''}" for f, s in can.features.items()}
        details["late, global window"] = can.lateness.global_window.value
        details["late, fixed windows"] = can.lateness.fixed_windows.value
        found.append({"id": name, "title": engine.title, "details": details})
    return found


def _scenarios() -> list[dict[str, Any]]:
    return [
        {
            "id": s.id,
            "title": s.summary,
            "details": {"programs": ", ".join(s.programs), "guarantees": str(len(s.guarantees))},
        }
        for s in load_scenarios()
    ]


def _guarantees() -> list[dict[str, Any]]:
    def details(guarantee: Guarantee) -> dict[str, str]:
        source = asdict(guarantee.source)
        needs = ", ".join(feature.value for feature in Feature if feature in guarantee.needs)
        return {k: v for k, v in {"source": source["document"], "quote": source["quote"], "needs": needs}.items() if v}

    return [
        {"id": f"{scenario.id}/{g.id}", "title": g.claim, "details": details(g)}
        for scenario in load_scenarios()
        for g in scenario.guarantees
    ]


def _claims() -> list[dict[str, Any]]:
    def details(claim: Claim) -> dict[str, str]:
        source, said = claim.document, {"decided by": claim.decided_by, "shown by": claim.shown_by}
        found = {
            "document": source.title,
            "url": source.url,
            "version": source.version,
            "note": claim.note,
            "finding": claim.finding,
        }
        found |= {"engines": ", ".join(claim.engines), "probe": claim.probe, "not decidable": claim.not_decidable}
        return {k: v for k, v in (found | {k: ", ".join(map(str, v)) for k, v in said.items()}).items() if v}

    return [{"id": claim.id, "title": claim.quote, "details": details(claim)} for claim in catalogue()]


@click.command("claims")
@click.argument("results", type=options.PATH)
@options.verbose
def claims_(results: Path, verbose: bool) -> None:
    """Say what results show of the claims that documents and tutorials make of stateful processing, with -v by what."""
    from conformance.reports.text.claims import claims_lines

    for line in claims_lines(all_decisions(Results.read(results)), verbose):
        click.echo(line)


@click.command("doctor")
def doctor_() -> None:
    """Say which engines this machine can run, and what the others lack."""
    console = open_console()
    found, lacking = able(engine_ids())
    say(console, f"can run: {', '.join(found)}")
    for why, others in lacking.items():
        say(console, f"cannot run: {why}: {', '.join(others)}")
    sys.exit(3 if lacking else 0)


@click.command("explain")
@click.argument("cell")
@click.argument("results", type=options.PATH)
@options.verbose
def explain_(cell: str, results: Path, verbose: bool) -> None:
    """Say why a cell has its verdict, with -v under each perturbation. CELL is ENGINE/SCENARIO/GUARANTEE, by their
    ids."""
    from conformance.reports.grades import behind, grade_of
    from conformance.reports.text.likeness import stability_lines
    from conformance.reports.witnesses import alone_lines, witness_lines
    from conformance.reports.words import amount, coverage_line, replay_command, shortened, some

    found = Results.read(results)
    engine, _, row = cell.partition("/")
    scenario, _, guarantee = row.partition("/")
    cells = found.of((scenario, guarantee), engine)
    if not cells:
        raise click.UsageError(f"{results} has no cell {cell!r}: {_missing(found, engine, scenario, guarantee)}")
    texts = found.scenarios[scenario].guarantees[guarantee]
    console = open_console()

    say(console, f"{found.scenarios[scenario].name}: {texts.claim}", "bold")
    say(console, f"claimed by {texts.source}: {texts.quote!r}" if texts.quote else f"the claim is {texts.source}")
    folded = fold(cells)
    say(console, f"on {found.environment[engine].title}: {folded.words}", "bold")
    if (grade := grade_of(folded)) and (rests := behind(folded)):
        say(console, f"evidence: {grade.name} ({grade.meaning}); {rests}")
    if verbose:
        for c in cells:
            against = f"{c.violations} of {amount(c.cases, 'case')} against"
            say(console, f"  {c.perturbation}: {c.verdict.value}: {c.reason} ({against})")
        for note in folded.notes:
            say(console, f"  {note}")
        if covered := coverage_line(folded):
            say(console, f"  {covered}")
    else:
        for verdict in dict.fromkeys(c.verdict for c in cells):
            mine = [c for c in cells if c.verdict is verdict]
            say(
                console,
                shortened(f"  {verdict.value}: {some([c.perturbation for c in mine])}: {mine[0].reason}", WIDTH),
            )
    if witness := found.witnesses.get(folded.witness):
        alone = alone_lines(witness, engine, found.environment[engine].versions)
        lines = [*witness_lines(witness), *alone]
        most = len(lines) if verbose else LINES
        left = [f"and {len(lines) - most} more lines: -v"] if len(lines) > most else []
        for line in ["the witness:", *lines[:most], *left, replay_command(witness.id)]:
            say(console, line)
    if not verbose:
        return
    say(console, "how alike a case and its perturbed twin were:")
    for stability in found.stability:
        if (stability.engine, stability.scenario, stability.program) == (engine, scenario, texts.program):
            for line in stability_lines(stability):
                say(console, f"  {line}")


def _missing(found: Results, engine: str, scenario: str, guarantee: str) -> str:
    """Which part of a cell's name the results do not have."""
    if not (scenario and guarantee):
        return "a cell is ENGINE/SCENARIO/GUARANTEE, by their ids"
    if engine not in found.environment:
        return unknown("engine", engine, found.environment)
    if scenario not in found.scenarios:
        return unknown("scenario", scenario, found.scenarios)
    if guarantee not in found.scenarios[scenario].guarantees:
        return unknown("guarantee", guarantee, found.scenarios[scenario].guarantees)
    return f"{engine} was not asked for it"

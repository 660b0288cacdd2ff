"""The plan command: what a run would ask an engine, and why."""

import json
from pathlib import Path
from typing import Any

import click

from conformance.cli import options
from conformance.cli.commands.run import RUN_CASES
from conformance.execution.ask import packs_for
from conformance.model.engine import EngineInfo
from conformance.plugins.registry import load_engine
from conformance.support.naming import counted


@click.command("plan")
@click.argument("engine")
@options.load
@options.scenarios("all, or what was loaded")
@options.cases(RUN_CASES)
@options.cases_from
@options.seed
@options.perturbations
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan_(
    engine: str,
    scenarios: tuple[str, ...],
    wanted: int,
    cases_from: Path | None,
    seed: int,
    perturbations: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say what a run would ask ENGINE, without running it: its rows, each one engine run, with what changes in it; and
    what of the promises of guarantees no case would put to the test.

    Exit code 0; 2 for wrong usage.
    """
    about = options.scenarios_named(scenarios)
    options.check_perturbations(perturbations, [engine])
    found = told(engine, about, wanted, cases_from, seed, perturbations)
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for number, row in enumerate(found["rows"], 1):
        changes = ", ".join(row["changes"]) or "nothing: what the other rows of this timeline are compared with"
        click.echo(f"row {number}: {counted(row['steps'], 'step')}, {counted(row['cases'], 'case')}; changes {changes}")
    click.echo(
        f"{engine}: {counted(len(found['rows']), 'row')}, {counted(found['cases'], 'case')} in "
        f"{counted(found['packs'], 'engine run')}; "
        f"{counted(found['guarantees'], 'guarantee')}, of which {len(found['in part'])} would hold in part"
    )
    for name, lacking in found["in part"].items():
        click.echo(f"in part: {name}: no case under {', '.join(lacking)}")


def told(
    engine: str,
    about: list[Any],
    wanted: int,
    cases_from: Path | None,
    seed: int,
    perturbations: tuple[str, ...],
) -> dict[str, Any]:
    """What ``plan`` says. Raises UnknownName, UnusableCases."""
    # Imported here, because Hypothesis takes longer to import than most commands do.
    from conformance.generation.suite import Scope, Suite
    from conformance.generation.unexercised import unexercised
    from conformance.judgement.reference import reference_traces
    from conformance.model.scenario import programs_of
    from conformance.results.store import read_cases
    from conformance.run.drawing import batches

    can = load_engine(engine).capabilities
    drawn = read_cases(cases_from, about) if cases_from else batches(about, wanted, seed)
    cases = [case for batch in drawn for case in batch]
    reference = reference_traces(programs_of(about), can.lateness)
    suite = Suite(about, can, cases, seed, reference, Scope(every=cases_from is not None, only=perturbations))
    promised, lacking = unexercised(suite, about, EngineInfo(engine, "", can), reference)
    rows = [
        {"steps": len(r.timeline.steps), "changes": [p.at(n) for p, n in r.parts], "cases": len(suite.of(r))}
        for r in suite.rows
    ]
    return {
        "engine": engine,
        "seed": seed,
        "rows": rows,
        "cases": len(suite.cases),
        "packs": len(packs_for(suite.cases, can)),
        "guarantees": len(promised),
        "in part": {f"{s}/{g}": [name or "as drawn" for name in names] for (s, g), names in lacking.items()},
    }

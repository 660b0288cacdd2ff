"""The replay command: runs one witness alone."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from conformance.cli import options
from conformance.cli.hints import Choice
from conformance.cli.job import console as open_console
from conformance.comparison.exported import exported as exported_text
from conformance.comparison.upgrade import asked_alone, asked_of
from conformance.confirmation.replay import ERROR, STILL_FAILS
from conformance.model.engine import CannotRun
from conformance.model.scenario import Guarantee, Scenario
from conformance.model.trace import Trace
from conformance.plugins.registry import export_names, load_scenarios
from conformance.reports.text.screen import say
from conformance.results.witness import (
    FOLDER,
    UnreadableWitness,
    Witness,
    find_witness,
    of_scenario,
    projects_folder,
)
from conformance.support.writing import write_whole


@dataclass(frozen=True)
class Exported:
    """The format of an export, what it expects, and its file; None for no export, for what is guaranteed, and for a
    file of the default name."""

    formatted: str | None
    expect: str | None
    to: Path | None


@click.command("replay")
@click.argument("witness", type=options.PATH)
@click.option(
    "--witnesses",
    multiple=True,
    type=options.PATH,
    default=lambda: (FOLDER, f"build/conformance/{FOLDER}", projects_folder()),
    show_default="witnesses, build/conformance/witnesses, and the project's own",
    help="A folder in which WITNESS is looked up by its id (repeat for several).",
)
@options.engines("the one it was found on", "An engine to replay on")
@options.timeout(600, "the engine to answer")
@options.file("--plot", "Draw what went in and what came out here, as SVG.")
@click.option(
    "--export",
    "formatted",
    type=Choice(export_names()),
    help="Do not run it: write it as a Python file that needs the engine's framework alone, to paste into a report "
    "or a test suite.",
)
@click.option(
    "--expect",
    type=Choice(["guarantee", "observed"]),
    help="With --export: what its test expects, what is guaranteed (the default) or what this engine was seen to do.",
)
@options.file("--to", "With --export: the file. Default: test_witness_ID.py.")
@options.load
@options.into("exported", Exported)
def replay_(
    witness: Path,
    witnesses: tuple[Path, ...],
    engines: tuple[str, ...],
    timeout: float,
    plot: Path | None,
    exported: Exported,
) -> None:
    """Run a witness, named by its file or its id, alone and print, step by step, what went in and what came out.

    Exit code 1 if it still fails on an engine, 3 if an engine gave no answer.
    """
    if exported.to and not exported.formatted:
        raise click.UsageError("--to names the file of an export: give --export, too")
    if exported.expect and not exported.formatted:
        raise click.UsageError("--expect is what an exported test expects: give --export, too")
    if exported.formatted and (engines or plot):
        raise click.UsageError("--export writes what was found and runs nothing: leave out --engine and --plot")
    folders = [*map(Path, witnesses)]
    witness = find_witness(witness, folders)
    found = Witness.read(witness)
    scenarios = {s.id: s for s in load_scenarios()}
    if found.case.scenario not in scenarios or found.case.program not in scenarios[found.case.scenario].programs:
        raise UnreadableWitness(
            f"{witness} is of {found.case.scenario}/{found.case.program}, which is not a program of any scenario here"
        )
    scenario = asked_of(found, scenarios.values())
    guarantee = scenario.askable.get(found.guarantee)
    if guarantee is None:
        raise UnreadableWitness(
            f"{witness} speaks of the guarantee {found.guarantee!r}, which {scenario.id} does not have"
        )
    if exported.formatted:
        to = exported.to or Path(f"test_witness_{found.id}.py")
        others = of_scenario(found.case.scenario, [witness.parent.parent, *folders])
        observed = exported.expect == "observed"
        write_whole(to, exported_text(found, [scenario], exported.formatted, others, observed=observed))
        does = "passes" if observed else "fails"
        click.echo(f"{to}: {does} where the engine does what it did; run it with python, or with pytest")
        return
    console = open_console()
    say(console, f"{scenario.name}: {guarantee.claim}", "bold")
    codes, seen = [], {}
    for name in engines or (found.engine,):
        answer, lines, code, traces = _replay_on(name, found, scenario, guarantee, timeout)
        for line in lines:
            say(console, line)
        say(console, f"{name}: {answer}", "bold")
        codes.append(code)
        seen[name] = traces
    if plot:
        from conformance.reports.page import picture
        from conformance.reports.page.panels import replayed

        write_whole(plot, picture.document(replayed(found, seen)))
    sys.exit(max(codes))


def _replay_on(
    name: str, found: Witness, scenario: Scenario, guarantee: Guarantee, timeout: float
) -> tuple[str, list[str], int, Mapping[str, Trace]]:
    """(the answer, the run as lines, the exit code, the traces by case id) of a replay on one engine."""
    from conformance.reports.witnesses import about, failed_alone, shown, versions_in

    try:
        answered = asked_alone(name, found, [scenario], Path("build/conformance/logs/replay"), timeout)
    except CannotRun as error:
        return f"{ERROR}: {error}", [], 3, {}
    lines = [f"{name}: {versions_in(answered.versions)}"] if answered.versions else []
    for case in [found.base, found.case] if found.base else [found.case]:
        which = "" if not found.base else f", its twin: {case.perturbation}" if case.base else ", the base"
        lines += shown(f"on {name}{which}", case, answered.traces.get(case.id))
    lines += [f"when it was found, {line}" for line in (*about(found), *failed_alone(found, found.confirmations))]
    message = answered.message or "the guarantee stands"
    code = {STILL_FAILS: 1, ERROR: 3}.get(answered.answer, 0)
    return f"{answered.answer}: {message}", lines, code, answered.traces

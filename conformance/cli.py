"""The command line. Exit codes: 0 done, 1 a gate, a replay or a selftest found what it guards against, 2 wrong usage or input, 3 an engine
could not be run to its end."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from conformance import comparing
from conformance.baseline import UnreadableBaseline
from conformance.bisecting import CannotBisect
from conformance.checks import MANY
from conformance.claims import Answer, Claim, all_decisions, catalogue, counted
from conformance.confirmation import ERROR, STILL_FAILS
from conformance.engine import CannotRun, Feature
from conformance.expectations import UnusableExpectations
from conformance.gate import Refused
from conformance.guarantees import Guarantee, Scenario
from conformance.loading import ask_for
from conformance.model import InvalidSchedule, Trace
from conformance.port import InvalidPort
from conformance.program import by_processing_time
from conformance.rechecking import check_again
from conformance.registry import (
    UnknownName,
    engine_ids,
    load_engine,
    load_reports,
    load_scenarios,
    mutant_ids,
    package_of,
    packages,
    port_engines,
    users,
    users_scenarios,
)
from conformance.results import Results, UnreadableResults, fold
from conformance.runner import Options
from conformance.running import console as open_console
from conformance.running import execute, failed, prepare, runnable, write
from conformance.selftest import SelfTest, UnreadableSelfTest, selftest
from conformance.storage import UnusableCases, UnusableTraces
from conformance.upgrading import asked_alone, asked_of
from conformance.witnesses import UnreadableWitness, Witness

QUICK, QUICK_SHARE = 5, 0.1

BAD_INPUT = (
    UnknownName,
    InvalidPort,
    Refused,
    UnreadableBaseline,
    UnreadableResults,
    UnreadableSelfTest,
    UnreadableWitness,
    UnusableCases,
    UnusableExpectations,
    UnusableTraces,
    CannotBisect,
    InvalidSchedule,
)


class OneLine(click.Group):
    """Bad input ends in one line on standard error and exit code 2."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except BAD_INPUT as error:
            raise click.UsageError(str(error)) from None
        except OSError as error:
            raise click.UsageError(f"{error.strerror}: {error.filename}") from None


def _load(context: click.Context, option: click.Parameter, names: tuple[str, ...]) -> None:
    if names:
        ask_for(names)
    users()


loading = click.option(
    "--load",
    metavar="FILE_OR_MODULE",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=_load,
    help="A Python file or module with ports of your own operators, or scenarios (repeat for several).",
)


checking = click.option(
    "--checker",
    type=click.Choice(["auto", "local", "spark"]),
    default="auto",
    show_default=True,
    help=f"Where cases and traces are checked: in this process, or as a Spark job. auto: on Spark above {MANY} cases.",
)


@click.group(cls=OneLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="conformance")
def main() -> None:
    """Shows which guarantees stateful stream processing really gives, engine by engine."""
    signal.signal(signal.SIGTERM, lambda *_: _interrupt())  # engines and their folders are then cleaned up


@main.command("list")
@click.argument("what", type=click.Choice(["engines", "scenarios", "guarantees", "claims"]), default="scenarios")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@loading
def list_(what: str, as_json: bool) -> None:
    """List engines with their capabilities, scenarios, guarantees with their sources, or claims with what decides them."""
    found = {"engines": _engines, "scenarios": _scenarios, "guarantees": _guarantees, "claims": _claims}[what]()
    if as_json:
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return
    console = open_console()
    for entry in found:
        console.print(f"[bold]{escape(entry['id'])}[/bold]  {escape(entry['title'])}", highlight=False, soft_wrap=True)
        for name, value in entry["details"].items():
            console.print(f"    {escape(name)}: {escape(value)}", highlight=False, soft_wrap=True)


def _engines() -> list[dict[str, Any]]:
    found = []
    for name in engine_ids():
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


@main.command()
@click.argument("results", type=click.Path(path_type=Path))
def claims(results: Path) -> None:
    """Say what results show of the claims that documents and tutorials make of stateful processing."""
    from reports.words import claim_lines

    decisions = all_decisions(Results.read(results))
    for answer in Answer:
        for decision in decisions:
            if decision.answer is answer:
                for line in claim_lines(decision):
                    click.echo(line)
    click.echo(", ".join(f"{number} {answer.value}" for answer, number in counted(decisions).items() if number))


@main.command()
def doctor() -> None:
    """Say which engines this machine can run, and what the others lack."""
    console = open_console()
    missing = 0
    for name in engine_ids():
        try:
            load_engine(name).check()
        except CannotRun as error:
            missing += 1
            console.print(f"{name}: cannot run: {escape(str(error))}", highlight=False, soft_wrap=True)
        else:
            console.print(f"{name}: can run", highlight=False)
    sys.exit(3 if missing else 0)


@main.command()
@click.option(
    "--engine",
    "engines",
    multiple=True,
    help="An engine to run (repeat for several). Default: all that this machine can run; with ports loaded, these and the "
    "reference.",
)
@click.option(
    "--release",
    "releases",
    metavar="PACKAGE==VERSION",
    multiple=True,
    help="Run the engines of this package in this release, in an environment of its own. Without --engine: all of them, and the "
    "reference. One engine: --engine ID@VERSION.",
)
@loading
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    help="A scenario to run (repeat for several). Default: all, or what was loaded.",
)
@click.option(
    "--cases",
    "wanted",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="How many cases shall put each guarantee to the test.",
)
@click.option("--cases-from", type=click.Path(path_type=Path), help="Take the cases of another run: its folder.")
@click.option("--seed", type=int, help="Default: a random one, which is printed.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/conformance"), show_default=True)
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    default=600,
    show_default=True,
    help="Seconds for one pack of cases on one engine.",
)
@click.option(
    "--witnesses",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("witnesses"),
    show_default=True,
    help="Folder of stored witnesses, replayed first; nothing is stored there.",
)
@click.option(
    "--spark-master",
    envvar="CONFORMANCE_SPARK_MASTER",
    help="Which Spark to use: local[2,4], local-cluster[2,1,1024], spark://…, or sc://… for the Python APIs. "
    "Default: an embedded one.",
)
@checking
@click.option("--all-packs", is_flag=True, help="Let slow engines run all packs of cases, not a choice of them.")
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    help="Which part of its choice of packs a slow engine runs. Default: all of it.",
)
@click.option(
    "--quick",
    is_flag=True,
    help=f"A first look: --cases {QUICK} --share {QUICK_SHARE:g} on one engine of each kind, without what waits for processing time; "
    "stored witnesses are replayed in packs, new ones run alone once.",
)
def run(
    engines: tuple[str, ...],
    releases: tuple[str, ...],
    scenarios: tuple[str, ...],
    wanted: int,
    cases_from: Path | None,
    seed: int | None,
    out: Path,
    timeout: float,
    witnesses: Path,
    spark_master: str | None,
    checker: str,
    all_packs: bool,
    share: float,
    quick: bool,
) -> None:
    """Run scenarios on engines; write results.json, matrix.html, summary.md, junit.xml, cells.csv, badge.svg and the
    witnesses."""
    console = open_console()
    if spark_master:
        os.environ["CONFORMANCE_SPARK_MASTER"] = spark_master  # engines run in processes of their own
    ports = port_engines()
    asked = _in_releases(engines, releases) or runnable(console, ["reference", *ports] if ports else engine_ids())
    about = load_scenarios(scenarios) if scenarios else users_scenarios() or load_scenarios()
    if quick:
        wanted, share = QUICK, QUICK_SHARE
        if not engines:
            asked = [name for name in asked if name == "reference" or load_engine(name).capabilities.quick]
        if not scenarios:
            about = [s for s in about if not by_processing_time(s.programs.values())]
    options = Options(
        engines=tuple(asked),
        scenarios=tuple(about),
        out=out,
        wanted=wanted,
        seed=random.SystemRandom().randrange(10**6) if seed is None else seed,
        cases_from=cases_from,
        witnesses=(witnesses,),
        timeout=timeout,
        checker=checker,
        all_packs=all_packs,
        share=share,
        brief=quick,
    )
    sys.exit(3 if failed(execute(options, console)) else 0)


def _in_releases(engines: tuple[str, ...], releases: tuple[str, ...]) -> list[str]:
    """The engines that were asked for, in the releases that were; [] where neither was. Raises UnknownName."""
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


def _interrupt() -> None:
    raise KeyboardInterrupt


@main.command()
@click.argument("traces", type=click.Path(path_type=Path))
@click.option(
    "--engine", "engines", multiple=True, help="An engine (repeat for several). Default: all that gave traces."
)
@loading
@click.option(
    "--scenario", "scenarios", multiple=True, help="A scenario (repeat for several). Default: all of the run."
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/check"), show_default=True)
@checking
def check(traces: Path, engines: tuple[str, ...], scenarios: tuple[str, ...], out: Path, checker: str) -> None:
    """Judge the stored traces of a run again, by the guarantees that there are now, without running an engine. TRACES is the
    run's folder.

    A new violation is `unknown` until its witness has failed alone: replay it.
    """
    console = open_console()
    results = check_again(traces, out, engines, scenarios, checker, lambda: prepare(out))
    write(results, out, console)


@main.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), help="Write the matrix page here.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the Markdown summary here, changes first.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML of the last run here.")
@click.option("--csv", type=click.Path(path_type=Path), help="Write a line for every cell here.")
@click.option("--badge", type=click.Path(path_type=Path), help="Write an SVG badge of the last run here.")
@click.option("--kills", type=click.Path(path_type=Path), help="Show the kill matrix of this self-test in the page.")
def report(results: tuple[Path, ...], kills: Path | None, **files: Path | None) -> None:
    """Make reports again from results files, of several runs oldest first; without options, print the summary of the last."""
    found = [Results.read(path) for path in results]
    if kills and not files["html"]:
        raise click.UsageError("--kills says what the page shows: give --html too")
    for name, path in files.items():
        if path:
            more = {"kills": SelfTest.read(kills)} if kills and name == "html" else {}
            path.write_text(load_reports()[name](found, **more), encoding="utf-8")
    if not any(files.values()):
        from reports.terminal import summary

        summary(found[-1], open_console())


@main.command()
@click.argument("cell")
@click.argument("results", type=click.Path(path_type=Path))
def explain(cell: str, results: Path) -> None:
    """Say why a cell has its verdict. CELL is ENGINE/SCENARIO/GUARANTEE, by their ids."""
    from reports.words import coverage_line, survival_lines, witness_lines

    found = Results.read(results)
    engine, _, row = cell.partition("/")
    scenario, _, guarantee = row.partition("/")
    cells = found.of((scenario, guarantee), engine)
    if not cells:
        raise click.UsageError(f"{results} has no cell {cell!r}; a cell is ENGINE/SCENARIO/GUARANTEE, by their ids")
    texts = found.scenarios[scenario]["guarantees"][guarantee]
    console = open_console()

    def say(text: str, **style: Any) -> None:
        console.print(escape(text), highlight=False, soft_wrap=True, **style)

    say(f"{found.scenarios[scenario]['name']}: {texts['claim']}", style="bold")
    say(f"claimed by {texts['source']}: {texts['quote']!r}" if texts["quote"] else f"the claim is {texts['source']}")
    say(f"on {found.environment[engine]['title']}: {fold(cells).verdict.value}", style="bold")
    for part in cells:
        say(
            f"  {part.perturbation}: {part.verdict.value}: {part.reason} ({part.violations} of {part.cases} cases against)"
        )
    for note in fold(cells).notes:
        say(f"  {note}")
    if covered := coverage_line(fold(cells)):
        say(f"  {covered}")
    if witness := found.witnesses.get(fold(cells).witness):
        for line in ["the witness:", *witness_lines(Witness.from_json(witness))]:
            say(line)
    say("how alike a case and its perturbed twin were:")
    for survival in found.survivals:
        if (survival["engine"], survival["scenario"], survival["program"]) == (engine, scenario, texts["program"]):
            for line in survival_lines(survival):
                say(f"  {line}")


@main.command()
@click.argument("witness", type=click.Path(path_type=Path))
@click.option(
    "--engine",
    "engines",
    multiple=True,
    help="An engine to replay on (repeat for several). Default: the one it was found on.",
)
@click.option(
    "--timeout", type=click.FloatRange(1), default=600, show_default=True, help="Seconds for the engine to answer."
)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw what went in and what came out here, as SVG.")
@loading
def replay(witness: Path, engines: tuple[str, ...], timeout: float, plot: Path | None) -> None:
    """Run a witness alone and print, step by step, what went in and what came out.

    Exit code 1 if it still fails on an engine, 3 if an engine gave no answer.
    """
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
    console = open_console()
    console.print(f"{escape(scenario.name)}: {escape(guarantee.claim)}", style="bold", highlight=False, soft_wrap=True)
    codes, seen = [], {}
    for name in engines or (found.engine,):
        answer, lines, code, traces = _replay_on(name, found, scenario, guarantee, timeout)
        for line in lines:
            console.print(escape(line), highlight=False, soft_wrap=True)
        console.print(f"{name}: {escape(answer)}", style="bold", highlight=False, soft_wrap=True)
        codes.append(code)
        seen[name] = traces
    if plot:
        from reports import picture

        plot.write_text(picture.document(picture.replayed(found, seen)), encoding="utf-8")
    sys.exit(max(codes))


@main.command("selftest")
@click.option("--scenario", "scenarios", multiple=True, help="A scenario to test (repeat for several). Default: all.")
@click.option("--cases", "wanted", type=click.IntRange(1), default=20, show_default=True, help="Cases per guarantee.")
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Seeds on which nothing may accuse the reference.",
)
@click.option("--html", type=click.Path(path_type=Path), help="Write the kill matrix as a page.")
@click.option("--json", "as_json", type=click.Path(path_type=Path), help="Write it as JSON, for `report --kills`.")
def selftest_(scenarios: tuple[str, ...], wanted: int, seeds: int, html: Path | None, as_json: Path | None) -> None:
    """Verify the verifier: run every mutant of the reference engine, and the reference itself.

    Exit code 1 if a mutant survives, a guarantee catches nothing, or the reference is accused.
    """
    from reports import kills

    console = open_console()
    asked = load_scenarios(scenarios)
    with console.status("") if console.is_terminal else nullcontext() as status:
        update = status.update if status else lambda text: None
        found = selftest(asked, mutant_ids(), wanted=wanted, seeds=seeds, progress=update)
    kills.show(found, console)
    if html:
        html.write_text(kills.render(found), encoding="utf-8")
    if as_json:
        found.write(as_json)
    sys.exit(0 if found.passed else 1)


def _replay_on(
    name: str, found: Witness, scenario: Scenario, guarantee: Guarantee, timeout: float
) -> tuple[str, list[str], int, Mapping[str, Trace]]:
    """(the answer, the run as lines, the exit code, the traces by case id) of a replay on one engine."""
    from reports.words import about, shown, versions_in

    try:
        answered = asked_alone(name, found, [scenario], Path("build/conformance/replay.log"), timeout)
    except CannotRun as error:
        return f"{ERROR}: {error}", [], 3, {}
    lines = [f"{name}: {versions_in(answered.versions)}"] if answered.versions else []
    for case in [found.base, found.case] if found.base else [found.case]:
        which = "" if not found.base else f", its twin: {case.perturbation}" if case.base else ", the base"
        lines += shown(f"on {name}{which}", case, answered.traces.get(case.id))
    lines += [f"when it was found, {line}" for line in about(found)]
    message = answered.message or "the guarantee stands"
    code = {STILL_FAILS: 1, ERROR: 3}.get(answered.answer, 0)
    return f"{answered.answer}: {message}", lines, code, answered.traces


for command in comparing.COMMANDS:
    main.add_command(command)


if __name__ == "__main__":
    main()

"""The selftest command: verifies the verifier."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import click

from conformance.cli import options
from conformance.cli.commands.run import QUICK, RUN_CASES
from conformance.cli.commands.upgrade import UPGRADE
from conformance.cli.job import console as open_console
from conformance.model.scenario import Scenario
from conformance.plugins.registry import engine_ids, load_scenarios, mutant_ids, users_scenarios
from conformance.run.options import of_a_quick_run
from conformance.run.processes import available
from conformance.selftest.measured import powers_of
from conformance.selftest.power import Asked, Power, UnreadablePower, read_powers, with_others, write_powers
from conformance.selftest.selftest import Want, selftest
from conformance.support.writing import write_whole

ALL = "all"
"""In the place of an engine: every one."""


@dataclass(frozen=True)
class Suites:
    """The engines whose suites the mutants run on, if any, and how these are run."""

    engines: tuple[str, ...]
    quick: bool
    upgrade: bool
    seed: int | None

    def check(self, html: Path | None) -> None:
        """Raises UsageError for options that do not go together."""
        if not self.engines and (self.quick or self.upgrade or self.seed is not None):
            raise click.UsageError("--quick, --upgrade and --seed say how an engine is run: give --as ENGINE too")
        if self.quick and self.upgrade:
            raise click.UsageError("--quick and --upgrade name two kinds of runs: give one of them")
        if self.engines and html:
            raise click.UsageError("--html is of the kill matrix; with --as, write --json, for `report --power`")

    def asked(self, some: list[Scenario], wanted: int | None) -> tuple[tuple[Scenario, ...], Asked]:
        """The scenarios that the suites are of, ``some`` if there are any, and what is asked of them."""
        about = tuple(some or load_scenarios())
        if self.quick and not some:
            about = tuple(of_a_quick_run(about))
        if self.quick or self.upgrade:
            wanted = QUICK if self.quick else UPGRADE
        seed = 1 if self.seed is None else self.seed
        return about, Asked(wanted or RUN_CASES, seed, brief=self.quick or self.upgrade)


@click.command("selftest")
@options.scenarios("all, or what was loaded")
@options.load
@click.option(
    "--cases",
    "wanted",
    type=click.IntRange(1),
    help=f"Number of cases of each program on each timeline. Default: {RUN_CASES}, as in a run.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Seeds on which nothing may accuse the reference.",
)
@options.file("--html", "Write the kill matrix as a page.")
@click.option(
    "--json",
    "as_json",
    type=options.PATH,
    help="Write it as JSON, for `report --kills`, or `report --power`.",
)
@click.option(
    "--as",
    "engines",
    metavar="ENGINE",
    multiple=True,
    help="Run every mutant on the suite that this engine is given in a run, and say which seeded bugs that run would "
    f"catch (repeat for several; {ALL!r}: every engine).",
)
@click.option("--quick", is_flag=True, help="With --as: the suite of `run --quick`.")
@click.option("--upgrade", is_flag=True, help="With --as: the suite of either release in `upgrade`.")
@click.option("--seed", type=int, help="With --as: the seed of the run. Default: 1.")
@options.into("on", Suites)
def selftest_(
    scenarios: tuple[str, ...], wanted: int | None, seeds: int, html: Path | None, as_json: Path | None, on: Suites
) -> None:
    """Verify the verifier: run every mutant of the reference engine, and the reference itself.

    Exit code 1 if a mutant survives, a guarantee catches nothing, or the reference is accused. With --scenario or
    --load, only mutants count that answer a case of these scenarios otherwise than the reference does, and that one of
    their guarantees minds.

    The kill matrix, which guarantees each mutant breaks, is found for --html, --json, --scenario and --load; otherwise
    a mutant runs until it is caught.

    With --as, no mutant makes the exit code 1: the command says the power of a run. Other engines in the file of --json
    stay, if they were asked alike, unless --scenario or --load is given.
    """
    from conformance.reports.page import kills

    on.check(html)
    console = open_console()
    some = load_scenarios(scenarios) if scenarios else users_scenarios()
    if on.engines:
        about, asked = on.asked(some, wanted)
        with console.status("") if console.is_terminal else nullcontext() as status:
            said = status.update if status else lambda text: None
            names = engine_ids() if ALL in on.engines else on.engines
            found_of = powers_of(names, about, mutant_ids(), asked, said, available())
        for power in found_of:
            kills.show_power(power, console)
        if as_json:
            write_powers(as_json, found_of if some else with_others(found_of, _earlier(as_json)))
        return
    with console.status("") if console.is_terminal else nullcontext() as status:
        update = status.update if status else lambda text: None
        found = selftest(
            some or load_scenarios(),
            mutant_ids(),
            wanted=wanted or RUN_CASES,
            seeds=seeds,
            want=Want.IN_SIGHT if some else Want.MATRIX if html or as_json else Want.HOLES,
            processes=available(),
            progress=update,
        )
    if some:
        kills.show_some(found, console)
    else:
        kills.show(found, console, matrix=bool(html or as_json))
    if html:
        write_whole(html, kills.render(found))
    if as_json:
        found.write(as_json)
    sys.exit(0 if found.passed else 1)


def _earlier(path: Path | None) -> list[Power]:
    """What the file says; nothing where it is new or of another kind."""
    try:
        return read_powers(path) if path else []
    except UnreadablePower:
        return []

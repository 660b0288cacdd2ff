"""The command check-files: whether files of a user's repository can be used, without running anything."""

from pathlib import Path

import click

from conformance.cli import options
from conformance.comparison.expectations import UnusableExpectations, unmatched
from conformance.comparison.expectations import read as read_expectations
from conformance.model.scenario import Scenario, programs_of
from conformance.plugins.loading import ask_for
from conformance.plugins.points import InvalidPlugin
from conformance.plugins.registry import engine_ids, load_scenarios, users, variant_ids


@click.command("check-files")
@click.argument("files", nargs=-1, required=True, type=options.PATH)
def check_files_(files: tuple[Path, ...]) -> None:
    """Check files of scenarios or ports (.py) and of expectations (.toml), as a pre-commit hook does.

    Scenarios must load, no two may have one id, and each runs on a few cases on the reference: a program or a predicate
    that fails there is named. Expectations must be whole, and of engines and scenarios that there are. The first bad
    file gives one line and exit code 2.
    """
    kinds = {suffix: [path for path in files if path.suffix == suffix] for suffix in (".py", ".toml")}
    if other := [path for path in files if path not in (*kinds[".py"], *kinds[".toml"])]:
        raise click.UsageError(f"{other[0]} is neither a Python file nor TOML")
    ask_for(map(str, kinds[".py"]))
    there = users()
    for scenario in there.scenarios:
        if wrong := failing(scenario):
            raise InvalidPlugin(f"{there.origins[scenario.name]}: {wrong}")
    engines, scenarios = [*engine_ids(), *variant_ids()], [scenario.id for scenario in load_scenarios()]
    for path in kinds[".toml"]:
        if strange := unmatched(read_expectations(path), (), engines, scenarios):
            raise UnusableExpectations(f"{path}: {strange[0]}")


def failing(scenario: Scenario) -> str:
    """What of a scenario fails on the reference on a few cases, in a sentence; "" for nothing."""
    # Imported here, because Hypothesis takes longer to import than most commands do.
    from conformance.judgement.evidence import Unjudgeable, findings_against
    from conformance.judgement.reference import reference_traces
    from conformance.run.drawing import drawing_here

    try:
        cases = drawing_here([scenario])((scenario.id, 1, 1))
    except Exception as error:
        return f"no case can be drawn: {type(error).__name__}: {error}"
    traces = reference_traces(programs_of([scenario]))(cases)
    for name in scenario.programs:
        stopped = [traces[case.id].error for case in cases if case.program == name]
        if stopped and all(stopped):
            return f"the program {name} fails in every case: {stopped[0]}"
    for guarantee in scenario.guarantees:
        for case in cases:
            if guarantee.predicate and guarantee.program == case.program:
                try:
                    findings_against(guarantee, case, traces[case.id])
                except Unjudgeable as error:
                    return f"the guarantee {guarantee.claim!r}: {error}"
    return ""

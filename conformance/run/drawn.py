"""Drawn cases that are kept: drawing depends on code and numbers alone, so it is done once for each of them.

They lie among the kept traces, a file for each scenario, named by all that they depend on: the harness's code that
draws and judges, the modules of the scenario and of the reference, and the numbers that were asked for.
"""

import sys
from importlib.metadata import version

from conformance.execution.kept import Kept, traces_folder
from conformance.model.case import Case
from conformance.model.scenario import Scenario
from conformance.model.values import digest
from conformance.plugins.adapter import modules_digest
from conformance.plugins.points import package_of, registered
from conformance.plugins.source import JUDGING, harness_digest

DRAWN = "drawn"
"""The folder of these files."""


def name_of(scenario: Scenario, wanted: int, seed: int) -> str:
    """The name of the file with a scenario's cases, "" for a scenario of a user's file: what that depends on is not
    known."""
    point = registered("scenarios").get(scenario.id)
    if point is None or any(type(program).__module__ in ("__main__", "") for program in scenario.programs.values()):
        return ""
    modules = {
        point.module,
        "conformance.engines.reference",
        *(type(program).__module__ for program in scenario.programs.values()),
    }
    packages = frozenset(map(package_of, modules))
    asked = [scenario.id, [*scenario.programs], [guarantee.id for guarantee in scenario.guarantees], wanted, seed]
    code = [harness_digest(JUDGING), modules_digest(modules, packages), version("hypothesis"), sys.version]
    return f"{DRAWN}/{digest([asked, code])}"


def kept(name: str) -> list[Case] | None:
    """The cases in a file, None if there are none."""
    found = Kept(traces_folder()).data(name) if name else None
    return None if found is None else [Case.from_json(case) for case in found]


def keep(name: str, cases: list[Case]) -> None:
    if name:
        Kept(traces_folder()).keep_data(name, [case.to_json() for case in cases])

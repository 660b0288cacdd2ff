"""The scenario in the README is one."""

import re
from pathlib import Path

from conformance import checking
from conformance.engine import EngineInfo
from conformance.generation import draw_cases
from conformance.guarantees import programs_of
from conformance.packing import packs_of
from conformance.results import Verdict
from conformance.runner import exercised_by_any_reading
from conformance.specified import reference_traces
from engines.mutants import mutant
from engines.reference import Reference

README = Path(__file__).parents[2] / "README.md"


def test_the_scenario_of_the_readme_runs():
    """It holds on the reference, and an engine that loses its state is caught."""
    scope = {}
    exec(re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL).group(1), scope)
    scenario = scope["SCENARIO"]
    programs = programs_of([scenario])
    cases = draw_cases([scenario], 20, 1, exercised_by_any_reading([scenario]))
    verdicts = {}
    for engine in (Reference(), mutant("state-lost-after-a-bundle")):
        runs = checking.Runs()
        for pack in packs_of(cases, 1_000):
            runs.add(pack, engine.run(pack, programs))
        evidence = checking.gather(
            scenario.programs["maximum"], scenario.guarantees[0], None, cases, runs, reference_traces(programs)
        )
        info = EngineInfo(engine.id, engine.title, engine.capabilities)
        tally = checking.Tally()
        tally.add(evidence, scenario.programs["maximum"])
        verdicts[engine.id] = checking.conclude(scenario, scenario.guarantees[0], None, info, tally).verdict
    assert verdicts == {"reference": Verdict.HOLDS, "mutant:state-lost-after-a-bundle": Verdict.VIOLATED}

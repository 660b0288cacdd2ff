"""The scenario in docs/write-a-scenario.md is one."""

import re
from pathlib import Path

from conformance.engines.mutants import mutant
from conformance.engines.reference import Reference
from conformance.execution.packing import packs_of
from conformance.generation.pool import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.judgement.cell import Verdict
from conformance.judgement.evidence import Runs, Tally, gather
from conformance.judgement.reference import reference_traces
from conformance.judgement.verdict import conclude
from conformance.model.engine import EngineInfo
from conformance.model.scenario import programs_of

PAGE = Path(__file__).parents[3] / "docs/write-a-scenario.md"


def test_the_scenario_of_the_guide_runs():
    """It holds on the reference, and an engine that loses its state is caught."""
    scope = {}
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL).group(1), scope)
    scenario = scope["SCENARIO"]
    programs = programs_of([scenario])
    cases = draw_cases([scenario], 2, 1, exercised_by_any_reading([scenario]))
    verdicts = {}
    for engine in (Reference(), mutant("state-lost-after-a-bundle")):
        runs = Runs()
        for pack in packs_of(cases, 1_000):
            runs.add(pack, engine.run(pack, programs))
        evidence = gather(scenario.programs["maximum"], scenario.guarantees[0], cases, runs, reference_traces(programs))
        info = EngineInfo(engine.id, engine.title, engine.capabilities)
        tally = Tally()
        tally.add(evidence[""], scenario.programs["maximum"])
        verdicts[engine.id] = conclude(scenario, scenario.guarantees[0], None, info, tally).verdict
    assert verdicts == {"reference": Verdict.HOLDS, "mutant:state-lost-after-a-bundle": Verdict.VIOLATED}

"""A case of combined calls as plain code puts out what the interpreter of calls does."""

import pytest

from conformance.engines.case_run import CaseRun
from conformance.engines.reference import SPECIFIED
from conformance.generation.suite import family_of
from conformance.generation.timelines import Family
from conformance.plugins.registry import load_scenarios
from conformance.run.drawing import batches
from conformance.scenarios.calls.combined_calls import CombinedCalls

OF_CALLS = [scenario for scenario in load_scenarios() if scenario.plain]


def put_out(case, program):
    run = CaseRun(case, program, SPECIFIED)
    run.run()
    return [(emission.step, emission.key, emission.value) for emission in run.emissions]


@pytest.mark.parametrize("scenario", OF_CALLS, ids=lambda scenario: scenario.id)
def test_plain_code_puts_out_what_the_program_does(scenario):
    cases = [case for batch in batches([scenario], 2, 1) for case in batch]
    cases = [case for case in cases if family_of(case.schedule) in (Family.SEVERAL, Family.ONE)]
    cases = [case for case in cases if not scenario.programs[case.program].types]
    tried = 0
    for case in cases:
        program = scenario.programs[case.program]
        found = scenario.plain(program, case)
        if not found:
            continue
        made, source = found
        scope = {}
        exec(source, scope)
        assert not issubclass(scope["Calls"], CombinedCalls)
        methods = {name: part for name, part in vars(scope["Calls"]).items() if name in ("on_event", "on_timer")}
        plain = type("Calls", (type(made),), methods)()
        assert put_out(case, plain) == put_out(case, program), source
        tried += 1
    assert tried >= len(cases) / 4

"""A case of calls, or of typed state, as plain code puts out what the program does."""

import json
from datetime import date, datetime
from decimal import Decimal

import pytest

from conformance.engines.case_run import CaseRun
from conformance.engines.reference import SPECIFIED
from conformance.generation.suite import family_of
from conformance.generation.timelines import Family
from conformance.plugins.registry import load_scenarios
from conformance.run.drawing import batches

IN_SOURCE = {"json": json, "date": date, "datetime": datetime, "Decimal": Decimal}
"""What a file imports, and literals are made by."""

OF_CALLS = [scenario for scenario in load_scenarios() if scenario.plain]


def put_out(case, program):
    run = CaseRun(case, program, SPECIFIED)
    run.run()
    return [(emission.step, emission.key, emission.value) for emission in run.emissions]


@pytest.mark.parametrize("scenario", OF_CALLS, ids=lambda scenario: scenario.id)
def test_plain_code_puts_out_what_the_program_does(scenario):
    cases = [case for batch in batches([scenario], 2, 1) for case in batch]
    cases = [case for case in cases if family_of(case.schedule) in (Family.SEVERAL, Family.ONE)]
    for case in cases:
        program = scenario.programs[case.program]
        made, source, uses = scenario.plain(program, case)
        scope = IN_SOURCE | {each.__name__: each for each in uses}
        exec(source, scope)
        name = type(made).__name__
        assert scope[name].__mro__[1:] == (object,)
        methods = {name: part for name, part in vars(scope[name]).items() if name in ("on_event", "on_timer")}
        plain = type(name, (type(made),), methods)()
        assert put_out(case, plain) == put_out(case, program), source

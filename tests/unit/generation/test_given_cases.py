"""What a suite makes of cases that are given: those of a file, with twins among them."""

from drawn import suite_of

from conformance.generation.suite import Scope, Suite
from conformance.judgement.reference import reference_traces
from conformance.model.perturbation import RESTART
from conformance.model.scenario import programs_of
from conformance.plugins.registry import load_engine, load_scenarios

SCENARIOS = load_scenarios(["per-key-counting"])


def suite(cases):
    can = load_engine("reference").capabilities
    return Suite(SCENARIOS, can, cases, 1, reference_traces(programs_of(SCENARIOS), can.lateness), Scope(every=True))


def test_a_twin_that_the_design_would_make_too_is_asked_once():
    """That of the file, which another seed may have made."""
    made = suite_of(SCENARIOS, 1)
    assert {case.id for case in suite(made.cases).cases} == {case.id for case in made.cases}
    bases = [case for case in made.cases if not case.base]
    given = [twin for case in bases for seed in (8, 9) if (twin := RESTART.twin(case, seed))][-1:]
    found = suite([*bases, *given]).cases
    assert len({case.id for case in found}) == len(found)
    assert [case for case in found if case.id == given[0].id] == given

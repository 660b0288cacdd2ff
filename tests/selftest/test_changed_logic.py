"""A change of a program's logic that shows breaks a guarantee: an operator that does the program's job, and does it so,
is found out."""

import pytest
from changed_logic import changed_programs
from drawn import suite_of
from marks import quick

from conformance.execution.packing import packs_of
from conformance.judgement.batches import evidences
from conformance.judgement.evidence import Runs
from conformance.judgement.reference import reference_traces
from conformance.model.case import program_ref
from conformance.model.engine import EngineInfo
from conformance.model.scenario import programs_of
from conformance.plugins.registry import engine_ids, load_engine, load_scenarios

REFERENCE = load_engine("reference")
INFO = EngineInfo(REFERENCE.id, REFERENCE.title, REFERENCE.capabilities)

LET_THROUGH = {
    # A timer for a time that has passed fires at once, so the window comes out again with its new count, as it should.
    ("windowed-counting/revised", "always False: state.ended.get()"),
    ("windowed-counting/revised", "without: state.ended.set(True)"),
    # One millisecond early, in the advance that another timer is due in.
    ("stream-join/full outer", "-1: time + BOUND"),
}
"""(program, change): what nothing promises against."""

DONE_BY_OPERATORS = sorted(
    {
        load_engine(name).capabilities.native_operator.program
        for name in engine_ids()
        if load_engine(name).capabilities.native_operator
    }
)
QUICK = ("sliding-windows/windows", "windowed-counting/revised", "windowed-counting/windows")


@pytest.mark.parametrize("ref", quick(QUICK, DONE_BY_OPERATORS))
def test_a_change_that_shows_breaks_a_guarantee(ref):
    scenario = next(scenario for scenario in load_scenarios() if ref.startswith(f"{scenario.id}/"))
    name = ref.partition("/")[2]
    drawn = suite_of([scenario], 2, 1).cases
    cases = [case for case in drawn if program_ref(case.scenario, case.program) == ref]
    # Two changes of a line may be alike in words.
    found = [
        (words, broken(scenario, cases, {ref: changed})) for words, changed in changed_programs(scenario.programs[name])
    ]
    assert sum(said is True for _, said in found) > 3
    through = {words for words, said in found if said is False}
    assert {words for words in through if (ref, words.partition(", ")[2]) not in LET_THROUGH} == set()


def broken(scenario, cases, changed):
    """Whether the changed program breaks a guarantee; None if it answers as it did before."""
    programs = programs_of([scenario])
    specified = reference_traces(programs)
    runs, same = Runs(), True
    for pack in packs_of(cases, len(cases)):
        run = REFERENCE.run(pack, programs | changed)
        same = same and run.traces == specified(list(pack.cases))
        runs.add(pack, run)
    if same:
        return None
    return any(said.against for *_, said in evidences([scenario], cases, runs, INFO, specified))

"""Row counts: errors of opposite sign in two programs, or in two bundles, do not cancel out."""

import pytest
from handmade import judge

from conformance.judgement.cell import Verdict
from conformance.judgement.evidence import Evidence, Runs, gather
from conformance.judgement.reference import reference_traces
from conformance.model import Advance, Case, Deliver, Event, Schedule
from conformance.model.engine import EngineInfo
from conformance.model.feature import Feature, limited
from conformance.model.plan import PlanTwin
from conformance.model.runs import Pack, PackRun, ProgramCount, StepCount
from conformance.model.scenario import programs_of
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.results import tables
from conformance.scenarios.stories.late_data import drops_are_counted

SCENARIOS = load_scenarios(["late-data"])
PROGRAMS = programs_of(SCENARIOS)
COUNTED = "the-engine-counts-the-elements-that-it-dropped-as-late"


LATE, ON_TIME = Event("e1", "a", None, 1), Event("e2", "a", None, 3_000)


def case(program, *first):
    """A case whose second bundle has an element that is on time."""
    steps = (Advance(0, 1_000), Deliver(1, first), Deliver(2, (ON_TIME,)), Advance(3, 90_000))
    return Case("late-data", program, Schedule(steps))


PACK = Pack((case("global", LATE), case("windowed")))


def judged(engine, pack=PACK, capabilities=None):
    runs, programs = Runs(), programs_of(SCENARIOS)
    runs.add(pack, engine.run(pack, programs))
    info = EngineInfo(engine.id, "", capabilities or engine.capabilities)
    reference = reference_traces(programs, engine.capabilities.lateness)
    cells = judge(SCENARIOS, pack.cases, runs, info, reference).cells()
    (cell,) = [cell for cell, _, _ in cells if cell.guarantee == COUNTED]
    return cell


def test_a_row_that_one_program_loses_and_another_gets_twice_is_noticed():
    """Over the pack, as many rows were received as went in without those that were counted as late."""
    mutant = load_engine("mutant:row-of-one-program-for-another")
    for count in mutant.run(PACK, PROGRAMS).counts:
        assert count.delivered - count.received == count.reported_late
    cell = judged(mutant)
    assert cell.verdict is Verdict.VIOLATED
    assert "of late-data/global" in cell.reason


def test_the_reference_counts_each_row_for_its_program():
    assert judged(load_engine("reference")).verdict is Verdict.HOLDS
    counts = load_engine("reference").run(PACK, PROGRAMS).counts
    assert [[(p.program, p.delivered, p.received, p.reported_late) for p in count.programs] for count in counts] == [
        [("late-data/global", 1, 0, 1), ("late-data/windowed", 0, 0, 0)],
        [("late-data/global", 1, 1, 0), ("late-data/windowed", 1, 1, 0)],
    ]


@pytest.mark.parametrize(
    ("parts", "against"),
    [
        ([("a", 2, 1, 1), ("b", 2, 2, 0)], ""),
        ([("a", 2, 1, 0), ("b", 2, 2, 1)], "in step 1 2 rows of a went in, 1 were processed, 0 were counted as late"),
        ([("a", 2, 1, None), ("b", 2, 2, None)], ""),
        ([("a", 2, 0, None), ("b", 2, 3, None)], "in step 1 2 rows of b went in, 3 were processed"),
        ([], ""),
    ],
)
def test_each_program_adds_up(parts, against):
    """Where the engine reports late rows for all programs together, no program receives more rows than it was given."""
    count = StepCount(1, 4, 3, 1, tuple(ProgramCount(*part) for part in parts))
    assert list(drops_are_counted(PackRun({}, (count,)))) == [against or True]


def test_bundles_do_not_cancel_out():
    counts = StepCount(1, 2, 1, 0), StepCount(2, 2, 2, 1), StepCount(3, 0, 0, 1)
    assert [finding for finding in drops_are_counted(PackRun({}, counts)) if finding is True] == []
    assert len(list(drops_are_counted(PackRun({}, counts)))) == 3


def test_a_cell_says_that_an_engine_reports_for_all_programs_together():
    reference = load_engine("reference")
    features = {**reference.capabilities.features, Feature.LATE_COUNTER: limited("for the whole query")}
    can = type(reference.capabilities)(features, reference.capabilities.lateness)
    assert judged(reference, capabilities=can).notes == ("for the whole query",)
    assert judged(reference).notes == ()


def test_counts_by_program_are_stored():
    run = load_engine("reference").run(PACK, PROGRAMS)
    runs = Runs()
    runs.add(PACK, run)
    table = tables.run_table(PACK.cases, runs)
    by_id = {case.id: case for case in PACK.cases}
    assert tables.runs_of(table, by_id).packs[0][1].counts == run.counts


def test_the_counts_of_another_query_are_left_out():
    """A sink that evaluates its rows twice has each late row counted twice."""
    planned = Pack(tuple(PlanTwin("x", "another").perturbation.twin(case, 0) for case in PACK.cases))
    mutant = load_engine("mutant:row-of-one-program-for-another")
    scenario = next(scenario for scenario in SCENARIOS if COUNTED in {g.id for g in scenario.guarantees})
    guarantee, programs, runs = scenario.askable[COUNTED], programs_of(SCENARIOS), Runs()
    mine = [case for case in planned.cases if case.program == guarantee.program and case.scenario == scenario.id]
    runs.add(planned, mutant.run(planned, programs))
    assert mine
    found = gather(scenario.programs[guarantee.program], guarantee, mine, runs, reference_traces(programs))
    assert found == {"": Evidence()}

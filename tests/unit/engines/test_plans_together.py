"""Several plans in one query: which meet, what a schedule says of them, and what an engine builds."""

from dataclasses import replace
from random import Random

import pytest

from conformance.engines.beam.export import plans as export_plans
from conformance.engines.beam.plans import around as beam
from conformance.engines.beam.plans.plans import OF_FNAPI
from conformance.engines.planned import named
from conformance.engines.spark.base import SparkEngine
from conformance.engines.spark.driving.layouts import Layout
from conformance.engines.spark.jobs.job import Job
from conformance.engines.spark.plans import around as spark
from conformance.engines.spark.runtime.running import MEMORY, PARQUET
from conformance.model.engine import Capabilities, NotDriven
from conformance.model.plan import QUERY, PlanTwin
from conformance.model.schedule import Advance, Deliver, Event, FailOnce, InvalidSchedule, Plan, Restart, Schedule
from conformance.plugins.registry import engine_ids, load_engine

T = 1_000_000
FIRST, LATE, LAST = Event("e1", "a", None, T + 1), Event("e2", "b", None, T - 1), Event("e3", "a", None, T + 9)
STEPS = (Advance(0, T), Deliver(1, (FIRST, LATE)), Advance(2, T + 5), Deliver(3, (LAST,)), Advance(4, T + 90))
SCHEDULE = Schedule(STEPS)


def put(schedule, *plans):
    """The schedule in a query of these plans."""
    for plan in plans:
        schedule = plan.perturbation.apply(schedule, Random(1))
    return schedule


def restarts(schedule):
    return sum(isinstance(step, Restart) for step in schedule.steps)


def able(*plans) -> Capabilities:
    return replace(load_engine("reference").capabilities, plans=plans)


ONE, TWO = PlanTwin("one", ""), PlanTwin("two", "")
AGAIN, STORED = PlanTwin("again", "", restarts=True), PlanTwin("stored", "", restarts=True)


def test_plans_are_put_in_one_step_in_whatever_order():
    both = put(SCHEDULE, TWO, ONE)
    assert both == put(SCHEDULE, ONE, TWO) == put(SCHEDULE, ONE, TWO, ONE)
    assert (both.plan, both.plans) == ("one+two", ("one", "two"))
    assert (SCHEDULE.plan, SCHEDULE.plans) == ("", ())
    assert [type(step) for step in both.steps] == [Plan, *map(type, STEPS)]
    assert Schedule.from_json(both.to_json()) == both


@pytest.mark.parametrize("name", ["two+one", "one+one", "one+", "+one", "+"])
def test_the_ids_of_plans_are_sorted_and_each_is_there_once(name):
    with pytest.raises(InvalidSchedule):
        Schedule((Plan(0, name), Advance(1, T), Advance(2, T + 1)))


def test_several_plans_restart_a_job_as_one_of_them_does():
    alone = restarts(put(SCHEDULE, AGAIN))
    assert alone > 0
    assert restarts(put(SCHEDULE, AGAIN, STORED)) == alone
    resumed = Schedule((*STEPS[:3], FailOnce(3, resume=True), replace(STEPS[3], id=4), replace(STEPS[4], id=5)))
    assert restarts(put(resumed, AGAIN)) == 0
    retried = Schedule((*STEPS[:3], FailOnce(3), replace(STEPS[3], id=4), replace(STEPS[4], id=5)))
    assert restarts(put(retried, AGAIN)) > 0


def test_each_plan_of_several_says_what_schedules_it_takes():
    crowded = Schedule((*STEPS[:1], Deliver(1, (FIRST, replace(LAST, id="e4"))), *STEPS[2:]))
    assert PlanTwin("scrambles", "", scrambles=True).perturbation.apply(put(crowded, ONE), Random(1)) is None
    assert PlanTwin("on-time", "", on_time=True).perturbation.apply(put(SCHEDULE, ONE), Random(1)) is None
    assert PlanTwin("memory", "", one_query=True).perturbation.apply(put(SCHEDULE, AGAIN), Random(1)) is None


def test_plans_meet_that_share_no_place():
    here, there = PlanTwin("here", "", slots=frozenset({"x"})), PlanTwin("there", "", slots=frozenset({"x", "y"}))
    whole = PlanTwin("whole", "", slots=frozenset({QUERY}))
    memory = PlanTwin("memory", "", one_query=True)
    meeting = [{ONE, TWO}, {ONE, here}, {AGAIN, STORED}, {ONE, memory}]
    apart = [{here, there}, {whole, ONE}, {whole, here}, {memory, AGAIN}]
    for pairs, meets in ((meeting, True), (apart, False)):
        for one, two in pairs:
            assert one.meets(two) is two.meets(one) is meets


def test_an_engine_says_which_plans_it_cannot_put_in_one_query():
    here, there = PlanTwin("here", "", slots=frozenset({"x"})), PlanTwin("there", "", slots=frozenset({"x"}))
    can = able(ONE, here, there)
    assert can.plan("here") is here
    assert can.no_plan(put(SCHEDULE, ONE, here)) == ""
    assert can.no_plan(put(SCHEDULE, here, ONE, there)) == "its plans 'here' and 'there' do not stand in one query"
    assert can.no_plan(put(SCHEDULE, ONE, TWO)) == "it has no plan 'two'"


def test_what_several_plans_leave_can_be_read_if_each_leaves_it():
    gone = PlanTwin("gone", "", leaves_state=False)
    can = able(ONE, TWO, gone)
    assert can.leaves_state(SCHEDULE)
    assert can.leaves_state(put(SCHEDULE, ONE, TWO))
    assert not can.leaves_state(put(SCHEDULE, ONE, gone))


def adds(letter):
    return lambda frame: f"{frame}{letter}"


def _changing(**changes):
    return spark.SparkPlan(changes=spark.Changes(**changes))


@pytest.mark.parametrize("module", [spark, beam])
def test_changes_are_done_in_the_order_in_which_the_engine_lists_them(module):
    plan = _changing if module is spark else module.BeamPlan
    known = {
        "y": plan(before=adds("y"), behind=adds("Y")),
        "plain": plan(),
        "x": plan(before=adds("x"), behind=adds("X")),
        "other": plan(before=adds("o")),
    }
    mine = named(put(SCHEDULE, *(PlanTwin(name, "") for name in ("x", "plain", "y"))), known)
    found = module.composed(mine)
    did = found.changes if module is spark else found
    assert (did.before(""), did.behind("")) == ("yx", "YX")
    assert module.composed([]) is module.PLAIN
    assert module.composed(mine[:1]) is mine[0]


def test_a_plan_that_an_engine_does_not_know_is_never_left_out():
    with pytest.raises(NotDriven, match="no plan 'two'"):
        named(put(SCHEDULE, ONE, TWO), {"one": spark.PLAIN})


def test_what_several_plans_of_spark_say_stands_in_one_query():
    rules = "spark.sql.optimizer.excludedRules"
    files = spark.SparkPlan("files", "f", layout=Layout(files=3), settings={rules: "A", "x": "1"})
    twice = spark.SparkPlan(
        "twice", "t", evaluations=2, changes=spark.Changes(sink=adds("s"), early=adds("e")), settings={rules: "B"}
    )
    behind = spark.SparkPlan("behind", "b", several_operators=True, timed=True, twins=spark.Twins(restarts=True))
    found = spark.composed([files, twice, behind])
    assert (found.title, found.text) == ("files; twice; behind", "f; t; b")
    assert (found.layout, found.evaluations, found.changes.sink(""), found.changes.early("")) == (
        files.layout,
        2,
        "s",
        "e",
    )
    assert found.settings == {rules: "A,B", "x": "1"}
    assert (found.several_operators, found.timed, found.twins) == (True, True, spark.Twins(restarts=True))
    assert spark.composed([files, spark.SparkPlan(to=PARQUET)]).to == PARQUET


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"layout": Layout(files=3)}, {"layout": Layout(sources=2)}),
        ({"layout": Layout(sources=2, fed=True)}, {"to": PARQUET}),
        ({"changes": spark.Changes(sink=adds("s"))}, {"to": MEMORY}),
        ({"evaluations": 2}, {"evaluations": 2}),
        ({"settings": {"x": "1"}}, {"settings": {"x": "1"}}),
        ({"places": frozenset({"x"})}, {"places": frozenset({"x"})}),
        ({"twins": spark.Twins(one_query=True)}, {"twins": spark.Twins(restarts=True)}),
        ({"runs": spark.Runs.BATCH}, {}),
        ({"runs": spark.Runs.CONNECT}, {"changes": spark.Changes(behind=adds("b"))}),
    ],
)
def test_plans_of_spark_that_do_not_meet_make_no_query(one, other):
    with pytest.raises(NotDriven, match="no query has two"):
        spark.composed([spark.SparkPlan("one", **one), spark.SparkPlan("other", **other)])


def test_an_option_of_a_pipeline_has_one_value():
    one, other = (beam.BeamPlan(options=(option,)) for option in ("--x=1", "--x=2"))
    with pytest.raises(NotDriven):
        beam.composed([one, other])
    assert beam.composed([one, beam.BeamPlan(options=("--y",), scrambles=True)]).options == ("--x=1", "--y")


@pytest.mark.parametrize("name", [name for name in engine_ids() if load_engine(name).capabilities.plans])
def test_an_engine_builds_what_it_says_that_it_can(name):
    """Its plans all at once, as far as they meet, in whatever order they are asked."""
    engine = load_engine(name)
    can = engine.capabilities
    for seed in range(5):
        some = Random(seed).sample(can.plans, len(can.plans))
        together = []
        for plan in some:
            if not plan.on_time and all(plan.meets(other) for other in together):
                together.append(plan)
        schedule = Schedule((STEPS[0], Deliver(1, (FIRST,)), Advance(2, T + 90)))
        schedule = put(schedule, *together)
        assert can.no_plan(schedule) == ""
        if isinstance(engine, SparkEngine):
            assert spark.composed(named(schedule, engine.plans)) != spark.PLAIN


def test_a_row_that_comes_out_behind_an_aggregation_is_told_once_whatever_is_read_again():
    """The log of the file sink has the rows of all queries of a job."""
    rows = {
        0: [{"batch": 0, "id": 1, "nonce": "1"}],
        2: [{"batch": 1, "id": 3, "nonce": "3"}, {"batch": 0, "id": 2, "nonce": "2"}],
    }
    job = object.__new__(Job)
    job.rows, job.plan = rows, spark.SparkPlan(timed=True, exchanged=True)
    assert {number: [row["id"] for row in mine] for number, mine in job._told.items()} == {0: [1, 2], 1: [3]}
    job.plan = spark.PLAIN
    assert job._told is rows


def test_an_exported_pipeline_has_several_plans_around_its_transform():
    one = export_plans.SOURCES["flatten-empty"]
    assert export_plans.composed(["flatten-empty"]) == one
    assert export_plans.composed([]) == export_plans.Around()
    several = export_plans.composed(["partition", "map-behind", "flatten-empty", "reshuffle-behind", "no-type-check"])
    assert several.imports == ("from zlib import crc32",)
    for source, given, called in (
        (several.before, "elements", "before_2(before_1(elements))"),
        (several.behind, "rows", "behind_2(behind_1(rows))"),
    ):
        compile(source, given, "exec")
        assert source.rstrip().endswith(f"return {called}")
    assert several.before.index("nothing") < several.before.index("crc32")
    assert export_plans.SOURCES.keys() < OF_FNAPI.keys()

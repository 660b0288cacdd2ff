"""Several plans in one query: which meet, what a schedule says of them, and what an engine builds."""

from dataclasses import replace
from random import Random

import pytest

from conformance.model.engine import Capabilities
from conformance.model.plan import QUERY, PlanTwin
from conformance.model.schedule import Advance, Deliver, Event, FailOnce, InvalidSchedule, Plan, Restart, Schedule
from conformance.plugins.registry import load_engine

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

"""The design of an engine's suite: which runs it gets, and what changes in each of them."""

import itertools
from collections import Counter
from dataclasses import replace

import pytest

from conformance.generation.design import MOST_CHANGES, MOST_MOVING, MOVING, Factors, Kind, rows
from conformance.generation.timelines import Family, draw_timelines
from conformance.model.case import Case
from conformance.model.feature import Feature, unsupported
from conformance.model.perturbation import (
    ALONE,
    APART,
    EMPTY_BUNDLE,
    FAILURES,
    OF_THE_TIMELINE,
    RECOVERIES,
    UNRELATED_KEY,
    together,
)
from conformance.model.plan import PlanTwin
from conformance.model.schedule import Advance, Deliver, Schedule
from conformance.plugins.registry import load_engine

REFERENCE = load_engine("reference").capabilities
SEVERAL = draw_timelines(1)[Family.SEVERAL]
PLANS = (
    PlanTwin("source", "", slots=frozenset({"source"})),
    PlanTwin("sink", "", slots=frozenset({"sink"})),
    PlanTwin("whole", "", slots=frozenset({"query"})),
    PlanTwin("again", "", restarts=True),
    PlanTwin("once", "", one_query=True),
    PlanTwin("late", "", on_time=True),
)
WITH_PLANS = replace(REFERENCE, plans=PLANS)


def designed(can=REFERENCE, each=2, seed=1, family=Family.SEVERAL, timelines=SEVERAL, kind=Kind.PLAIN):
    return rows(timelines, family, kind, Factors(can), each, seed)


def changing(found):
    """The rows that change something, without those of cases without neighbours."""
    return [row for row in found if row.parts and not any(p.sparse for p, _ in row.parts)]


EACH = pytest.mark.parametrize("each", [1, 2])
ENGINES = pytest.mark.parametrize("can", [REFERENCE, WITH_PLANS], ids=["no plans", "plans"])


@EACH
@ENGINES
@pytest.mark.parametrize("seed", range(3))
def test_each_level_of_each_change_is_in_so_many_rows(each, can, seed):
    found = changing(designed(can, each, seed))
    there = Counter(part for row in found for part in row.parts)
    wanted = [*OF_THE_TIMELINE, *(plan.perturbation for plan in can.plans)]
    levels = [(p, level) for p in wanted for level in range(p.levels)]
    if each == 1:  # a row has one failure at most, so each is there in one way
        levels = [part for part in levels if part[0] not in FAILURES or part in there]
        assert {p for p, _ in levels} >= set(FAILURES)
    assert {part: there[part] for part in levels if there[part] < each} == {}
    assert set(there) == set(levels)


@ENGINES
@pytest.mark.parametrize("seed", range(3))
def test_each_two_changes_of_the_timeline_that_can_meet_do(can, seed):
    factors, found = Factors(can), changing(designed(can, 2, seed))
    pairs = {frozenset(pair) for row in found for pair in itertools.combinations([p for p, _ in row.parts], 2)}
    wanted = {frozenset(p) for p in itertools.combinations(OF_THE_TIMELINE, 2) if factors.meet(*p)}
    assert wanted == {*map(frozenset, itertools.combinations(OF_THE_TIMELINE, 2))} - set(APART)
    assert wanted <= pairs


@EACH
@ENGINES
def test_no_row_has_two_changes_that_cannot_meet_nor_too_many(each, can):
    factors, plans = Factors(can), {plan.perturbation for plan in can.plans}
    for row in changing(designed(can, each)):
        made = [p for p, _ in row.parts]
        assert len(set(made)) == len(made)
        assert all(factors.meet(one, other) for one, other in itertools.combinations(made, 2)), row.factors
        of_the_timeline = [p for p in made if p not in plans]
        assert len(of_the_timeline) <= (MOST_MOVING if MOVING & set(made) else MOST_CHANGES)
        assert together(Case("", "", row.timeline), row.parts, 1), "a row can be made"


def test_what_cannot_meet_is_told_apart():
    factors, by_id = Factors(WITH_PLANS), {plan.id: plan.perturbation for plan in PLANS}
    changes = {p.id: p for p in OF_THE_TIMELINE}

    def meet(one, other):
        both = [(by_id | changes)[name] for name in (one, other)]
        assert factors.meet(*both) is factors.meet(*reversed(both))
        return factors.meet(*both)

    assert meet("source", "sink")
    assert meet("source", "restart")
    assert not meet("whole", "source"), "no place is left"
    assert not meet("once", "again"), "one query alone"
    assert not meet("once", "restart")
    assert not meet("once", "resume")
    assert meet("once", "retry")
    assert not meet("source", "late"), "some cases are not asked under the other"
    assert not meet("source", "finer"), "few programs put out the same"
    assert not meet("retry", "resume")
    assert not meet("no-data", "coalesce")


def test_an_engine_that_takes_few_plans_together_has_no_more_in_a_row():
    most = [
        max(
            sum(p.id.startswith("plan:") for p, _ in row.parts) for row in designed(replace(can, plans_together=number))
        )
        for can, number in ((WITH_PLANS, 1), (WITH_PLANS, 14))
    ]
    assert most[0] == 1
    assert most[1] > 1


@pytest.mark.parametrize("family", [Family.SEVERAL, Family.ONE, Family.WAITING, Family.INITIAL])
def test_base_rows_change_nothing_and_come_first_one_for_each_timeline(family):
    timelines = draw_timelines(1)[family]
    found = designed(family=family, timelines=timelines)
    assert [row.timeline for row in found[: len(timelines)]] == [*timelines]
    assert [bool(row.parts) for row in found] == [False] * len(timelines) + [True] * (len(found) - len(timelines))


def test_a_row_of_cases_without_neighbours_is_on_the_shortest_timeline():
    last = designed()[-1]
    assert [p for p, _ in last.parts] == [UNRELATED_KEY, ALONE]
    assert len(last.timeline.steps) == min(len(timeline.steps) for timeline in SEVERAL)


@pytest.mark.parametrize("family", [Family.ONE, Family.WAITING, Family.INITIAL])
def test_each_family_has_its_own_changes(family):
    timelines = draw_timelines(1)[family]
    found = changing(designed(family=family, timelines=timelines))
    made = {p for row in found for p, _ in row.parts}
    if family is Family.ONE:
        blank = Case("", "", timelines[0])
        fitting = {p for p in OF_THE_TIMELINE if Feature.SEVERAL_BUNDLES not in p.needs and p.twin(blank, 1)}
        assert {p for p in made if not p.id.startswith("plan:")} == fitting
    elif family is Family.INITIAL:
        assert made == set(RECOVERIES)
    else:
        assert made == {*RECOVERIES, EMPTY_BUNDLE}
        assert all(sum(p in RECOVERIES for p, _ in row.parts) == 1 for row in found), "each takes processing time"


def test_the_same_seed_gives_the_same_rows_and_another_one_others():
    assert designed() == designed()
    assert designed(seed=2) != designed(seed=1)


@ENGINES
def test_rows_differ(can):
    found = [(row.timeline, row.parts) for row in designed(can)]
    assert len(set(found)) == len(found)


def test_the_timelines_take_turns():
    used = Counter(row.timeline for row in changing(designed()))
    assert set(used) == set(SEVERAL)
    assert max(used.values()) - min(used.values()) <= 2


@pytest.mark.parametrize("feature", [Feature.RESTART, Feature.NO_DATA, Feature.WATERMARK])
def test_what_an_engine_lacks_is_in_no_row(feature):
    lacking = replace(REFERENCE, features=REFERENCE.features | {feature: unsupported("never")})
    made = {p for row in designed(lacking) for p, _ in row.parts}
    assert {p for p in made if feature in p.needs} == set()
    assert {p for p in OF_THE_TIMELINE if feature not in p.needs} <= made


def test_fewer_rows_where_each_level_is_wanted_once():
    assert len(designed(each=1)) < len(designed(each=2)) <= 30


def test_a_timeline_that_has_no_room_for_some_changes_gets_the_others():
    """Cases of a user's own may be on such a one: no advance can be left out, so what should meet that change never
    does."""
    narrow = Schedule((Advance(0, 10), Deliver(1), Advance(2, 99)))
    made = {p for row in changing(designed(timelines=[narrow])) for p, _ in row.parts}
    assert {p for p in made if not p.id.startswith("plan:")} == {
        p for p in OF_THE_TIMELINE if p.twin(Case("", "", narrow), 1)
    }


def test_programs_that_say_nothing_of_the_query_have_rows_without_plans():
    made = {kind: {p.id for row in designed(WITH_PLANS, kind=kind) for p, _ in row.parts} for kind in Kind}
    plans = {plan.perturbation.id for plan in PLANS}
    assert made[Kind.PLAIN] == made[Kind.UNPLANNED] | plans
    assert not made[Kind.UNPLANNED] & plans


def test_programs_that_say_nothing_of_the_query_take_part_in_rows_of_the_others():
    host = designed(WITH_PLANS)
    alone, beside = (
        rows(SEVERAL, Family.SEVERAL, Kind.UNPLANNED, Factors(WITH_PLANS), 1, 1, given) for given in ((), host)
    )
    runs = {(row.timeline, row.parts) for row in host}
    assert all((row.timeline, row.parts) in runs for row in beside if not row.parts)
    more = [row for row in beside if (row.timeline, row.parts) not in runs]
    assert len(more) <= 1 < len([row for row in alone if row.parts])
    assert {p for row in beside for p, _ in row.parts} == {p for row in alone for p, _ in row.parts}


def test_a_plan_that_meets_few_others_is_in_one_row_where_runs_are_dear():
    whole = PLANS[2].perturbation
    for heavy, times in ((False, 2), (True, 1)):
        found = changing(designed(replace(WITH_PLANS, heavy=heavy)))
        assert sum(p == whole for row in found for p, _ in row.parts) == times


def test_what_turns_a_part_of_the_engine_off_meets_its_like_alone():
    """What a rule of an optimizer does wrong to another plan is not to be seen where the rule is off."""
    off = (PlanTwin("no rule", "", off=True), PlanTwin("no codegen", "", off=True))
    found = changing(designed(replace(REFERENCE, plans=(*PLANS, *off)), each=1))
    mine = {plan.perturbation for plan in off}
    plans = [{p for p, _ in row.parts if p.id.startswith("plan:")} for row in found]
    assert mine in plans
    assert not [there for there in plans if there & mine and there - mine]


def test_rows_of_a_kind_are_its_own():
    for kind in Kind:
        assert {row.kind for row in designed(kind=kind)} == {kind}

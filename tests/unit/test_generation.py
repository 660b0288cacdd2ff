"""Cases: reproducible, distinct, and enough of them at the boundaries."""

import importlib
import itertools
from collections import Counter, defaultdict

import pytest
from drawn import SEED, WANTED

from conformance.generation.cases import draw_cases
from conformance.generation.goals import each_of, promised
from conformance.generation.readings import exercised_by_any_reading
from conformance.generation.timelines import TIMELINES, draw_timelines
from conformance.generation.twins import IN_TIMELINE, SPARSE_EACH, TIMELINES_EACH
from conformance.model.perturbation import BY_ID, PERTURBATIONS, RARE, possible
from conformance.plugins.registry import load_scenarios
from conformance.run.drawing import batches
from scenarios.state_isolation import FAMILIES

SCENARIOS = load_scenarios()
_exercised = exercised_by_any_reading(SCENARIOS)

MANY = 30
"""Cases of one scenario, for what few cases do not have."""


def test_the_same_seed_gives_the_same_cases(cases):
    """Whatever scenarios are drawn beside: here those of each family of timelines."""
    few = [s for s in SCENARIOS if s.id in ("late-data", "state-ttl", "initial-state")]
    names = {scenario.id for scenario in few}
    assert draw_cases(few, WANTED, SEED, _exercised) == [case for case in cases if case.scenario in names]
    assert draw_cases(few[:1], WANTED, SEED + 1, _exercised) != draw_cases(few[:1], WANTED, SEED, _exercised)


def test_what_else_is_loaded_changes_no_case(tmp_path, monkeypatch):
    """Hypothesis knows the constants of local modules."""
    [scenario] = [s for s in SCENARIOS if s.id == "dedup-within-watermark"]
    before = draw_cases([scenario], 10, 7, _exercised)
    (tmp_path / "port.py").write_text(f"NUMBERS = {list(range(200))}")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("port")
    assert draw_cases([scenario], 10, 7, _exercised) == before


def test_timelines_are_distinct():
    drawn = draw_timelines(7)
    assert len({timeline.timeline for timeline in drawn}) == len(drawn) == 2 * TIMELINES
    assert Counter(len(timeline.bundles) == 1 for timeline in drawn) == {True: TIMELINES, False: TIMELINES}


def test_on_one_timeline_the_watermark_moves_by_more_than_31_bits_of_ms_at_once():
    """Between two bundles that lay between the same advances."""
    for seed in range(10):
        rises = [
            [after.watermark - before.watermark for before, after in itertools.pairwise(timeline.advances)]
            for timeline in draw_timelines(seed)
        ]
        assert [sum(rise > 2**31 for rise in each[:-1]) for each in rises] == [1, *[0] * (2 * TIMELINES - 1)]


def test_every_guarantee_gets_its_cases(cases, tested):
    """At least as many distinct ones as were asked for, without those that only some engines can run, unless it is
    about them."""
    about = {g.id: {p.id for p in g.same_under} for s in SCENARIOS for g in s.guarantees}
    rare = {p.id for p in PERTURBATIONS if p.needs & RARE}
    found = defaultdict(set)
    for case, asked in zip(cases, tested, strict=True):
        for guarantee in asked:
            if case.perturbation not in rare - about[guarantee]:
                found[guarantee].add(case.digest)
    wanted = [g.id for s in SCENARIOS for g in s.guarantees if not (g.promised or g.about_plans)]
    assert {name: len(found[name]) for name in wanted if len(found[name]) < WANTED} == {}


def test_twins_come_with_their_base(cases):
    """And no case comes twice, but for those that are the same on purpose, with other neighbours."""
    ids = {case.id for case in cases}
    assert {case.base for case in cases if case.base} <= ids
    assert len(ids) == len(cases)
    dense = [case.digest for case in cases if not (case.base and BY_ID[case.perturbation].sparse)]
    assert len(dense) == len(set(dense))


def test_each_guarantee_is_put_to_the_test_under_all_that_it_promises(cases, tested):
    """A tenth as often as all in all; where that cannot be, some case tries."""
    found = defaultdict(set)
    for case, asked in zip(cases, tested, strict=True):
        for guarantee in asked:
            found[case.scenario, guarantee, case.perturbation].add(case.digest)
    short = [
        (s.id, g.id, perturbation)
        for s in SCENARIOS
        for g in s.guarantees
        for perturbation in promised(s, g)
        if len(found[s.id, g.id, perturbation]) < each_of(WANTED)
    ]
    assert len(short) <= 0.02 * sum(len(promised(s, g)) for s in SCENARIOS for g in s.guarantees), short


def test_each_guarantee_is_put_to_the_test_on_several_timelines(cases, tested):
    """So few cases of a program with waits may leave a rare occasion to two timelines."""
    waits = {(s.id, g.id) for s in SCENARIOS for g in s.guarantees if s.programs[g.program].waits}
    found = defaultdict(set)
    for case, asked in zip(cases, tested, strict=True):
        for guarantee in asked:
            found[case.scenario, guarantee].add(case.schedule.timeline)
    few = {place: len(timelines) for place, timelines in found.items() if len(timelines) < (2 if place in waits else 4)}
    assert few == {}


def test_the_first_cases_of_a_timeline_ask_for_all_that_its_cases_ask_for():
    """A slow engine runs no others of a timeline with waits."""
    [scenario] = [s for s in SCENARIOS if s.id == "state-ttl"]
    mine = draw_cases([scenario], MANY, SEED, _exercised)
    families: dict[object, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for case, tested in zip(mine, _exercised(mine), strict=True):
        families[case.program, case.schedule.timeline][case.base or case.id] |= tested
    for (program, _), tested_by in families.items():
        asked = [*tested_by.values()]
        goals = sum(g.program == program and not g.promised for g in scenario.guarantees)
        assert set().union(*asked[:goals]) == set().union(*asked)


def test_every_perturbation_makes_twins(cases):
    assert {case.perturbation for case in cases} == {"", *BY_ID}


def test_twins_on_the_timeline_of_their_case_are_few(cases):
    twins = Counter(case.base for case in cases if case.base and _keeps_timeline(BY_ID[case.perturbation]))
    assert max(twins.values()) <= IN_TIMELINE


def test_twins_without_neighbours_are_few(cases):
    """Each is an engine run: a few of each program in each of the two families, and more only where that is promised."""
    asked = {(s.id, g.program, p.id) for s in SCENARIOS for g in s.guarantees for p in g.same_under}
    twins = Counter(
        (case.scenario, case.program, case.perturbation)
        for case in cases
        if case.base and BY_ID[case.perturbation].sparse
    )
    assert 0 < max(number for place, number in twins.items() if place not in asked) <= 2 * SPARSE_EACH


def test_twins_on_timelines_of_their_own_share_few_timelines(cases):
    """Those of all programs the same, each being an engine run: the timelines of several bundles, and one of one bundle. Jobs that start
    with state have timelines of their own, and so have schedules that wait."""
    timelines = defaultdict(set)
    for case in cases:
        own = case.schedule.waits or case.schedule.bundles[0].initial
        if case.base and not BY_ID[case.perturbation].keeps_timeline and not own:
            timelines[case.perturbation].add(case.schedule.timeline)
    each = {perturbation.id: number for perturbation, number in TIMELINES_EACH.items()}
    assert {name: len(found) for name, found in timelines.items() if len(found) > each.get(name, 1) + 1} == {}


def _keeps_timeline(perturbation):
    return perturbation.keeps_timeline and not perturbation.sparse


def test_a_timeline_of_one_bundle_has_on_time_events_only(cases):
    single = [case for case in cases if len(case.schedule.bundles) == 1]
    assert single
    assert all(arrival.on_time for case in single for arrival in case.schedule.arrivals)


def test_boundaries_are_hit(cases):
    """Events at the watermark, one ms on either side, and at equal times."""
    arrivals = [a for case in cases for a in case.schedule.arrivals]
    distances = Counter(a.event.event_time - a.watermark for a in arrivals)
    assert min(distances[-1], distances[0], distances[1]) >= 10
    assert any(
        len({a.event.event_time for a in case.schedule.arrivals}) < len(case.schedule.arrivals) for case in cases
    )


def test_a_case_has_keys_of_one_family():
    """Of state isolation, whose names are easily taken for each other; each family is drawn."""
    [scenario] = [s for s in SCENARIOS if s.id == "state-isolation"]
    drawn = [c for c in draw_cases([scenario], MANY, SEED, _exercised) if c.program == "by key" and not c.base]
    keys = [{arrival.event.key for arrival in case.schedule.arrivals} for case in drawn]
    assert all(any(mine <= set(family) for family in FAMILIES) for mine in keys)
    assert {number for number, family in enumerate(FAMILIES) for mine in keys if mine and mine <= set(family)} == set(
        range(len(FAMILIES))
    )


def test_twins_are_of_the_perturbations_that_their_program_can_have(cases):
    programs = {(s.id, name): program for s in SCENARIOS for name, program in s.programs.items()}
    made = defaultdict(set)
    for case in cases:
        made[case.scenario, case.program].add(case.perturbation)
    for place, program in programs.items():
        can = {perturbation.id for perturbation in PERTURBATIONS if possible(program, perturbation)}
        assert made[place] - {""} <= can
        assert bool(program.waits or program.initial or program.keys) == (len(can) < len(PERTURBATIONS))
    for place in (place for place, program in programs.items() if program.waits):
        assert len(made[place] - {""}) >= 4, "what a program in processing time can have is made"


def test_the_choice_of_packs_does_not_ask_again_for_what_was_drawn(monkeypatch):
    counting = next(scenario for scenario in SCENARIOS if scenario.id == "per-key-counting")
    exercised = exercised_by_any_reading((counting,))
    (drawn,) = batches((counting,), 3, 5)
    told = exercised(drawn)
    assert not exercised._tried
    monkeypatch.setattr(
        exercised, "_asked", lambda cases: pytest.fail(f"asked again for {len(cases)}") if cases else []
    )
    assert exercised(drawn) == told

"""Cases as drawn: reproducible, distinct, and enough of them at the boundaries; and the suite that an engine is asked
of them."""

import importlib
import itertools
import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from drawn import SEED, WANTED, suite_of

from conformance.generation.pool import carried, draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.generation.small import small_schedules
from conformance.generation.suite import Scope, Suite, family_of
from conformance.generation.timelines import MONTH, ONE_BUNDLE, SLOTS, Family, draw_timelines, families_of
from conformance.judgement.reference import reference_traces
from conformance.model.case import Case, program_ref
from conformance.model.feature import Feature, unsupported
from conformance.model.perturbation import BY_ID, PERTURBATIONS, factors_of, level_of, parts_of, possible, together
from conformance.model.plan import is_plan
from conformance.model.program import BEGUN_AGAIN, JobKind
from conformance.model.scenario import programs_of
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.run.drawing import batches
from conformance.scenarios.state.state_isolation import FAMILIES

SCENARIOS = load_scenarios()
PROGRAMS = programs_of(SCENARIOS)
REFERENCE = load_engine("reference").capabilities
_exercised = exercised_by_any_reading(SCENARIOS)


def scenario_of(name):
    return next(scenario for scenario in SCENARIOS if scenario.id == name)


@pytest.fixture(scope="module")
def bases(cases):
    return [case for case in cases if not case.base]


@pytest.fixture(scope="module")
def twins(cases):
    return [case for case in cases if case.base]


def drawn(names, seed=SEED):
    scenarios = [scenario for scenario in SCENARIOS if scenario.id in names]
    return draw_cases(scenarios, WANTED, seed, exercised_by_any_reading(scenarios))


# Timelines


def test_timelines_are_distinct_and_few():
    found = draw_timelines(7)
    assert {family: len(timelines) for family, timelines in found.items()} == {
        Family.SEVERAL: len(SLOTS),
        Family.ONE: ONE_BUNDLE,
        Family.WAITING: 1,
        Family.INITIAL: 1,
        Family.DAMAGED: 1,
        Family.SUCCEEDED: 1,
    }
    for family, timelines in found.items():
        assert len({timeline.timeline for timeline in timelines}) == len(timelines)
        assert {family_of(timeline) for timeline in timelines} == {family}
        assert draw_timelines(7)[family] == timelines


def test_on_one_timeline_the_watermark_moves_by_more_than_31_bits_of_ms_at_once():
    """Between two bundles that lay between the same advances."""
    assert MONTH > 2**31
    for seed in range(10):
        rises = [
            [after.watermark - before.watermark for before, after in itertools.pairwise(timeline.advances)]
            for timeline in draw_timelines(seed)[Family.SEVERAL]
        ]
        assert [sum(rise > 2**31 for rise in each[:-1]) for each in rises] == [1, *[0] * (len(SLOTS) - 1)]


# Cases as drawn


def test_the_same_seed_gives_the_same_cases(cases):
    """Whatever scenarios are drawn beside: here those of each family of timelines."""
    names = ("late-data", "state-ttl", "initial-state")
    few = suite_of([scenario_of(name) for name in names]).cases
    assert {case.id: case for case in few} == {case.id: case for case in cases if case.scenario in names}
    assert drawn(names[:1], SEED + 1) != drawn(names[:1])


def test_what_else_is_loaded_changes_no_case(tmp_path, monkeypatch):
    """Hypothesis knows the constants of local modules."""
    before = drawn(["dedup-within-watermark"])
    (tmp_path / "port.py").write_text(f"NUMBERS = {list(range(200))}")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("port")
    assert drawn(["dedup-within-watermark"]) == before


def test_a_job_begins_with_the_state_of_one_key_or_of_several(bases):
    found = {len(case.schedule.initial) for case in bases if case.scenario == "initial-state"}
    assert found >= {1, 2, 3}


def test_each_program_has_cases_on_each_of_its_timelines(bases):
    """At least as many as were asked for."""
    found = Counter((program_ref(c.scenario, c.program), c.schedule.timeline) for c in bases)
    for ref, program in PROGRAMS.items():
        for family in families_of(program):
            for timeline in draw_timelines(SEED)[family]:
                assert found[ref, timeline.timeline] >= WANTED, (ref, family)


def test_more_cases_are_drawn_where_they_are_wanted():
    [some, more] = [draw_cases([scenario_of("late-data")], wanted, SEED, _exercised) for wanted in (WANTED, 3 * WANTED)]
    assert len(more) > 2 * len(some)


def test_each_guarantee_is_put_to_the_test(bases):
    """By cases as drawn, whichever way an engine reads *late*, on several timelines where its program has some."""
    found = defaultdict(set)
    for case, asked in zip(bases, _exercised(bases), strict=True):
        for guarantee in asked:
            found[case.scenario, guarantee].add(case.schedule.timeline)
    wanted = {
        (s.id, g.id): min(3, sum(len(draw_timelines(SEED)[f]) for f in families_of(s.programs[g.program])))
        for s in SCENARIOS
        for g in s.guarantees
        if not g.same_under
    }
    missed = {place for place in wanted if not found[place]}
    assert not missed
    few = [place for place, timelines in wanted.items() if len(found[place]) < timelines]
    assert len(few) <= 0.05 * len(wanted), few


def test_a_case_is_within_the_domain_of_its_program(bases):
    domains = {(s.id, name): domain for s in SCENARIOS for name, domain in s.domain.items()}
    assert [case.id for case in bases if case not in domains[case.scenario, case.program]] == []


def test_a_timeline_of_one_bundle_has_on_time_events_only(bases):
    single = [case for case in bases if family_of(case.schedule) is Family.ONE]
    assert single
    assert all(arrival.on_time for case in single for arrival in case.schedule.arrivals)


def test_boundaries_are_hit(bases):
    """Events at the watermark, one ms on either side, and at equal times."""
    arrivals = [a for case in bases for a in case.schedule.arrivals]
    distances = Counter(a.event.event_time - a.watermark for a in arrivals)
    assert min(distances[-1], distances[0], distances[1]) >= 10
    assert any(
        len({a.event.event_time for a in case.schedule.arrivals}) < len(case.schedule.arrivals) for case in bases
    )


def test_each_distance_and_each_value_of_a_program_is_drawn(bases):
    """Values as often as a case has room for them."""
    had = defaultdict(set)
    for case in bases:
        for arrival in case.schedule.arrivals:
            had[case.scenario, case.program, "value"].add(repr(arrival.event.value))
            had[case.scenario, case.program, "distance"].add(arrival.event.event_time - arrival.watermark)
    for scenario in SCENARIOS:
        for name, domain in scenario.domain.items():
            values = {repr(value) for value in domain.values}
            assert len(values & had[scenario.id, name, "value"]) >= min(len(values), 9), (scenario.id, name)
            offsets = {offset for offset in domain.offsets if offset > 0 or not domain.on_time}
            missed = offsets - had[scenario.id, name, "distance"]
            assert len(missed) <= len(offsets) / 4, (scenario.id, name, missed)


def test_a_case_has_keys_of_one_family():
    """Of state isolation, whose names are easily taken for each other; each family is drawn."""
    mine = [c for c in drawn(["state-isolation"]) if c.program == "by key"]
    keys = [{arrival.event.key for arrival in case.schedule.arrivals} for case in mine]
    assert all(any(names <= set(family) for family in FAMILIES) for names in keys)
    there = {number for number, family in enumerate(FAMILIES) for names in keys if names and names <= set(family)}
    assert there == set(range(len(FAMILIES)))
    rivals = [len(names) for names in keys]
    assert sum(number > 1 for number in rivals) > len(rivals) / 2, "rivals meet in one case"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.id)
def test_small_schedules_are_of_the_domain_and_have_each_distance_and_value(scenario):
    for name, program in scenario.programs.items():
        domain, family = scenario.domain[name], families_of(program)[0]
        timeline = draw_timelines(SEED)[family][-1]
        found = [Case(scenario.id, name, schedule) for schedule in small_schedules(timeline, domain)]
        assert [*small_schedules(timeline, domain)] == [case.schedule for case in found]
        assert all(case in domain for case in found)
        assert {case.schedule.timeline for case in found} == {timeline.timeline}
        arrivals = [arrival for case in found for arrival in case.schedule.arrivals]
        assert {repr(a.event.value) for a in arrivals} >= {repr(value) for value in domain.values}
        assert {a.event.key for a in arrivals} <= {key for names in domain.names for key in names}
        families = {n for n, names in enumerate(domain.names) if any(a.event.key in names for a in arrivals)}
        assert families == set(range(len(domain.names)))


def test_a_case_that_is_carried_over_keeps_its_elements_and_their_distances():
    timelines = draw_timelines(SEED)[Family.SEVERAL]
    case = max((c for c in drawn(["late-data"]) if c.schedule.timeline == timelines[1].timeline), key=lambda c: c.size)
    apart, jointly = carried(case.schedule, timelines[2])
    for schedule in (apart, jointly):
        assert schedule.timeline == timelines[2].timeline
        assert [a.event.id for a in schedule.arrivals] == [a.event.id for a in case.schedule.arrivals]
    before, after = (
        {a.event.id: a.event.event_time for a in schedule.arrivals} for schedule in (case.schedule, jointly)
    )
    assert len({after[name] - before[name] for name in before}) == 1


def test_batches_have_no_case_twice():
    [scenario] = [scenario_of("per-key-counting")]
    found = [*batches((scenario,), 3, 5)]
    assert len(found) == 1
    assert found == [*batches((scenario,), 3, 5)]
    several = [*batches((scenario,), 60, 5)]
    digests = [case.digest for batch in several for case in batch]
    assert len(several) == 2
    assert len(digests) == len(set(digests))


# The suite


def test_the_base_of_each_twin_is_there_and_no_id_comes_twice(cases, bases, twins):
    ids = {case.id for case in cases}
    assert len(ids) == len(cases)
    assert {case.base for case in twins} <= {case.id for case in bases}
    assert cases[:0] == []
    assert all(case.perturbation for case in twins)


def test_every_perturbation_makes_twins_at_each_level(twins):
    made = {part for case in twins for part in parts_of(case.perturbation)}
    levels = {perturbation.at(level) for perturbation in PERTURBATIONS for level in range(perturbation.levels)}
    plans = {plan.perturbation.id for plan in REFERENCE.plans}
    assert made == levels | plans


def test_a_twin_is_made_of_its_base_alone(cases, twins):
    """By the same seed, each part in the place that it has by itself: what isolation asks for is part of what
    failed."""
    by_id, plans = (
        {case.id: case for case in cases},
        {plan.perturbation.id: plan.perturbation for plan in REFERENCE.plans},
    )
    for twin in twins[::7]:
        parts = [((BY_ID | plans)[factors_of(part)[0]], level_of(part)) for part in parts_of(twin.perturbation)]
        assert together(by_id[twin.base], parts, SEED) == twin
        first = together(by_id[twin.base], parts[:1], SEED)
        assert first is not None
        if parts[0][0].keeps_timeline and len(parts) > 1:
            others = together(by_id[twin.base], parts[1:], SEED)
            assert others.schedule.timeline == twin.schedule.timeline, "it shares the run of twins without that change"


def test_twins_are_of_the_perturbations_that_their_program_can_have(twins):
    made = defaultdict(set)
    for case in twins:
        made[program_ref(case.scenario, case.program)] |= {*factors_of(case.perturbation)}
    for ref, program in PROGRAMS.items():
        can = {perturbation.id for perturbation in PERTURBATIONS if possible(program, perturbation)}
        assert {name for name in made[ref] if not is_plan(name)} <= can
        alone = program.job in BEGUN_AGAIN
        job = alone or program.job is JobKind.INITIAL_STATE
        assert bool(program.waits or job or program.keys) == (len(can) < len(PERTURBATIONS))
        assert alone or len(made[ref]) >= 4, "what it can have is made"


def test_twins_share_few_timelines(twins):
    """Each is an engine run: those of a row, for all programs."""
    timelines = {case.schedule.timeline for case in twins}
    mine = suite_of([scenario_of("per-key-counting")])
    assert len(timelines) <= 2 * len(mine.rows) + 20


def test_each_relation_is_put_to_the_test_under_each_change_it_is_about(cases):
    """By some twin that the reference keeps alike."""
    tried = defaultdict(int)
    for case in cases:
        for name in factors_of(case.perturbation):
            tried[case.scenario, case.program, name] += 1
    relations = [
        (s.id, g.program, p.id) for s in SCENARIOS for g in s.guarantees for p in g.same_under if p.id in BY_ID
    ]
    missed = {place for place in relations if not tried[place]}
    assert len(missed) <= 0.02 * len(set(relations)), missed


def test_an_engine_is_asked_what_it_can_be_asked():
    """Not what it lacks; and the cases of one bundle where it takes no others, or where they are all that there is."""
    scenario = scenario_of("per-key-counting")
    lacking = replace(REFERENCE, features=REFERENCE.features | {Feature.RESTART: unsupported("never")})
    found = suite_of([scenario], can=lacking).cases
    assert all(lacking.takes(case, PROGRAMS[program_ref(case.scenario, case.program)]) for case in found)
    several = suite_of([scenario], every=False).cases
    assert {family_of(case.schedule) for case in several} == {Family.SEVERAL}
    one = replace(REFERENCE, features=REFERENCE.features | {Feature.SEVERAL_BUNDLES: unsupported("never")})
    assert {family_of(case.schedule) for case in suite_of([scenario], can=one, every=False).cases} == {Family.ONE}


def test_an_engine_that_is_asked_once_has_fewer_runs():
    scenario = scenario_of("per-key-counting")
    once, twice = (suite_of([scenario], can=replace(REFERENCE, each=each), every=False) for each in (1, 2))
    assert len(once.rows) < len(twice.rows)
    of_one, of_other = ({case.schedule.timeline for case in s.cases if not case.base} for s in (once, twice))
    assert of_one < of_other


@pytest.mark.parametrize("most", [0, 1, 2])
def test_a_run_about_a_perturbation_has_a_row_with_it_however_few_rows_it_has(most):
    scenario = scenario_of("per-key-counting")
    bases = draw_cases([scenario], 1, 1, exercised_by_any_reading([scenario]))
    scope = Scope(most=most, only=["restart"])
    suite = Suite([scenario], REFERENCE, bases, 1, reference_traces(programs_of([scenario])), scope)
    assert {name for case in suite.cases for name in factors_of(case.perturbation)} == {"restart"}


def test_a_program_whose_case_ends_a_query_has_none_in_rows_that_do():
    """Its fault would take the other programs along."""
    scenarios = [scenario_of("per-key-counting"), scenario_of("null-output")]
    [counting] = [program_ref(scenarios[0].id, name) for name in scenarios[0].programs]
    bases = draw_cases(scenarios, 1, 1, exercised_by_any_reading(scenarios))
    reference = reference_traces(programs_of(scenarios))
    plain, careful = (
        Suite(scenarios, REFERENCE, bases, 1, reference, Scope(known=known)) for known in ((), [(counting, "restart")])
    )

    def restarted(suite):
        return {program_ref(c.scenario, c.program) for c in suite.cases if "restart" in factors_of(c.perturbation)}

    assert counting in restarted(plain)
    assert restarted(careful) == restarted(plain) - {counting}
    assert (plain.left_out, careful.left_out > 0) == (0, True)


def test_what_ends_the_queries_of_all_programs_is_in_no_row():
    """The other changes of its rows are asked."""
    scenarios = [scenario_of("per-key-counting"), scenario_of("null-output")]
    bases = draw_cases(scenarios, 1, 1, exercised_by_any_reading(scenarios))
    known = [(ref, "restart") for ref in programs_of(scenarios)]
    suite = Suite(scenarios, REFERENCE, bases, 1, reference_traces(programs_of(scenarios)), Scope(known=known))
    changed = {name for row in suite.rows for perturbation, _ in row.parts for name in [perturbation.id]}
    assert "restart" not in changed
    assert {"retry", "shift"} <= changed
    assert suite.left_out == 0


def test_without_a_design_cases_run_as_they_are():
    scenario = scenario_of("per-key-counting")
    cases = suite_of([scenario], 1).cases
    reference = reference_traces(programs_of([scenario]))
    found = Suite([scenario], REFERENCE, cases, 1, reference, Scope(every=True, designed=False))
    assert {case.id: case for case in found.cases} == {case.id: case for case in cases}
    assert found.rows == []


@pytest.mark.parametrize("seed", ["1", "2"])
def test_cases_are_the_same_in_every_process(seed):
    """Whatever the seed for hashes is."""
    program = """
from drawn import suite_of
from conformance.plugins.registry import load_scenarios
print(*(case.id for case in suite_of(load_scenarios(["late-data", "processing-time-timers"]), 1, 1).cases))
"""
    here = suite_of([scenario_of(name) for name in ("late-data", "processing-time-timers")], 1, 1).cases
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    asked = [sys.executable, "-c", program]
    told = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=True, env=environment).stdout
    assert told.split() == [case.id for case in here]

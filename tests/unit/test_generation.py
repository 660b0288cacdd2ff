"""Cases: reproducible, distinct, and enough of them at the boundaries."""

from collections import Counter, defaultdict

import pytest

from conformance.generation import CLOCKS, draw_cases, draw_clocks
from conformance.registry import load_scenarios
from conformance.runner import exercised_by_any_reading

SCENARIOS = load_scenarios()
_exercised = exercised_by_any_reading(SCENARIOS)


@pytest.fixture(scope="module")
def cases():
    return draw_cases(SCENARIOS, 30, 7, _exercised)


def test_the_same_seed_gives_the_same_cases(cases):
    assert draw_cases(SCENARIOS, 30, 7, _exercised) == cases
    assert draw_cases(SCENARIOS[:1], 30, 8, _exercised) != draw_cases(SCENARIOS[:1], 30, 7, _exercised)


def test_clocks_are_distinct():
    drawn = draw_clocks(7)
    assert len({clock.clock for clock in drawn}) == len(drawn) == 2 * CLOCKS
    assert Counter(len(clock.bundles) == 1 for clock in drawn) == {True: CLOCKS, False: CLOCKS}


def test_every_guarantee_gets_its_cases(cases):
    """At least as many distinct ones as were asked for."""
    found = defaultdict(set)
    for case, tested in zip(cases, _exercised(cases), strict=True):
        for guarantee in tested:
            found[guarantee].add(case.digest)
    assert {g.id: len(found[g.id]) for s in SCENARIOS for g in s.guarantees if len(found[g.id]) < 30} == {}


def test_twins_come_with_their_base(cases):
    ids = {case.id for case in cases}
    assert {case.base for case in cases if case.base} <= ids
    assert len(ids) == len(cases) == len({case.digest for case in cases})


def test_a_clock_of_one_bundle_has_on_time_events_only(cases):
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

"""What every perturbation keeps, whatever it changes."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.generation import Domain, clocks, schedules
from conformance.model import Advance, Case, Deliver, Event, Schedule
from conformance.perturbation import PERTURBATIONS, REBUNDLE, REORDER, RESTART

some_schedule = (
    st.booleans()
    .flatmap(clocks)
    .flatmap(lambda clock: schedules(clock, Domain(offsets=(0, 1, 500, -1), on_time=False)))
)


@pytest.mark.parametrize("perturbation", PERTURBATIONS, ids=lambda p: p.id)
@given(schedule=some_schedule, seed=st.integers(0, 99))
def test_events_stay_between_their_advances(perturbation, schedule, seed):
    """So none becomes late, none is lost, and the clock is the same."""
    twin = perturbation.apply(schedule, Random(seed))
    if twin is not None:
        assert not perturbation.keeps_clock or twin.clock == schedule.clock
        assert [a.watermark for a in twin.advances] == [a.watermark for a in schedule.advances]

        def met(s):
            return Counter((a.event.id, a.event.event_time, a.watermark) for a in s.arrivals)

        assert met(twin) == met(schedule)
        assert twin != schedule


@given(schedule=some_schedule, seed=st.integers(0, 99))
def test_rebundling_keeps_the_order_of_arrival(schedule, seed):
    twin = REBUNDLE.apply(schedule, Random(seed))
    if twin is not None:
        assert [a.event for a in twin.arrivals] == [a.event for a in schedule.arrivals]


@given(schedule=some_schedule, seed=st.integers(0, 99))
def test_reordering_keeps_the_bundles(schedule, seed):
    twin = REORDER.apply(schedule, Random(seed))
    if twin is not None:
        for before, after in zip(schedule.bundles, twin.bundles, strict=True):
            assert sorted(e.id for e in after.events) == sorted(e.id for e in before.events)


def _events(count):
    return tuple(Event(f"e{i}", "a", None, 2_000) for i in range(count))


def test_a_restart_comes_after_the_second_advance():
    """At one place for all cases of a clock; the steps behind it get new ids."""
    schedule = Schedule((Advance(0, 10), Deliver(1, _events(2)), Advance(2, 3_000), Deliver(3), Advance(4, 9_000)))
    twin = RESTART.apply(schedule, Random(0))
    assert [type(step).__name__ for step in twin.steps] == [
        "Advance",
        "Deliver",
        "Advance",
        "Restart",
        "Deliver",
        "Advance",
    ]
    assert [step.id for step in twin.steps] == [0, 1, 2, 3, 4, 5]
    assert Schedule.from_json(twin.to_json()) == twin
    one_bundle = Schedule((Advance(0, 10), Deliver(1, _events(2)), Advance(2, 3_000)))
    assert RESTART.apply(one_bundle, Random(0)) is None


def test_what_has_nothing_to_change_has_no_twin():
    """One event cannot be reordered, and one slot cannot be split."""
    lonely = Case("s", "p", Schedule((Advance(0, 1_000), Deliver(1, _events(1)), Deliver(2), Advance(3, 9_000))))
    assert REORDER.twin(lonely, 0) is None
    assert REBUNDLE.twin(lonely, 0) is None
    one_slot = Case("s", "p", Schedule((Advance(0, 1_000), Deliver(1, _events(3)), Advance(3, 9_000))))
    assert REBUNDLE.twin(one_slot, 0) is None


def test_a_twin_depends_on_the_seed_alone():
    case = Case("s", "p", Schedule((Advance(0, 1_000), Deliver(1, _events(6)), Deliver(2), Advance(3, 9_000))))
    for perturbation in PERTURBATIONS:
        assert perturbation.twin(case, 5) == perturbation.twin(case, 5)
    assert len({REORDER.twin(case, seed).digest for seed in range(20)}) > 1

"""Which equivalences tell which traces apart, and what of a twin's trace stands for what of its base's."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from conformance.generation.schedules import schedules
from conformance.generation.timelines import Family, draw_timelines
from conformance.model.case import Case, program_ref
from conformance.model.equivalence import IMPLIES, Equivalence, alike, correspondences, first_difference, grades
from conformance.model.perturbation import (
    ALONE,
    EMPTY_BUNDLE,
    FINER,
    RENAME,
    REPARTITION,
    RESTART,
    RESUME,
    RETRY,
    SHIFT_TIMES,
    UNRELATED_KEY,
)
from conformance.model.program import BEGUN_AGAIN, Program
from conformance.model.runs import Pack
from conformance.model.scenario import programs_of
from conformance.model.schedule import Advance, Deliver, Event, Schedule, renumbered
from conformance.model.trace import Emission, Trace
from conformance.plugins.registry import load_engine, load_scenarios

SCENARIOS = load_scenarios()
PROGRAMS = programs_of(SCENARIOS)
REFERENCE = load_engine("reference")

SCHEDULE = Schedule((Advance(0, 10), Deliver(1), Deliver(2), Advance(3, 20), Deliver(4), Advance(5, 30)))


class Numbered(Program):
    labels = ("index",)


class Timed(Program):
    times = ("at",)


def _trace(*emissions):
    return Trace.collect(Emission(key, value, step) for key, value, step in emissions)


BASE = _trace(("a", 1, 1), ("a", 2, 1), ("b", 3, 1))


@pytest.mark.parametrize(
    ("other", "held"),
    [
        (BASE, {"identical", "same sequence", "same multiset", "same final value"}),
        # another bundle between the same advances
        (
            _trace(("a", 1, 1), ("a", 2, 2), ("b", 3, 2)),
            {"identical", "same sequence", "same multiset", "same final value"},
        ),
        # after the next advance
        (_trace(("a", 1, 1), ("a", 2, 4), ("b", 3, 1)), {"same sequence", "same multiset", "same final value"}),
        (_trace(("a", 2, 1), ("a", 1, 1), ("b", 3, 1)), {"same multiset"}),
        (_trace(("a", 9, 1), ("a", 2, 1), ("b", 3, 1)), {"same final value"}),
        (_trace(("a", 2, 1), ("b", 3, 1)), {"same final value"}),
        (_trace(("a", 1, 1), ("a", 2, 1)), set()),
        (_trace(("a", 1, 1), ("a", 2, 1), ("b", True, 1)), set()),
        (_trace(("a", 1, 1), ("a", 2, 1), ("b", 3, 1), ("c", 4, 1)), set()),
    ],
)
def test_what_each_equivalence_sees(other, held):
    """Where there are no labels to deal out, a relabelling is no more than the same multiset."""
    found = alike(Numbered(), (SCHEDULE, BASE), (SCHEDULE, other))
    relabelled = Equivalence.SAME_UP_TO_RELABELLING
    assert (relabelled in found) is (Equivalence.SAME_MULTISET in found)
    assert {how.value for how in found - {relabelled}} == held
    assert all(IMPLIES[how] <= found for how in found)
    assert alike(Program(), (SCHEDULE, BASE), (SCHEDULE, other)) == found - {relabelled}


def test_a_program_without_labels_is_not_compared_by_them():
    assert Equivalence.SAME_UP_TO_RELABELLING not in grades(Program())
    assert set(grades(Numbered())) == set(Equivalence)


@pytest.mark.parametrize(
    ("given", "held"),
    [
        ([("a", "e2", 0), ("a", "e1", 1), ("b", "e3", 0)], True),
        ([("a", "e1", 0), ("a", "e2", 2), ("b", "e3", 0)], False),
        ([("a", "e1", 0), ("a", "e2", 0), ("b", "e3", 1)], False),
        ([("a", "e1", 0), ("a", "e4", 1), ("b", "e3", 0)], False),
    ],
)
def test_labels_may_be_dealt_out_anew(given, held):
    """But not within another key, and not other labels."""

    def trace(given):
        return _trace(*((key, {"id": name, "index": index}, 1) for key, name, index in given))

    base = trace([("a", "e1", 0), ("a", "e2", 1), ("b", "e3", 0)])
    found = alike(Numbered(), (SCHEDULE, base), (SCHEDULE, trace(given)))
    assert (Equivalence.SAME_UP_TO_RELABELLING in found) is held


def test_what_the_end_of_the_stream_drains_does_not_count():
    drained = _trace(("a", 1, 1), ("a", 2, 1), ("b", 3, 1), ("a", 4, -1))
    assert Equivalence.IDENTICAL in alike(Program(), (SCHEDULE, BASE), (SCHEDULE, drained))


FINER_TWIN = renumbered([*SCHEDULE.steps[:3], Advance(0, 15), *SCHEDULE.steps[3:]])
COARSER_TWIN = renumbered([step for step in SCHEDULE.steps if step.id != 3])
SHIFTED_TWIN = SHIFT_TIMES.twin(Case("s", "p", SCHEDULE), 0).schedule
COALESCED_TWIN = Schedule(tuple(replace(s, coalesced=True) if s.id == 3 else s for s in SCHEDULE.steps))


@pytest.mark.parametrize(
    ("twin", "step", "same_as"),
    [
        (FINER_TWIN, 2, {0, 1, 2}),
        (FINER_TWIN, 3, {3, 4}),
        (FINER_TWIN, 4, {3, 4}),
        (FINER_TWIN, 5, {3, 4}),
        (FINER_TWIN, 6, {5}),
        (COARSER_TWIN, 2, {0, 1, 2, 4}),
        (COARSER_TWIN, 3, {0, 1, 2, 4}),
        (COARSER_TWIN, 4, {3, 5}),
        (SHIFTED_TWIN, 2, {0, 1, 2}),
        (SHIFTED_TWIN, 3, {3, 4}),
        (SHIFTED_TWIN, 5, {5}),
        (COALESCED_TWIN, 2, {0, 1, 2}),
        (COALESCED_TWIN, 4, {3, 4}),
        (COALESCED_TWIN, 5, {5}),
    ],
)
def test_which_steps_correspond(twin, step, same_as):
    """An advance that only one of the two makes counts as the next that both make; what is due at a coalesced one comes
    out in the bundle after it."""
    found = {
        other.id
        for other in SCHEDULE.steps
        if Equivalence.IDENTICAL
        in alike(Program(), (SCHEDULE, _trace(("a", 1, other.id))), (twin, _trace(("a", 1, step))))
    }
    assert found == same_as


def _case(*events):
    return Case("s", "p", SCHEDULE.with_bundles({1: events}))


ONE_EVENT = _case(Event("e1", "a", None, 11))


def test_a_renamed_key_stands_for_its_base():
    twin = RENAME.twin(ONE_EVENT, 0).schedule
    (name,) = {arrival.event.key for arrival in twin.arrivals}
    base = (ONE_EVENT.schedule, _trace(("a", 1, 1)))
    assert Equivalence.IDENTICAL in alike(Program(), base, (twin, _trace((name, 1, 1))))
    assert alike(Program(), base, (twin, _trace(("a", 1, 1), (name, 1, 1), ("other", 1, 1)))) == frozenset()


def test_an_unrelated_key_does_not_count_and_a_stray_one_does():
    twin = UNRELATED_KEY.twin(ONE_EVENT, 0).schedule
    ours, theirs = correspondences(ONE_EVENT.schedule, twin)
    assert (ours.keys, theirs.keys) == ({}, {"a": "a", "unrelated": None})
    base, seen = (ONE_EVENT.schedule, _trace(("a", 1, 1))), ("a", 1, 1)
    assert Equivalence.IDENTICAL in alike(Program(), base, (twin, _trace(seen, ("unrelated", 7, 1))))
    assert alike(Program(), base, (twin, _trace(seen, ("nobody", 7, 1)))) == frozenset()
    assert alike(Program(), (base[0], _trace(seen, ("unrelated", 7, 1))), (twin, _trace(seen))) == frozenset()


def test_shifted_times_are_shifted_back():
    """Those of emissions, and those in the fields that a program declares as times; nothing else."""

    def seen(at, number, event_time):
        return Trace((Emission("a", {"at": at, "number": number}, 1, event_time),))

    twin = SHIFT_TIMES.twin(ONE_EVENT, 0).schedule
    by = twin.advances[0].watermark - ONE_EVENT.schedule.advances[0].watermark
    base = (ONE_EVENT.schedule, seen(11, 5, 12))
    assert Equivalence.IDENTICAL in alike(Timed(), base, (twin, seen(11 + by, 5, 12 + by)))
    assert Equivalence.IDENTICAL in alike(Timed(), (base[0], seen(None, 5, None)), (twin, seen(None, 5, None)))
    for other in (seen(11, 5, 12 + by), seen(11 + by, 5 + by, 12 + by), seen(11 + by, 5, 12)):
        assert alike(Timed(), base, (twin, other)) == frozenset()


CASES = st.one_of(
    [
        schedules(timeline, scenario.domain[name]).map(lambda drawn, to=(scenario.id, name): Case(*to, drawn))
        for scenario in SCENARIOS
        for name, program in scenario.programs.items()
        if program.job not in BEGUN_AGAIN  # a restart changes the program
        for family in (Family.SEVERAL, Family.ONE)
        for timeline in draw_timelines(0)[family]
    ]
)


def _seen(case):
    return case.schedule, REFERENCE.run(Pack((case,)), PROGRAMS).traces[case.id]


@pytest.mark.parametrize(
    "perturbation",
    [RENAME, SHIFT_TIMES, ALONE, REPARTITION, RESTART, RETRY, RESUME, EMPTY_BUNDLE, FINER, UNRELATED_KEY],
    ids=lambda p: p.id,
)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(case=CASES, seed=st.integers(0, 99))
def test_what_cannot_matter_to_the_reference_leaves_its_trace_identical(perturbation, case, seed):
    """For every program that there is; and a stray emission is told."""
    twin = perturbation.twin(case, seed)
    program = PROGRAMS[program_ref(case.scenario, case.program)]
    assume(twin and all(program.has_key(arrival.event.key) for arrival in twin.schedule.arrivals))
    schedule, trace = _seen(twin)
    assert alike(program, _seen(case), (schedule, trace)) == set(grades(program))
    stray = Trace((*trace.emissions, Emission("nobody", 1, schedule.steps[-1].id)))
    assert alike(program, _seen(case), (schedule, stray)) == frozenset()


def test_a_timer_that_fires_at_the_extra_advance_corresponds_to_the_next_common_one():
    """The session of an event at 1,500 ms is due at 11,500 ms."""
    event = Event("e1", "a", None, 1_500)
    common = Advance(2, 20_000)
    schedule = Schedule((Advance(0, 1_000), Deliver(1, (event,)), common, Deliver(3), Advance(4, 300_000)))
    base = Case("session-timeout", "sessions", schedule)
    extra = Advance(2, 12_000)
    twin = replace(base, schedule=renumbered([*schedule.steps[:2], extra, *schedule.steps[2:]]))
    for case, advance in ((base, common), (twin, extra)):
        (emission,) = _seen(case)[1].emissions
        assert advance in case.schedule.steps
        assert emission.step == advance.id
    assert Equivalence.IDENTICAL in alike(PROGRAMS["session-timeout/sessions"], _seen(base), _seen(twin))


def test_a_stray_emission_under_the_bases_name_of_a_renamed_key_counts():
    base = Schedule((Advance(0, 10), Deliver(1, (Event("e1", "a", None, 11),)), Advance(3, 20)))
    twin = Schedule((Advance(0, 10), Deliver(1, (Event("e1", "0-a", None, 11),)), Advance(3, 20)))
    right = Trace.collect([Emission("a", 666, 1), Emission("0-a", 1, 1)])
    assert alike(Program(), (base, Trace.collect([Emission("a", 1, 1)])), (twin, right)) == frozenset()


def test_everything_weaker_follows_from_an_identical_trace():
    assert IMPLIES[Equivalence.IDENTICAL] == set(Equivalence) - {Equivalence.IDENTICAL}


def test_a_position_counts_the_advances_that_both_make():
    """By the watermarks of the base; an extra advance of the twin stands for the next one."""
    shift = 7
    steps = [replace(s, watermark=s.watermark + shift) if isinstance(s, Advance) else s for s in SCHEDULE.steps]
    twin = renumbered([*steps[:3], Advance(0, 15 + shift), *steps[3:5], Advance(0, 25 + shift), *steps[5:]])
    ours, theirs = correspondences(SCHEDULE, twin)
    assert (ours.shift, theirs.shift) == (0, shift)
    assert ours.positions == {0: 1, 1: 1, 2: 1, 3: 2, 4: 2, 5: 3}
    assert theirs.positions == {0: 1, 1: 1, 2: 1, 3: 2, 4: 2, 5: 2, 6: 3, 7: 3}


def test_the_first_key_that_differs_is_told_with_both_of_its_outputs():
    def told(left, right):
        return first_difference(Program(), (SCHEDULE, left), (SCHEDULE, right))

    assert told(BASE, BASE) == "no key differs"
    both = _trace(("b", 3, 1), ("a", 2, 1), ("a", {"x": None}, 4))
    assert told(BASE, both) == 'key a gave 1, 2 before, 2, {"x":null} after'
    assert told(BASE, _trace(("a", 1, 1), ("a", 2, 1))) == "key b gave 3 before, nothing after"
    assert told(_trace(("c", 1, 1)), _trace()) == "key c gave 1 before, nothing after"
    assert told(_trace(), _trace(("c", 1, 1))) == "key c gave nothing before, 1 after"
    assert (
        told(BASE, _trace(("a", 1, 1), ("a", 2, 1), ("b", 3, 4)))
        == "key b gave 3 before, the same in other steps after"
    )


def test_values_that_are_not_objects_are_compared_whole_where_labels_are_dealt_out():
    """And what errors and event times an emission has."""

    def held(left, right):
        found = alike(Numbered(), (SCHEDULE, Trace(left)), (SCHEDULE, Trace(right)))
        return Equivalence.SAME_UP_TO_RELABELLING in found

    def labelled(index, event_time=None):
        return Emission("a", {"index": index}, 1, event_time)

    assert held((labelled(1), labelled(2)), (labelled(2), labelled(1)))
    assert not held((labelled(1, 5), labelled(2)), (labelled(1, 6), labelled(2)))
    assert not held((Emission("a", [1], 1),), (Emission("a", [2], 1),))
    assert held((Emission("a", [1], 1), labelled(1)), (labelled(1), Emission("a", [1], 1)))
    assert not held((Emission("a", {"index": 1}, 1),), (Emission("a", {"index": 1, "more": 1}, 1),))
    assert not held((Emission("a", {}, 1),), (Emission("a", {"index": 1}, 1),))
    assert held(
        (labelled(1), Emission("a", {"id": 1}, 1)), (Emission("a", {"id": 1, "index": 1}, 1), Emission("a", {}, 1))
    )


def test_times_are_brought_back_by_the_shift_itself():
    """Here of 7 ms, which no operation on bits gets right; numbers that are no times, and texts, are left alone."""
    steps = [replace(s, watermark=s.watermark + 7) if isinstance(s, Advance) else s for s in SCHEDULE.steps]
    left = Trace((Emission("a", {"at": 11, "number": 5}, 1, 12), Emission("a", {"at": "11"}, 1), Emission("a", 11, 1)))
    right = Trace((Emission("a", {"at": 18, "number": 5}, 1, 19), Emission("a", {"at": "11"}, 1), Emission("a", 11, 1)))
    assert Equivalence.IDENTICAL in alike(Timed(), (SCHEDULE, left), (Schedule(tuple(steps)), right))
    assert Equivalence.IDENTICAL not in alike(Timed(), (SCHEDULE, left), (Schedule(tuple(steps)), left))


def test_the_first_difference_says_what_differs():
    schedule = Schedule((Advance(0, 10), Deliver(1, (Event("e1", "a", None, 11),)), Advance(2, 20)))

    def said(left, right):
        return first_difference(Program(), (schedule, Trace.collect([left])), (schedule, Trace.collect([right])))

    one = Emission("a", 1, 1, 5)
    assert said(one, replace(one, value=2)) == "key a gave 1 before, 2 after"
    assert said(one, replace(one, key="b")) == "key a gave 1 before, nothing after"
    assert said(one, replace(one, step=2)) == "key a gave 1 before, the same in other steps after"
    assert said(one, replace(one, event_time=6)) == "key a gave 1 before, the same at other event times after"


def test_the_first_difference_is_more_than_an_order_where_a_key_has_more():
    schedule = Schedule((Advance(0, 10), Deliver(1), Advance(2, 20)))

    def said(left, right):
        traces = [Trace.collect(Emission(key, value, 1) for key, value in found) for found in (left, right)]
        return first_difference(Program(), (schedule, traces[0]), (schedule, traces[1]))

    reordered, lost = [("a", 1), ("a", 2)], ("b", 3)
    assert said([*reordered, lost], reordered[::-1]) == "key b gave 3 before, nothing after"
    assert said(reordered, reordered[::-1]) == "key a gave 1, 2 before, 2, 1 after"

"""What every perturbation keeps, and the one thing that each changes."""

import itertools
import json
from dataclasses import replace
from datetime import datetime, timezone
from itertools import groupby

import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, settings
from hypothesis import strategies as st

from conformance.generation.schedules import schedules
from conformance.generation.timelines import Family, draw_timelines
from conformance.model.case import Case
from conformance.model.changes.timeline import IN_A_ROW, PARTITIONS, RESTARTS, SHIFTS
from conformance.model.perturbation import (
    ALONE,
    APART,
    BY_ID,
    COALESCE,
    COARSER,
    CRASH,
    EMPTY_BUNDLE,
    FINER,
    INTERLEAVE,
    MERGE,
    NO_DATA,
    OF_THE_TIMELINE,
    PERTURBATIONS,
    REDELIVER,
    RENAME,
    REORDER_ACROSS,
    REORDER_KEY,
    REPARTITION,
    RESTART,
    RESUME,
    RETRY,
    REVERSE,
    SEVERAL,
    SHIFT_TIMES,
    SINGLES,
    SINK_FAILS,
    SPLIT,
    UNRELATED_KEY,
    factors_of,
    level_of,
    parts_of,
    together,
)
from conformance.model.program import FixedWindows
from conformance.model.scenario import Domain
from conformance.model.schedule import (
    Advance,
    Crash,
    Deliver,
    Event,
    FailOnce,
    NoData,
    Partitions,
    Restart,
    Schedule,
    SinkFails,
    Wait,
    renumbered,
)
from conformance.model.steps import CRASH_POINTS, DONE_POINTS
from conformance.model.values import canonical
from conformance.plugins.registry import load_scenarios

DOMAIN = Domain(offsets=(0, 1, -1), on_time=False)

TIMELINES = [
    timeline
    for seed in range(3)
    for family in (Family.SEVERAL, Family.ONE)
    for timeline in draw_timelines(seed)[family]
]
DRAWN = {timeline: schedules(timeline, DOMAIN) for timeline in TIMELINES}
SEEDS = st.integers(0, 99)

quickly = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
each_perturbation = pytest.mark.parametrize("perturbation", PERTURBATIONS, ids=lambda p: p.id)


@st.composite
def cases(draw, drawn):
    """As drawn for a run; and thinner ones, with some bundles empty and at most two events in the others."""
    schedule = draw(drawn)
    if draw(st.booleans()):
        schedule = schedule.with_bundles({b.id: b.events[: draw(st.sampled_from((0, 2)))] for b in schedule.bundles})
    return Case("s", "p", schedule)


CASES = cases(st.one_of(list(DRAWN.values())))
CASES_OF_SEVERAL_BUNDLES = cases(st.one_of([drawn for timeline, drawn in DRAWN.items() if len(timeline.bundles) > 1]))


def twins(perturbation):
    """(case, its twin), of cases that the perturbation has a hold on."""
    drawn = CASES_OF_SEVERAL_BUNDLES if perturbation.needs & SEVERAL else CASES
    levels = st.integers(0, perturbation.levels - 1)
    both = st.tuples(drawn, SEEDS, levels).map(lambda asked: (asked[0], perturbation.twin(*asked)))
    return both.filter(lambda pair: pair[1] is not None)


TWINS = {perturbation: twins(perturbation) for perturbation in PERTURBATIONS}


def given_twins(*perturbations):
    """A test of (perturbation, base, twin), the latter two schedules."""

    def decorate(test):
        @pytest.mark.parametrize("perturbation", perturbations, ids=lambda p: p.id)
        @quickly
        @given(data=st.data())
        def testing(perturbation, data):
            case, twin = data.draw(TWINS[perturbation])
            test(perturbation, case.schedule, twin.schedule)

        testing.__doc__ = test.__doc__
        return testing

    return decorate


def _order(schedule):
    return [arrival.event.id for arrival in schedule.arrivals]


def _ids(bundle):
    return [event.id for event in bundle.events]


def _used(schedule):
    return [bundle for bundle in schedule.bundles if bundle.events]


def _between_advances(schedule):
    """Lists of the bundles between the same two advances."""
    return [list(group) for _, group in groupby(schedule.bundles, key=lambda b: schedule.intervals[b.id])]


def _without(schedule, ids):
    return schedule.with_bundles({b.id: [e for e in b.events if e.id not in ids] for b in schedule.bundles})


def _inserted(base, twin):
    """The place of the only step that the twin has more than its base."""
    ours, theirs = ([replace(step, id=0) for step in schedule.steps] for schedule in (base, twin))
    place = next(place for place, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other)
    assert theirs[:place] + theirs[place + 1 :] == ours
    assert renumbered(twin.steps) == twin
    return place


def _from_file(case):
    return Case.from_json(json.loads(canonical(case.to_json())))


def _shift(base, twin):
    return twin.advances[0].watermark - base.advances[0].watermark


def test_ids_are_unique():
    assert len(BY_ID) == len(PERTURBATIONS) == len({p.title for p in PERTURBATIONS})


@each_perturbation
def test_it_has_a_hold_on_some_case(perturbation):
    generate = settings(max_examples=1_000, database=None, phases=[Phase.generate], deadline=None)
    find(CASES, lambda case: perturbation.twin(case, 0) is not None, settings=generate)


@each_perturbation
@quickly
@given(data=st.data())
def test_a_twin_follows_from_its_case_and_the_seed(perturbation, data):
    """Also where the case comes from a file; and it goes into one itself."""
    case, seed, level = data.draw(CASES), data.draw(SEEDS), data.draw(st.integers(0, perturbation.levels - 1))
    twin = perturbation.twin(case, seed, level)
    assert perturbation.twin(_from_file(case), seed, level) == twin
    if twin:
        assert _from_file(twin) == twin
        assert (twin.perturbation, twin.base) == (perturbation.at(level), case.id)
        assert factors_of(twin.perturbation) == (perturbation.id,)
        assert level_of(twin.perturbation) == level
        assert twin.id != case.id
        assert (twin.schedule == case.schedule) is (perturbation is ALONE)


@pytest.mark.parametrize("perturbation", [p for p in PERTURBATIONS if p is not ALONE], ids=lambda p: p.id)
def test_other_seeds_give_other_twins(perturbation):
    """But for what can be done in one way only: of the advances, the longest one is coalesced."""
    numbers = itertools.count()

    def bundle(keys):
        return Deliver(0, tuple(Event(f"e{next(numbers)}", key, None, 9_000) for key in keys))

    slots = [Deliver(0)] * 6
    steps = [
        Advance(0, 10),
        bundle("aab"),
        bundle("aaa"),
        *slots,
        Advance(0, 3_000),
        bundle("aaa"),
        bundle("baa"),
        *slots,
    ]
    case = Case("s", "p", renumbered([*steps, Advance(0, 8_000), *slots, Advance(0, 99_000)]))
    found = {twin.digest for seed in range(200) if (twin := perturbation.twin(case, seed))}
    assert (len(found) == 1) is (perturbation in {REVERSE, MERGE, SINGLES, REPARTITION, SHIFT_TIMES, COALESCE})


@given_twins(*PERTURBATIONS)
def test_no_event_becomes_late(perturbation, base, twin):
    """It meets the same watermark, or an earlier one where that is what is changed."""
    shift = _shift(base, twin)
    before = {arrival.event.id: arrival for arrival in base.arrivals}
    for after in twin.arrivals:
        arrival = before.get(after.event.id.removesuffix(".again"))
        if arrival is None:
            assert after.on_time
            continue
        watermark, settled = after.watermark - shift, after.settled - shift
        assert after.on_time or not arrival.on_time
        assert watermark == arrival.watermark or (watermark < arrival.watermark and perturbation is COARSER)
        less = settled < arrival.settled and perturbation in (COARSER, COALESCE)
        assert settled == arrival.settled or less


@given_twins(*PERTURBATIONS)
def test_no_event_is_lost_or_invented(perturbation, base, twin):
    """But for those that are delivered again and those of an unrelated key; and an event keeps what it is."""
    before, after = ({a.event.id: a.event for a in schedule.arrivals} for schedule in (base, twin))
    assert before.keys() <= after.keys()
    assert before.keys() == after.keys() or perturbation in (REDELIVER, UNRELATED_KEY)
    for name, event in before.items():
        assert after[name].value == event.value
        assert after[name].event_time == event.event_time + _shift(base, twin)
        assert after[name].key == event.key or perturbation is RENAME


@given_twins(*PERTURBATIONS)
def test_it_keeps_the_timeline_where_it_says_so(perturbation, base, twin):
    assert (twin.timeline == base.timeline) is perturbation.keeps_timeline


@pytest.mark.parametrize("perturbation", [p for p in PERTURBATIONS if not p.keeps_timeline], ids=lambda p: p.id)
@quickly
@given(data=st.data())
def test_cases_of_one_timeline_get_twins_of_one_timeline(perturbation, data):
    """Whatever their events and their program, so that they share a pack."""
    drawn_on, seed = DRAWN[data.draw(st.sampled_from(TIMELINES))], data.draw(SEEDS)
    drawn = [Case(name, name, data.draw(drawn_on)) for name in ("one", "other")]
    found = [perturbation.twin(case, seed) for case in drawn]
    assume(all(found))
    assert found[0].schedule.timeline == found[1].schedule.timeline


@given_twins(REORDER_KEY)
def test_reordering_a_key_keeps_the_places_of_the_others(perturbation, base, twin):
    for before, after in zip(base.bundles, twin.bundles, strict=True):
        assert [e.key for e in after.events] == [e.key for e in before.events]
        assert sorted(_ids(after)) == sorted(_ids(before))


@given_twins(INTERLEAVE)
def test_interleaving_keeps_the_order_of_each_key(perturbation, base, twin):
    for before, after in zip(base.bundles, twin.bundles, strict=True):
        assert sorted(after.events, key=lambda e: e.key) == sorted(before.events, key=lambda e: e.key)


@given_twins(REVERSE)
def test_reversing_turns_each_bundle_round(perturbation, base, twin):
    assert [b.events[::-1] for b in twin.bundles] == [b.events for b in base.bundles]


@given_twins(REORDER_ACROSS)
def test_reordering_across_bundles_keeps_their_sizes(perturbation, base, twin):
    """And each event between its two advances."""
    assert [len(b.events) for b in twin.bundles] == [len(b.events) for b in base.bundles]
    for before, after in zip(_between_advances(base), _between_advances(twin), strict=True):
        assert sorted(i for b in after for i in _ids(b)) == sorted(i for b in before for i in _ids(b))


@given_twins(SPLIT, MERGE, SINGLES)
def test_other_bundles_keep_the_order(perturbation, base, twin):
    assert _order(twin) == _order(base)


@given_twins(SPLIT)
def test_splitting_refines(perturbation, base, twin):
    """Where a slot is empty. Where none is, the bundles are as many as before, and cut elsewhere."""
    bundle_of = {arrival.event.id: arrival.step for arrival in base.arrivals}
    for before, after in zip(_between_advances(base), _between_advances(twin), strict=True):
        used = [bundle for bundle in after if bundle.events]
        if all(bundle.events for bundle in before):
            assert len(used) == len(before)
        else:
            assert all(len({bundle_of[i] for i in _ids(bundle)}) == 1 for bundle in used)
            assert len(used) >= sum(bool(bundle.events) for bundle in before)
    assert twin != base


@given_twins(MERGE)
def test_merging_leaves_one_bundle_between_two_advances(perturbation, base, twin):
    for before, after in zip(_between_advances(base), _between_advances(twin), strict=True):
        assert sum(bool(b.events) for b in after) == any(b.events for b in before)
    assert len(_used(twin)) < len(_used(base))


@given_twins(SINGLES)
def test_singles_leave_one_event_a_bundle(perturbation, base, twin):
    """In as many bundles for each case, between the same advances."""
    assert all(len(bundle.events) == 1 for bundle in _used(twin))
    assert twin.advances == tuple(replace(a, id=b.id) for a, b in zip(base.advances, twin.advances, strict=True))
    assert {len(bundles) for bundles in _between_advances(twin)} == {IN_A_ROW}


def test_more_elements_than_can_come_one_by_one_have_no_twin():
    events = tuple(Event(f"e{n}", "a", None, 90) for n in range(IN_A_ROW + 1))
    assert SINGLES.twin(Case("s", "p", Schedule((Advance(0, 0), Deliver(1, events[1:]), Advance(2, 99)))), 1)
    assert not SINGLES.twin(Case("s", "p", Schedule((Advance(0, 0), Deliver(1, events), Advance(2, 99)))), 1)


@given_twins(EMPTY_BUNDLE)
def test_an_empty_bundle_is_all_that_is_added(perturbation, base, twin):
    assert replace(twin.steps[_inserted(base, twin)], id=0) == Deliver(0)


@given_twins(NO_DATA)
def test_bundles_without_any_element_are_all_that_is_added(perturbation, base, twin):
    """After each advance but the last, and one anywhere."""
    assert sum(isinstance(step, NoData) for step in twin.steps) == len(base.advances)
    for before, after in itertools.pairwise(twin.steps):
        assert isinstance(after, NoData) or not isinstance(before, Advance)
    assert renumbered(step for step in twin.steps if not isinstance(step, NoData)) == base


@given_twins(FINER)
def test_finer_steps_have_one_watermark_more(perturbation, base, twin):
    """Right before that of the next advance."""
    place = _inserted(base, twin)
    assert isinstance(twin.steps[place], Advance)
    assert isinstance(twin.steps[place + 1], Advance)


@given_twins(COARSER)
def test_coarser_steps_leave_one_watermark_out(perturbation, base, twin):
    """Neither the first nor the last."""
    assert base.steps[_inserted(twin, base)] in base.advances[1:-1]


@given_twins(COALESCE)
def test_coalescing_marks_one_advance_before_a_bundle(perturbation, base, twin):
    (coalesced,) = (advance for advance in twin.advances if advance.coalesced)

    def bundles(advance):
        """How many bundles are right behind an advance."""
        behind = twin.steps[twin.steps.index(advance) + 1 :]
        return len([*itertools.takewhile(lambda step: isinstance(step, Deliver), behind)])

    assert bundles(coalesced) >= min(2, max(map(bundles, twin.advances[1:])))
    settled = [replace(s, coalesced=False) if isinstance(s, Advance) else s for s in twin.steps]
    assert Schedule(tuple(settled)) == base


@given_twins(SHIFT_TIMES)
def test_shifting_moves_every_time_and_watermark(perturbation, base, twin):
    by = _shift(base, twin)
    assert by in SHIFTS
    assert [a.watermark - by for a in twin.advances] == [a.watermark for a in base.advances]
    for before, after in zip(base.arrivals, twin.arrivals, strict=True):
        assert after.event == replace(before.event, event_time=before.event.event_time + by)
        assert after.step == before.step


def test_shifts_go_past_the_limits_of_32_bits_and_into_these_years():
    years = {datetime.fromtimestamp(shift / 1000, timezone.utc).year for shift in SHIFTS}
    assert years == {1970, 2026, 2038}
    assert max(SHIFTS) >= 2**31 * 1000
    assert any(2**32 <= shift < 2**33 for shift in SHIFTS)


def test_the_shifts_move_windows_onto_windows():
    """Of every program that there is."""
    windowings = [p.windowing for s in load_scenarios() for p in s.programs.values()]
    sizes = {windowing.size for windowing in windowings if isinstance(windowing, FixedWindows)}
    assert sizes
    assert {size for size in sizes if any(shift % size for shift in SHIFTS)} == set()


@given_twins(REPARTITION)
def test_another_partition_count_comes_first(perturbation, base, twin):
    assert _inserted(base, twin) == 0
    assert twin.steps[0] in {Partitions(0, count) for count in PARTITIONS}


@given_twins(RESTART)
def test_a_restart_comes_after_the_first_bundle_or_right_before_it(perturbation, base, twin):
    """Some places are drawn; right behind each advance between bundles there may be one more."""
    restarts = [step.id for step in twin.steps if isinstance(step, Restart)]
    first = next(step.id for step in twin.steps if isinstance(step, Deliver))
    assert [place for place in restarts if place < first] in ([], [first - 1])
    assert 1 <= sum(place > first for place in restarts) <= RESTARTS + len(base.advances[1:-1])
    assert renumbered([step for step in twin.steps if not isinstance(step, Restart)]) == base
    assert all(before + 1 < after for before, after in itertools.pairwise(restarts))


@given_twins(RETRY, RESUME)
def test_a_bundle_fails_once(perturbation, base, twin):
    """Whether it has an element in a case or not: the cases of a timeline fail together."""
    place = _inserted(base, twin)
    assert twin.steps[place] == FailOnce(place, resume=perturbation is RESUME)
    assert twin.bundle_after(twin.steps[place]) is twin.steps[place + 1]


def _full():
    """A case of five bundles with an element each."""
    bundles = [Deliver(n, (Event(f"e{n}", "a", None, 9),)) for n in range(1, 6)]
    return Case("s", "p", Schedule((Advance(0, 0), *bundles, Advance(6, 10))))


@pytest.mark.parametrize(("perturbation", "kind"), [(RESTART, Restart), (RETRY, FailOnce), (RESUME, FailOnce)])
def test_what_befalls_a_job_does_so_before_there_is_state_at_one_level(perturbation, kind):
    """By every seed."""
    for seed in range(10):
        twins = [perturbation.twin(_full(), seed, level).schedule for level in range(perturbation.levels)]
        assert [isinstance(twin.steps[1], kind) for twin in twins].count(True) == 1


def test_a_job_is_restarted_behind_each_advance_and_fails_in_its_last_bundle_at_one_level():
    case = Case("s", "p", draw_timelines(3)[Family.SEVERAL][0])
    steps = RESTART.twin(case, 3, 2).schedule.steps
    inner = [n for n, step in enumerate(steps) if isinstance(step, Advance)][1:-1]
    assert inner
    assert all(isinstance(steps[place + 1], Restart) for place in inner)
    for perturbation in (RETRY, RESUME):
        assert isinstance(perturbation.twin(_full(), 3, 2).schedule.steps[-3], FailOnce)


def test_the_partitions_are_more_than_before_and_one():
    twins = [REPARTITION.twin(_full(), 3, level).schedule for level in range(REPARTITION.levels)]
    assert [twin.steps[0].count for twin in twins] == [5, 1]


def test_a_schedule_that_waits_is_restarted_once_after_its_first_bundle():
    """Each restart takes processing time."""
    [timeline] = draw_timelines(1)[Family.WAITING]
    for seed in range(10):
        for level in range(RESTART.levels):
            steps = RESTART.twin(Case("s", "p", timeline), seed, level).schedule.steps
            assert [isinstance(step, Restart) for step in steps[2 + (level == 1) :]].count(True) == 1


def test_a_schedule_that_waits_is_restarted_while_state_lives_and_when_it_has_expired():
    """What is written in the first bundle lives for one wait and not for two."""
    [timeline] = draw_timelines(1)[Family.WAITING]
    for seed in range(10):
        for level, waits in ((0, 1), (RESTART.levels - 1, 2)):
            steps = RESTART.twin(Case("s", "p", timeline), seed, level).schedule.steps
            place = next(n for n, step in enumerate(steps) if isinstance(step, Restart))
            assert sum(isinstance(step, Wait) for step in steps[:place]) == waits
            assert any(isinstance(step, Deliver) for step in steps[place:])


def test_a_job_whose_schedule_waits_is_killed_when_it_has_state():
    [timeline] = draw_timelines(1)[Family.WAITING]
    for seed in range(10):
        assert min(_kills(CRASH.twin(Case("s", "p", timeline), seed).schedule)) > timeline.bundles[0].id


def test_a_job_is_restarted_several_times():
    case = Case("s", "p", Schedule((Advance(0, 0), *(Deliver(n, ()) for n in range(1, 6)), Advance(6, 1))))
    twins = [RESTART.twin(case, seed) for seed in range(20)]
    assert {sum(isinstance(step, Restart) for step in twin.schedule.steps) for twin in twins} == {1, 2, 3}


def _kills(schedule):
    """Bundle id -> the points at which jobs are killed in it."""
    found = {}
    for step in schedule.steps:
        if isinstance(step, Crash):
            found.setdefault(schedule.bundle_after(step).id, []).append(step.at)
    return found


@pytest.mark.parametrize("timeline", draw_timelines(1)[Family.SEVERAL])
def test_a_job_is_killed_at_every_point_by_one_level_or_another(timeline):
    """On each timeline, also where a bundle fails. Jobs are killed in one bundle one after the other, too."""
    blank = Case("s", "p", timeline)
    for beside in ((), ((RETRY, 0),), ((SINK_FAILS, 1),)):
        found = [_kills(together(blank, (*beside, (CRASH, level)), 1).schedule) for level in range(CRASH.levels)]
        at = [points for kills in found for points in kills.values()]
        assert {*itertools.chain(*at)} == {*CRASH_POINTS}
        assert max(map(len, at)) > 1
        assert all(not {*points[:-1]} & {*DONE_POINTS} for points in at)


def test_a_job_that_waits_is_killed_once():
    [timeline] = draw_timelines(1)[Family.WAITING]
    assert [*_kills(CRASH.twin(Case("s", "p", timeline), 1).schedule).values()] == [["partition"]]


def test_no_job_is_killed_in_a_bundle_that_fails():
    timeline = draw_timelines(1)[Family.ONE][0]
    assert together(Case("s", "p", timeline), ((RETRY, 0), (CRASH, 0)), 1) is None


@given_twins(RENAME)
def test_renaming_gives_each_key_another_name(perturbation, base, twin):
    """And to no two the same."""
    names = {(b.event.key, t.event.key) for b, t in zip(base.arrivals, twin.arrivals, strict=True)}
    before, after = ([pair[side] for pair in names] for side in (0, 1))
    assert len(set(before)) == len(set(after)) == len(names)
    assert not set(before) & set(after)
    assert _order(twin) == _order(base)


@given_twins(ALONE)
def test_alone_is_the_same_schedule(perturbation, base, twin):
    assert twin == base


@given_twins(REDELIVER)
def test_what_is_delivered_again_is_an_earlier_event_under_another_id(perturbation, base, twin):
    """Between the same two advances."""
    arrived = {arrival.event.id: (place, arrival) for place, arrival in enumerate(twin.arrivals)}
    again = [name for name in arrived if name.endswith(".again")]
    assert again
    for name in again:
        (place, first), (later, second) = arrived[name.removesuffix(".again")], arrived[name]
        assert replace(second.event, id=first.event.id) == first.event
        assert place < later
        assert twin.intervals[first.step] == twin.intervals[second.step]
    assert _without(twin, again) == base


@given_twins(UNRELATED_KEY)
def test_an_unrelated_key_has_two_events_and_nobody_else_s(perturbation, base, twin):
    more = [arrival for arrival in twin.arrivals if arrival.event.id not in _order(base)]
    (key,) = {arrival.event.key for arrival in more}
    assert len(more) == 2
    assert key not in {arrival.event.key for arrival in base.arrivals}
    assert _without(twin, [arrival.event.id for arrival in more]) == base


@st.composite
def twins_under_several(draw):
    """(case, parts, twin), of changes of the timeline and of the case that can meet."""
    of_the_case = [p for p in PERTURBATIONS if p.keeps_timeline]
    one = draw(st.sampled_from(of_the_case))
    several = draw(st.lists(st.sampled_from(OF_THE_TIMELINE), unique=True, max_size=4))
    assume(not any(pair <= set(several) for pair in APART))
    chosen = [one, *sorted(several, key=OF_THE_TIMELINE.index)]
    parts = tuple((p, draw(st.integers(0, p.levels - 1))) for p in chosen)
    case, seed = draw(CASES_OF_SEVERAL_BUNDLES), draw(SEEDS)
    twin = together(case, parts, seed)
    assume(twin is not None)
    return case, parts, seed, twin


@quickly
@given(twins_under_several())
def test_a_twin_has_all_its_changes_and_no_other(found):
    case, parts, _, twin = found
    of_the_timeline = {p.id for p, _ in parts if not p.keeps_timeline} - {SINGLES.id}
    assert _changes(case.schedule, twin.schedule, SINGLES in dict(parts)) == of_the_timeline
    assert parts_of(twin.perturbation) == tuple(p.at(level) for p, level in parts)
    assert factors_of(twin.perturbation) == tuple(p.id for p, _ in parts)
    assert [level_of(part) for part in parts_of(twin.perturbation)] == [level for _, level in parts]
    assert _from_file(twin) == twin


def _changes(base, twin, singles):
    """The changes (ids) of the timeline that tell a twin from its base, but for one element per bundle."""
    kinds = {Restart: "restart", NoData: "no-data", Partitions: "repartition", SinkFails: "sink-fails", Crash: "crash"}
    found = {kinds[type(step)] for step in twin.steps if type(step) in kinds}
    found |= {"resume" if step.resume else "retry" for step in twin.steps if isinstance(step, FailOnce)}
    found |= {"coalesce" for advance in twin.advances if advance.coalesced}
    before = IN_A_ROW * len(_between_advances(base)) if singles else len(base.bundles)
    found |= {"empty-bundle"} if len(twin.bundles) > before else set()
    found |= {"shift"} if _shift(base, twin) else set()
    before, after = ({a.watermark - s.advances[0].watermark for a in s.advances} for s in (base, twin))
    found |= ({"finer"} if after - before else set()) | ({"coarser"} if before - after else set())
    return found


@quickly
@given(twins_under_several())
def test_several_changes_keep_each_element_and_make_none_late(found):
    case, _, _, twin = found
    before = {arrival.event.id: arrival for arrival in case.schedule.arrivals}
    own = [arrival for arrival in twin.schedule.arrivals if arrival.event.id in before]
    assert {arrival.event.id for arrival in own} == set(before)
    assert all(arrival.on_time or not before[arrival.event.id].on_time for arrival in own)
    for step, after in itertools.pairwise(twin.schedule.steps):
        if isinstance(step, FailOnce | SinkFails) or (isinstance(step, Advance) and step.coalesced):
            assert isinstance(after, Deliver), "nothing comes between a failure and its bundle"
        if isinstance(step, Crash):
            assert isinstance(after, Deliver | Crash), "nor between a crash and its bundle"


@quickly
@given(twins_under_several())
def test_what_a_change_does_depends_on_no_change_beside_it(found):
    """A change of the case leaves the timeline to those of the timeline, and they leave its elements in their order."""
    case, (of_the_case, *of_the_timeline), seed, twin = found
    assert _order(twin.schedule) == _order(together(case, [of_the_case], seed).schedule)
    if of_the_timeline and SINGLES not in dict(of_the_timeline):
        others = together(case, of_the_timeline, seed)
        assert twin.schedule.timeline == others.schedule.timeline
        assert _order(others.schedule) == _order(case.schedule)


def _case(*steps):
    return Case("s", "p", Schedule(steps))


def _events(*keys):
    return tuple(Event(f"e{number}", key, None, 2_000) for number, key in enumerate(keys))


@pytest.mark.parametrize(
    ("case", "without_hold"),
    [
        (
            _case(Advance(0, 1_000), Deliver(1, _events("a")), Deliver(2), Advance(3, 9_000)),
            {REORDER_KEY, INTERLEAVE, REVERSE, REORDER_ACROSS, SPLIT, MERGE, COARSER, COALESCE},
        ),
        (
            _case(Advance(0, 1_000), Deliver(1, _events("a", "b", "c")), Advance(2, 1_001)),
            {REORDER_KEY, REORDER_ACROSS, SPLIT, MERGE, COARSER, COALESCE, FINER},
        ),
        (
            _case(Advance(0, 1_000), Deliver(1, _events("a", "a")), Advance(2, 2_001), Deliver(3), Advance(4, 9_000)),
            {INTERLEAVE, REORDER_ACROSS, SPLIT, MERGE},
        ),
    ],
    ids=["one event", "one slot", "one key"],
)
def test_what_has_nothing_to_change_has_no_twin(case, without_hold):
    """Under any seed."""
    found = {p for p in PERTURBATIONS if not any(p.twin(case, seed) for seed in range(30))}
    assert found == without_hold


@pytest.mark.parametrize("perturbation", [RETRY, RESUME], ids=lambda p: p.id)
def test_a_failure_is_inserted_where_a_case_has_an_empty_bundle_too(perturbation):
    """At the same place as in the other cases of its timeline: the bundle that fails is the timeline's, and not the
    first of several."""
    case = _case(Advance(0, 10), Deliver(1, _events("a")), Deliver(2), Advance(3, 90))
    other = _case(Advance(0, 10), Deliver(1), Deliver(2, _events("a")), Advance(3, 90))
    for seed in range(30):
        for twin in (perturbation.twin(c, seed) for c in (case, other)):
            assert [isinstance(step, FailOnce) for step in twin.schedule.steps] == [False, False, True, False, False]


def test_times_of_several_bundles_are_shifted_past_what_32_bits_of_seconds_hold():
    """One run then shows what is cut there, and what is cut at 32 bits of milliseconds."""
    steps = [Advance(0, 10), Deliver(0, (Event("e1", "a", None, 11),)), Deliver(0), Advance(0, 99_000)]
    for seed in range(5):
        twin = SHIFT_TIMES.twin(Case("s", "p", renumbered(steps)), seed)
        assert min(arrival.event.event_time for arrival in twin.schedule.arrivals) > 2**31 * 1000

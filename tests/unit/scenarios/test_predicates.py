"""What each predicate takes for its occasion, and what it says: on traces written by hand."""

import pytest
from handmade import run as _run
from handmade import said as _said

from conformance.model.schedule import Advance
from conformance.scenarios.stories import anomaly_detection as anomalies
from conformance.scenarios.stories import batching_per_key as batching
from conformance.scenarios.stories import click_trail as clicks
from conformance.scenarios.stories import dedup_then_count as distinct
from conformance.scenarios.stories import dedup_within_watermark as dedup
from conformance.scenarios.stories import event_time_ordering as ordering
from conformance.scenarios.stories import index_assignment as index
from conformance.scenarios.stories import late_data as late
from conformance.scenarios.stories import login_alerts as logins
from conformance.scenarios.stories import rate_limit as rate
from conformance.scenarios.stories import session_timeout as sessions
from conformance.scenarios.stories import sliding_windows as sliding
from conformance.scenarios.stories import stream_join as joins
from conformance.scenarios.stories import windowed_counting as counting
from conformance.scenarios.time import event_time_timers as timers

# Dedup within watermark

FIRST = [("e1", "a", 2_000), ("same", "a", 2_000)]
REPEATED = [
    1_000,
    FIRST,
    [("later", "a", 2_500)],
    3_000,
    [("moved", "a", 3_500)],
    20_000,
    [("new", "a", 21_000)],
    90_000,
]
AGAIN = "{} was accepted although {} of the same id was, and is not forgotten yet"


@pytest.mark.parametrize(
    ("predicate", "duplicate", "against"),
    [
        (dedup.dropped_in_the_same_bundle, "same", ["e1"]),
        (dedup.dropped_in_a_later_bundle, "later", ["e1"]),
        (dedup.dropped_within_the_horizon, "moved", ["e1"]),
    ],
)
def test_each_kind_of_duplicate_has_a_guarantee_of_its_own(predicate, duplicate, against):
    """And one that was accepted speaks against that guarantee alone."""
    assert _said(predicate, _run(REPEATED, ("a", {"accepted": "e1"}, 1))) == [True]
    step = {"same": 1, "later": 2, "moved": 4}[duplicate]
    both = _run(REPEATED, ("a", {"accepted": "e1"}, 1), ("a", {"accepted": duplicate}, step))
    assert AGAIN.format(duplicate, "e1") in _said(predicate, both)
    others = {dedup.dropped_in_the_same_bundle, dedup.dropped_in_a_later_bundle, dedup.dropped_within_the_horizon}
    assert all(finding is True for other in others - {predicate} for finding in _said(other, both))


def test_a_duplicate_of_another_event_time_may_lie_before_the_first_or_after_it():
    times = [2_000, 2_000, 2_000, 1_500, 1_400, 1_300, 2_500]
    run = _run([1_000, [(f"e{n}", "a", time) for n, time in enumerate(times)], 90_000], ("a", {"accepted": "e0"}, 1))
    assert _said(dedup.dropped_with_another_event_time, run) == [True] * 4


def test_a_late_duplicate_that_was_accepted_is_named_with_how_late_it_is():
    steps = [1_000, [("e1", "a", 2_000)], 5_000, [("e2", "a", 1_300)], 90_000]
    accepted = [("a", {"accepted": "e1"}, 1), ("a", {"accepted": "e2"}, 3)]
    assert _said(dedup.a_late_duplicate_is_dropped, _run(steps, *accepted[:1])) == [True]
    assert _said(dedup.a_late_duplicate_is_dropped, _run(steps, *accepted)) == [
        "e2, 3700 ms behind the watermark, was accepted again"
    ]


# Late data

LATE = [1_000, [("early", "a", 2_300), ("at", "a", 1_000), ("behind", "a", 300)], 90_000]


def test_what_was_dropped_on_time_or_processed_late_is_named_with_its_distance_from_the_watermark():
    nothing, everything = _run(LATE), _run(LATE, *(("a", {"processed": e}, 1) for e in ("early", "at", "behind")))
    assert _said(late.on_time_is_never_dropped, nothing) == ["early, 1300 ms after the watermark, was dropped"]
    assert _said(late.at_the_watermark_is_processed, nothing) == ["at, exactly at the watermark, was dropped"]
    assert _said(late.behind_the_watermark_is_not_processed, nothing) == [True]
    assert _said(late.on_time_is_never_dropped, everything) == [True]
    assert _said(late.at_the_watermark_is_processed, everything) == [True]
    assert _said(late.behind_the_watermark_is_not_processed, everything) == [
        "behind, 700 ms behind the watermark, was processed"
    ]


EXPIRED = [25_000, [("expired", "b", 12_000), ("open", "b", 20_500)], 26_000, 90_000]


def test_a_window_expires_at_the_very_watermark_that_reaches_its_end_and_allowed_lateness():
    assert _said(late.past_the_allowed_lateness_is_not_processed, _run(EXPIRED)) == [True]
    both = _run(EXPIRED, ("b", {"processed": "expired"}, 1), ("b", {"processed": "open"}, 1))
    assert _said(late.past_the_allowed_lateness_is_not_processed, both) == [
        "expired was processed, its window had expired at 25000"
    ]
    for before, found in [(24_999, []), (25_001, [True])]:
        run = _run([before, *EXPIRED[1:]])
        assert _said(late.past_the_allowed_lateness_is_not_processed, run) == found
        assert _said(late.a_closed_window_is_not_reopened, run) == found


def test_a_window_that_comes_out_again_is_named_with_the_first_step_it_did():
    """The same window of the same key, not in the step that it was due in."""
    closed = [("b", {"closed": 10_000}, 0), ("a", {"closed": 10_000}, 2), ("c", {"closed": 10_000}, 2)]
    closed += [("b", {"closed": 0}, 2), ("b", {"closed": 20_000}, 2)]
    assert _said(late.a_closed_window_is_not_reopened, _run(EXPIRED, *closed)) == [True]
    again = [("b", {"closed": 10_000}, 2), ("b", {"closed": 10_000}, 3)]
    assert _said(late.a_closed_window_is_not_reopened, _run(EXPIRED, *closed, *again)) == [
        "the window from 10000 of key b, expired in step 0, came out in step 2"
    ]


# Index assignment

ORDER = [1_000, [("e1", "a", 2_000), ("e2", "a", 2_000)], [("e3", "a", 2_000), ("e4", "b", 2_000)], 90_000]


def _indexed(*given, **more):
    return _run(ORDER, *((key, {"id": name, "index": index} | more, 1) for key, name, index in given))


def test_arrival_order_is_asked_of_neighbours_in_a_key_within_a_bundle_and_across_bundles_apart():
    within, across = (
        index.indices_follow_arrival_order_within_a_bundle,
        index.indices_follow_arrival_order_across_bundles,
    )
    for indices, in_one, in_two in [
        ((0, 1, 2), True, True),
        ((1, 0, 2), "e1 arrived before e2 of key a, their indices are 1 and 0", True),
        ((0, 0, 2), "e1 arrived before e2 of key a, their indices are 0 and 0", True),
        ((0, 3, 2), True, "e2 arrived before e3 of key a, their indices are 3 and 2"),
    ]:
        run = _indexed(*(("a", f"e{n}", i) for n, i in enumerate(indices, 1)), ("b", "e4", 0), ("a", "e1", 9))
        assert (_said(within, run), _said(across, run)) == ([in_one], [in_two])
    unnumbered = _indexed(("a", "e1", 0), ("a", "e3", 1))
    assert (_said(within, unnumbered), _said(across, unnumbered)) == ([], [True])


def test_indices_are_unique_and_without_gaps_per_key():
    run = _indexed(("a", "e1", 0), ("a", "e2", 0), ("a", "e3", 4), ("a", "e3", 2), ("b", "e4", 0))
    assert _said(index.no_index_is_given_twice, run) == ["index 0 of key a was given 2 times", True, True, True]
    assert _said(index.no_gaps_from_0, run) == ["key a reached index 4 without 1", True]
    assert _said(index.an_emitted_index_never_changes, run) == [True, True, "e3 got the indices [2, 4]", True]
    assert _said(index.every_element_gets_an_index, run) == [True] * 4
    assert _said(index.every_element_gets_an_index, _indexed(("a", "e1", 0)))[1:] == [
        f"e{n} got no index" for n in (2, 3, 4)
    ]


def test_a_shared_counter_shows_where_there_are_several_keys_or_windows():
    assert _said(index.keys_do_not_share_a_counter, _indexed(("a", "e1", 1))) == []
    for first in (2, -1):
        run = _indexed(("a", "e1", 0), ("a", "e2", 1), ("b", "e4", first))
        assert _said(index.keys_do_not_share_a_counter, run) == [True, f"the first index of key b is {first}"]
    given = [("a", 0, 1), ("a", 0, 0), ("a", 0, 3), ("a", 10_000, 1), ("b", 0, 5), ("A", 0, 5)]
    emitted = [(key, {"id": "e", "index": number, "window": window}, 1) for key, window, number in given]
    assert _said(index.windows_do_not_share_a_counter, _run(ORDER, *emitted)) == [
        True,
        "the lowest index of key a in the window from 10000 is 1",
    ]


# Event-time timers

MOVED = [1_000, [("e1", "a", 2_000), ("same", "a", 2_000)], 5_000, [("e2", "a", 6_000)], 20_000, 90_000]


def _fired(steps, *given):
    return _run(steps, *((key, {"fired": time}, step) for key, time, step in given))


def test_a_timer_that_nothing_moved_in_time_fires_once():
    assert _said(timers.fires_once, _fired(MOVED, ("a", 16_000, 4), ("a", 12_000, 3), ("b", 16_000, 4))) == [True]
    assert _said(timers.fires_once, _fired(MOVED)) == ["the timer of key a for 16000 fired 0 times"]
    twice = _fired(MOVED, ("a", 16_000, 4), ("a", 16_000, 5))
    assert _said(timers.fires_once, twice) == ["the timer of key a for 16000 fired 2 times"]
    assert _said(timers.fires_once, _fired([0, [("e1", "a", 0)], 90_000], ("a", 10_000, 2))) == [True]


def test_a_moved_timer_is_named_with_the_first_step_it_fired_in_for_its_old_time():
    predicate = timers.fires_only_at_its_last_time
    assert _said(predicate, _fired(MOVED, ("a", 16_000, 4), ("b", 12_000, 4))) == [True]
    assert _said(predicate, _fired(MOVED, ("a", 12_000, 3), ("a", 12_000, 4))) == [
        "the timer of key a was moved away from 12000 and fired for it in step 3"
    ]


def test_a_timer_is_moved_up_to_the_watermark_before_its_time():
    for watermark, alone, moved in [(11_999, 1, 1), (12_000, 2, 0), (12_001, 2, 0)]:
        run = _fired([1_000, [("e1", "a", 2_000)], watermark, [("e2", "a", 15_000)], 90_000])
        assert len(_said(timers.fires_once, run)) == alone
        assert len(_said(timers.fires_only_at_its_last_time, run)) == moved


def test_a_timer_may_fire_from_the_advance_on_that_reaches_it():
    predicate = timers.not_before_its_time
    assert _said(predicate, _fired(MOVED, ("a", 5_000, 2), ("a", 5_000, 3))) == [True, True]
    assert _said(predicate, _fired(MOVED, ("a", 5_001, 2), ("a", 5_001, 3), ("a", 5_001, 4))) == [
        *["the timer of key a for 5001 fired at the watermark 5000"] * 2,
        True,
    ]


def test_a_timer_fires_in_the_first_advance_where_there_is_another():
    predicate = timers.fires_in_the_first_advance
    assert _said(predicate, _fired(MOVED, ("a", 16_000, 4), ("a", 16_000, 5), ("a", 12_000, 5))) == [
        True,
        "the timer of key a for 16000 is due in step 4 and fired in step 5",
    ]
    assert _said(predicate, _fired([1_000, [("e1", "a", 2_000)], 90_000], ("a", 12_000, 1))) == []
    assert _said(predicate, _fired([1_000, [("e1", "a", 2_000)], 90_000, 91_000], ("a", 12_000, 2))) == [True]


def _chained(steps, *given):
    return _run(steps, *(("a", {"fired": name, "of": of, "time": time}, step) for name, of, time, step in given))


def test_a_timer_set_from_a_timer_is_due_like_any_other():
    steps, predicate = [1_000, [("e1", "a", 2_000)], 13_999, 14_000, 90_000], timers.set_from_a_timer_fires
    other = [("first", "e1", 12_000, 2), ("third", "e2", 14_000, 3)]
    assert _said(predicate, _chained(steps, *other, ("third", "e1", 14_000, 3))) == [True]
    for given, where in [([], []), ([2], [2]), ([3, 4], [3, 4])]:
        assert _said(predicate, _chained(steps, *other, *(("third", "e1", 14_000, step) for step in given))) == [
            f"the timer for 14000 that a timer of e1 set is due in step 3 and fired in steps {where}"
        ]


def test_two_timers_that_are_due_in_one_bundle_are_not_asked_for():
    predicate, bundle = timers.set_from_a_timer_fires, [("e2", "b", 80_500)]
    both = [1_000, [("e1", "a", 2_000)], Advance(0, 20_000, coalesced=True), bundle, 90_000, 99_000]
    (of_the_other,) = _said(predicate, _chained(both))
    assert "of e2" in of_the_other
    one = [1_000, [("e1", "a", 2_000)], 13_000, Advance(0, 20_000, coalesced=True), bundle, 90_000, 99_000]
    assert _said(predicate, _chained(one, ("third", "e1", 14_000, 4), ("third", "e2", 92_500, 6))) == [True, True]


def test_what_a_timer_cleared_does_not_fire_after_it():
    predicate, steps = timers.cleared_from_a_timer_does_not_fire, [1_000, [("e1", "a", 2_000)], 90_000]
    first, cleared = ("first", "e1", 12_000, 2), ("cleared", "e1", 13_000, 2)
    assert _said(predicate, _chained(steps, cleared)) == []
    assert _said(predicate, _chained(steps, ("first", "e2", 12_000, 2), ("third", "e1", 14_000, 2), cleared)) == []
    assert _said(predicate, _chained(steps, cleared, first)) == [True]
    assert _said(predicate, _chained(steps, first, ("cleared", "e2", 12_999, 2), ("cleared", "e2", 13_001, 2))) == [
        True
    ]
    assert _said(predicate, _chained(steps, first, ("third", "e1", 13_000, 2))) == [True]
    assert _said(predicate, _chained(steps, first, cleared)) == [
        "the timer for 13000 that a timer of e1 cleared fired all the same"
    ]


def test_a_timer_that_a_timer_moved_fires_at_its_new_time_only():
    """Set at 12 s to 14 s instead of 13 s. An engine that does not know whose timer it fires says no event."""
    predicate, steps = timers.moved_from_a_timer_fires_at_its_new_time_only, [1_000, [("e1", "a", 2_000)], 90_000]
    first, old, new = ("first", "e1", 12_000, 2), ("moved", "e1", 13_000, 2), ("moved", "e1", 14_000, 2)
    against = (
        "a timer of e1 of key a moved a timer from 13000 to 14000: it fired {} times for 13000, {} times for 14000"
    )
    assert _said(predicate, _chained(steps, old, new)) == []
    assert _said(predicate, _chained(steps, first, new)) == [True]
    assert _said(predicate, _chained(steps, old, first, new)) == [True]
    assert _said(predicate, _chained(steps, first, old, new)) == [against.format(1, 1)]
    assert _said(predicate, _chained(steps, first, ("moved", "", 13_000, 2), new)) == [against.format(1, 1)]
    assert _said(predicate, _chained(steps, first, old)) == [against.format(1, 0)]
    assert _said(predicate, _chained(steps, first)) == [against.format(0, 0)]
    assert _said(predicate, _chained(steps, first, new, new)) == [against.format(0, 2)]


# Session timeout


def _sessions(steps, *given):
    """What came out are (ids, step) in key a."""
    return _run(steps, *(("a", {"ids": ids.split()}, step) for ids, step in given))


@pytest.mark.parametrize(
    ("distance", "predicate", "shares"),
    [
        (0, sessions.closer_than_the_gap_share_one, True),
        (9_999, sessions.closer_than_the_gap_share_one, True),
        (10_000, sessions.exactly_the_gap_apart_do_not_share, False),
        (10_001, sessions.further_apart_do_not_share, False),
        (10**9, sessions.further_apart_do_not_share, False),
    ],
)
def test_each_distance_of_neighbours_has_a_guarantee_of_its_own(distance, predicate, shares):
    """Neighbours in event time, in whatever order they came; with another between them they are none."""
    steps = [1_000, [("e2", "a", 2_000 + distance), ("e1", "a", 2_000), ("e0", "b", 2_000)], 10**10]
    names = "e2 and e1" if distance == 0 else "e1 and e2"
    said = f"{names}, {distance} ms apart, share {'no' if shares else 'a'} session"
    one, two = _sessions(steps, ("e1 e2", 2)), _sessions(steps, ("e1", 2), ("e2", 2))
    asked = [
        sessions.closer_than_the_gap_share_one,
        sessions.exactly_the_gap_apart_do_not_share,
        sessions.further_apart_do_not_share,
    ]
    for other in asked:
        assert _said(other, one) == ([] if other is not predicate else [True] if shares else [said])
        assert _said(other, two) == ([] if other is not predicate else [said] if shares else [True])
    assert _said(predicate, _sessions(steps)) == [said if shares else True]


def test_an_event_is_in_exactly_one_session():
    steps = [1_000, [("e1", "a", 2_000), ("e2", "a", 2_000), ("e3", "a", 2_000), ("late", "a", 500)], 90_000]
    assert _said(sessions.every_event_is_in_one_session, _sessions(steps, ("e1 e2", 2), ("e2", 2))) == [
        True,
        "e2 is in 2 sessions",
        "e3 is in 0 sessions",
    ]


def test_a_session_closes_when_its_last_event_has_been_quiet_for_the_gap():
    steps = [1_000, [("e1", "a", 5_000), ("e2", "a", 2_000)], 14_999, 15_000, 90_000]
    said = "the session of e1, e2 is due in step 3 and closed in step "
    run = _sessions(steps, ("e1 e2", 2), ("e1 e2", 3), ("e1 e2", 4))
    assert _said(sessions.closes_when_the_watermark_passes, run) == [f"{said}2", True, f"{said}4"]
    assert _said(sessions.closes_when_the_watermark_passes, _sessions([*steps[:2], 90_000], ("e1 e2", 2))) == []
    assert _said(sessions.closes_when_the_watermark_passes, _sessions([*steps[:3], 90_000], ("e1", 3))) == [True]


def test_a_session_is_known_by_its_key_and_start():
    given = [("a", 5), ("a", 7), ("b", 5), ("a", 5)]
    run = _run([1_000, [("e1", "a", 2_000)], 90_000], *((key, {"start": start}, 2) for key, start in given))
    assert _said(sessions.closes_once, run) == ["the session of key a from 5 was emitted 2 times", True, True]


@pytest.mark.parametrize(
    ("times", "connected"),
    [
        ((2_000, 15_000, 8_000), ["e0", "e1"]),
        ((15_000, 2_000, 8_000), ["e1", "e0"]),
        ((2_000, 12_000, 7_000), ["e0", "e1"]),  # exactly the gap apart
        ((2_000, 11_999, 7_000), None),  # together without it
        ((2_000, 12_000, 2_001), ["e0", "e1"]),
        ((2_000, 12_000, 11_999), ["e0", "e1"]),
        ((2_000, 21_998, 11_999), ["e0", "e1"]),
        ((2_000, 21_999, 11_999), None),  # too far from the one above
        ((2_000, 21_998, 12_000), None),  # and from the one below
        ((2_000, 8_000, 15_000), None),  # it is not the last to come
        ((2_001, 15_000, 2_000), None),
        ((2_000, 15_000, 15_000), None),
        ((1_500, 16_000, 2_000, 15_000, 8_000), ["e2", "e3"]),
        ((2_000, 15_000, 1_500, 16_000, 8_000), ["e0", "e1"]),
    ],
)
def test_a_bridge_comes_after_the_nearest_two_that_are_apart_without_it(times, connected):
    steps = [1_000, [(f"e{n}", "a", time) for n, time in enumerate(times)], 90_000]
    bridge = f"e{len(times) - 1}"
    said = [] if connected is None else [f"{bridge} connects {' and '.join(connected)}, which share no session"]
    assert _said(sessions.a_bridge_merges, _sessions(steps)) == said
    everything = _sessions(steps, (" ".join(f"e{n}" for n in range(len(times))), 2))
    assert _said(sessions.a_bridge_merges, everything) == [True] * len(said)


def test_no_bridge_is_needed_where_another_event_of_its_time_came_before_it():
    steps = [1_000, [("e1", "a", 2_000), ("e2", "a", 15_000), ("e3", "a", 8_000), ("e4", "a", 8_000)], 90_000]
    assert len(_said(sessions.a_bridge_merges, _sessions(steps))) == 1


def test_sessions_of_a_key_that_one_step_closes_come_out_by_their_ends():
    given = [("a", 20, 2), ("a", 15, 2), ("b", 5, 2), ("a", 3, 3), ("b", 9, 4), ("b", 10, 4)]
    run = _run([1_000, [], 90_000], *((key, {"end": end}, step) for key, end, step in given))
    assert _said(sessions.close_in_order, run) == [
        "in step 2 the sessions of key a came out with the ends [20, 15]",
        True,
    ]


@pytest.mark.parametrize(
    ("times", "occasions"),
    [
        ((2_000, 7_000), 1),
        ((2_000, 11_999), 1),
        ((2_000, 12_000), 0),
        ((2_000, 2_000), 0),
        ((7_000, 2_000), 0),
        ((7_000, 2_000, 6_000), 0),
        ((2_000, 7_000, 9_000), 2),
        ((2_000, 2_001), 1),
    ],
)
def test_a_timer_is_cleared_where_an_event_moves_the_end_of_the_latest_session(times, occasions):
    steps = [1_000, [(f"e{n}", "a", time) for n, time in enumerate(times)], 90_000]
    stray = [("a", {"stray": 3_333}, 2), ("a", {"stray": 4_444}, 2)]
    ends = [("a", {"stray": max(times) + 10_000}, 2), ("b", {"stray": 3_333}, 2)]
    assert _said(sessions.a_cleared_timer_does_not_fire, _run(steps, *ends)) == [True] * occasions
    assert (
        _said(sessions.a_cleared_timer_does_not_fire, _run(steps, *ends, *stray))
        == ["a timer of key a fired for 3333, where no session ends any more"] * occasions
    )


def test_the_end_of_each_session_of_the_key_may_have_a_timer():
    steps = [1_000, [("e1", "a", 2_000), ("e2", "a", 7_000), ("e3", "a", 17_000)], 90_000]
    for end, found in [(12_000, str), (17_000, bool), (27_000, bool)]:
        (said,) = _said(sessions.a_cleared_timer_does_not_fire, _run(steps, ("a", {"stray": end}, 2)))
        assert type(said) is found


# Windowed counting


def _counted(steps, *given):
    """What came out are (key, window, count, step)."""
    return _run(steps, *((key, {"window": window, "count": count}, step) for key, window, count, step in given))


WINDOWS = [
    1_000,
    [("e1", "a", 2_000), ("e2", "a", 9_999), ("e3", "a", 10_000), ("e4", "b", 2_000)],
    5_000,
    [("behind", "a", 3_000)],
    10_000,
    90_000,
]


def test_on_time_elements_are_in_the_last_count_of_their_window():
    predicate, said = counting.every_on_time_element_is_counted, "the window from 0 of key {} had {} on-time elements"
    full = [("b", 0, 1, 4), ("a", 10_000, 1, 5)]
    for count in (2, 3):  # the one behind the watermark may count
        assert _said(predicate, _counted(WINDOWS, ("a", 0, count, 4), *full)) == [True] * 3
    assert _said(predicate, _counted(WINDOWS, ("a", 0, 3, 4), ("a", 0, 1, 5), *full)) == [
        f"{said.format('a', 2)}, its last count is 1",
        True,
        True,
    ]
    assert _said(predicate, _counted(WINDOWS, *full))[0] == f"{said.format('a', 2)}, its last count is 0"
    assert _said(predicate, _run([5_000, [("late", "a", 3_000)], 90_000])) == []


def test_a_window_that_begins_anew_had_counted_its_elements():
    full = [("b", 0, 1, 4), ("a", 10_000, 1, 5)]
    predicate = counting.every_on_time_element_was_counted
    assert _said(predicate, _counted(WINDOWS, ("a", 0, 2, 4), ("a", 0, 1, 5), *full)) == [True] * 3
    few = _said(predicate, _counted(WINDOWS, ("a", 0, 1, 4), ("a", 0, 1, 5), *full))
    assert few[0] == "the window from 0 of key a had 2 on-time elements, its highest count is 1"


def test_a_window_has_no_elements_but_its_own():
    run = _counted(WINDOWS, ("a", 0, 3, 4), ("a", 10_000, 4, 5), ("b", 0, 2, 4), ("b", 0, 1, 5))
    assert _said(counting.no_more_than_it_got, run) == [
        True,
        "the window from 10000 of key a had 1 elements and counted 4",
        "the window from 0 of key b had 1 elements and counted 2",
    ]
    # Key b has one window, so that there is none to share with.
    assert _said(counting.windows_do_not_share_a_count, run) == [
        True,
        "the window from 10000 of key a counted 4, 1 of them its own",
    ]


def test_a_window_comes_out_once_where_no_element_was_late_for_it():
    twice = [("a", 0, 3, 4), ("a", 0, 3, 5), ("b", 0, 1, 4)]
    assert _said(counting.comes_out_once, _counted(WINDOWS, *twice)) == [
        "the window from 0 of key a came out 2 times",
        True,
    ]
    late = [*WINDOWS[:5], [("late", "a", 9_999)], 90_000]
    assert _said(counting.comes_out_once, _counted(late, *twice)) == [True]
    at_last = [*WINDOWS[:4], 9_999, [("in time", "a", 9_999)], 90_000]
    assert len(_said(counting.comes_out_once, _counted(at_last, *twice))) == 2


def test_a_window_comes_out_from_the_advance_on_that_reaches_its_end():
    given = [("a", 0, 1, 2), ("a", 0, 1, 3), ("a", 0, 1, 4), ("a", 0, 1, 5)]
    assert _said(counting.not_before_its_end, _counted(WINDOWS, *given)) == [
        *["the window from 0 of key a came out at the watermark 5000"] * 2,
        True,
        True,
    ]


def test_the_last_count_of_a_window_is_of_the_first_advance_that_reaches_its_end():
    predicate = counting.in_the_first_advance_that_reaches_its_end
    said = "the window from 0 of key a is due in step 4, its last count is of "
    for steps, found in [([4], True), ([1, 4], True), ([4, 5], f"{said}5"), ([3], f"{said}3")]:
        assert _said(predicate, _counted(WINDOWS, *(("a", 0, 1, step) for step in steps))) == [found]
    assert _said(predicate, _counted([1_000, [("e1", "a", 2_000)], 90_000], ("a", 0, 1, 1))) == []
    assert _said(predicate, _counted([1_000, [("e1", "a", 2_000)], 9_000, 90_000], ("a", 0, 1, 3))) == [True]


def test_a_late_element_does_not_bring_its_window_out_again():
    predicate, late = counting.late_elements_do_not_bring_it_out_again, [*WINDOWS[:5], [("late", "a", 9_999)], 90_000]
    assert _said(predicate, _counted(WINDOWS, ("a", 0, 1, 4), ("a", 0, 1, 5))) == []
    assert _said(predicate, _counted(late, ("a", 0, 3, 4), ("a", 10_000, 1, 6), ("b", 0, 1, 6))) == [True]
    for step in (5, 6):
        assert _said(predicate, _counted(late, ("a", 0, 3, 4), ("a", 0, 1, step))) == [
            f"late came after the window from 0 of key a, which came out in step {step}"
        ]
    assert _said(predicate, _run([*WINDOWS[:4], 9_999, [("in time", "a", 9_999)], 90_000])) == []
    coalesced = [*WINDOWS[:4], Advance(0, 10_000, coalesced=True), [("not settled", "a", 9_999)], 90_000]
    assert _said(predicate, _run(coalesced)) == []


def test_windows_of_a_key_that_one_step_ends_come_out_in_order():
    given = [("a", 20, 1, 2), ("a", 10, 1, 2), ("b", 0, 1, 2), ("a", 0, 1, 3), ("b", 30, 1, 4), ("b", 40, 1, 4)]
    assert _said(counting.come_out_in_order, _counted(WINDOWS, *given)) == [
        "in step 2 the windows of key a came out as [20, 10]",
        True,
    ]


# Batching per key


def _batched(steps, *given):
    """What came out are (key, ids, step)."""
    return _run(steps, *((key, {"batch": ids.split()}, step) for key, ids, step in given))


BATCHED = [
    1_000,
    [("e1", "a", 2_000), ("e2", "a", 2_000), ("e3", "b", 2_000)],
    [("e4", "a", 2_000), ("e5", "a", 12_000)],
    10_000,
    90_000,
]


def test_an_on_time_element_is_in_one_batch():
    steps = [1_000, [("e1", "a", 2_000), ("e2", "a", 2_000), ("e3", "a", 2_000), ("behind", "a", 500)], 90_000]
    assert _said(batching.in_exactly_one_batch, _batched(steps, ("a", "e1 e2", 1), ("a", "e2", 2))) == [
        True,
        "e2 is in batches 2 times",
        "e3 is in batches 0 times",
    ]


def test_a_batch_has_the_size_at_most():
    given = [("a", "e1 e2 e4", 2), ("a", "e1 e2 e4 e5", 2), ("a", "e1", 3)]
    assert _said(batching.not_larger_than_the_size, _batched(BATCHED, *given)) == [
        True,
        "e1, e2, e4, e5 are one batch, the size is 3",
        True,
    ]


def test_a_full_batch_is_of_the_step_of_its_last_element():
    said = "the batch of e1, e2, e4 was full in step 2 and came out in step "
    given = [("a", "e1 e2 e4", 1), ("a", "e1 e2 e4", 2), ("a", "e1 e2 e4", 3), ("a", "e5", 4)]
    assert _said(batching.a_full_batch_comes_out_at_once, _batched(BATCHED, *given)) == [f"{said}1", True, f"{said}3"]


def test_the_rest_is_of_the_step_that_ends_its_window():
    predicate = batching.the_rest_comes_out_at_the_end
    said = "the window of e1, e2 ends in step 3, they came out in step "
    given = [("a", "e1 e2", step) for step in (2, 3, 4)] + [("a", "e1 e2 e4", 2), ("a", "e5", 4)]
    assert _said(predicate, _batched(BATCHED, *given)) == [f"{said}2", True, f"{said}4", True]
    assert _said(predicate, _batched([1_000, [("e1", "a", 2_000)], 90_000], ("a", "e1", 1))) == []
    late = [*BATCHED[:4], [("late", "a", 2_000)], 90_000]
    assert _said(predicate, _batched(late, ("a", "late", 4), ("a", "e1 late", 4))) == []


def test_a_window_leaves_one_rest():
    given = [("a", "e1", 3), ("a", "e2", 3), ("a", "e5", 4), ("b", "e3", 3)]
    assert _said(batching.one_rest_in_a_window, _batched(BATCHED, *given)) == [
        "2 batches of key a in the window from 0 are not full",
        True,
        True,
    ]
    assert _said(batching.one_rest_in_a_window, _batched(BATCHED, ("a", "e1 e2 e4", 2), ("a", "e1", 3))) == [True]


def test_a_batch_is_in_the_order_of_arrival():
    given = [("a", "e1 e2 e4", 2), ("a", "e2 e1", 3), ("a", "e5", 4), ("a", "e4 e2", 3)]
    assert _said(batching.in_order_of_arrival, _batched(BATCHED, *given)) == [
        True,
        "the batch of e2, e1 is not in the order of their arrival",
        "the batch of e4, e2 is not in the order of their arrival",
    ]


def test_a_batch_is_of_one_key_and_window():
    given = [("a", "e1 e3", 2), ("a", "e1 e5", 3), ("b", "e3", 3), ("a", "e5", 4)]
    run = _batched(BATCHED, *given)
    assert _said(batching.keys_do_not_share_a_batch, run) == [
        "the batch of e1, e3 is of key a, and e3 is not",
        True,
        True,
        True,
    ]
    assert _said(batching.windows_do_not_share_a_batch, run) == [
        True,
        "e1, e5 are one batch, their windows are from [0, 10000]",
        True,
    ]
    one = [1_000, [("e1", "a", 2_000)], 90_000]
    assert _said(batching.keys_do_not_share_a_batch, _batched(one, ("a", "e1", 2))) == []
    assert _said(batching.windows_do_not_share_a_batch, _batched(one, ("a", "e1", 2))) == []


def test_an_element_past_its_window_is_in_no_batch():
    steps = [*BATCHED[:4], [("late", "b", 9_999), ("open", "a", 10_000)], 90_000]
    assert _said(batching.late_elements_are_in_no_batch, _batched(steps, ("a", "open", 4))) == [True]
    assert _said(batching.late_elements_are_in_no_batch, _batched(steps, ("b", "late", 4))) == [
        "late is in a batch, its window ended at 10000"
    ]


# Anomaly detection

READINGS = [
    1_000,
    [("e1", "a", 2_000, 10), ("e2", "a", 2_000, 12)],
    [("e3", "a", 2_000, 40), ("e4", "b", 2_000, 40)],
    90_000,
]


def _predicted(*given):
    """What came out are (key, id, whether it is an anomaly)."""
    return _run(READINGS, *((key, {"id": name, "anomaly": anomaly}, 1) for key, name, anomaly in given))


def test_predictions_follow_the_readings():
    predicate = anomalies.follows_the_readings
    assert _said(predicate, _predicted(("a", "e1", False), ("a", "e3", True), ("b", "e4", False))) == [True, True]
    assert _said(predicate, _predicted(("a", "e1", False), ("b", "e4", False))) == [
        "the readings of key a ask for the predictions [('e1', False), ('e3', True)], it gave [('e1', False)]",
        True,
    ]


def test_a_sensor_gives_its_first_prediction_at_once_and_without_those_of_others():
    first, own = anomalies.the_first_reading_gives_a_prediction, anomalies.sensors_do_not_share_a_model
    good = _predicted(("a", "e2", False), ("b", "e4", False))
    assert (_said(first, good), _said(own, good)) == ([True, True], [True])  # the first bundle of a has two readings
    shared = _predicted(("a", "e3", False), ("b", "e4", True))
    assert _said(first, shared)[0].startswith(
        "the first bundle of key a has e1, e2, its first prediction is {'id': 'e3'"
    )
    assert _said(own, shared) == ["the first prediction of key b is that of an anomaly"]
    assert _said(first, _predicted(("a", "e1", False)))[1].endswith("e4, its first prediction is []")
    assert _said(own, _run([1_000, [("e1", "a", 2_000, 10)], 90_000], ("a", {"id": "e1", "anomaly": True}, 1))) == []


def test_a_prediction_that_has_not_changed_is_named():
    run = _predicted(("a", "e1", False), ("a", "e2", False), ("a", "e3", True), ("b", "e4", False))
    assert _said(anomalies.only_when_it_changed, run) == [
        "e1 and after it e2 of key a both gave the prediction False",
        True,
    ]


def test_the_last_report_counts():
    reports = [("a", {"total": total, "number": number}, 3) for total, number in [(10, 1), (62, 3)]]
    said = _said(anomalies.the_last_report_has_all_readings, _run(READINGS, *reports))
    assert said == [True, "the readings of key b are [40], its last report is []"]
    said = _said(anomalies.the_last_report_has_all_readings, _run(READINGS, *reversed(reports)))
    assert said[0].startswith("the readings of key a are [10, 12, 40], its last report is [{'total': 10")


# Login alerts

LOGINS = [
    1_000,
    [("e1", "a", 2_000, 0), ("e2", "a", 6_000, 1), ("e3", "a", 3_000, 3), ("e4", "a", 9_000, 1)],
    90_000,
]


def _checked(*given):
    """What came out are (id, whether it raised an alert, the ids that are kept after it)."""
    rows = [({"login": name, "alert": alert}, {"kept": kept.split()}) for name, alert, kept in given]
    return _run(LOGINS, *(("a", value, 1) for row in rows for value in row))


def test_logins_are_checked_against_the_one_before_them_in_event_time():
    """e2 is just within reach of e1, and out of reach from e3 once that one is known; e4 is at the place of e2."""
    jump, reach = logins.a_jump_raises_an_alert, logins.within_reach_raises_no_alert
    taken = [("e1", False, "e1"), ("e2", False, "e1 e2"), ("e3", True, "e1 e3 e2"), ("e4", False, "e3 e2 e4")]
    assert (_said(jump, _checked(*taken)), _said(reach, _checked(*taken))) == ([True], [True] * 3)
    wrong = _checked(*((name, not alert, kept) for name, alert, kept in taken))
    known = "the logins kept: e1 (0 km, at 2000), e2 (1 km, at 6000)"
    assert _said(jump, wrong) == [f"e3 (3 km, at 3000) raised no alert; {known}"]
    assert _said(reach, wrong)[0] == "e1 (0 km, at 2000) raised an alert; the logins kept: none"
    in_time = _checked(("e1", False, "e1"), ("e3", True, "e1 e3"), ("e2", True, "e1 e3 e2"))
    assert (_said(jump, in_time), _said(reach, in_time)) == ([True, True], [True])


def test_the_newest_logins_are_kept_and_no_more():
    taken = [("e1", False, "e1"), ("e2", False, "e2"), ("e3", True, "e1 e3 e2"), ("e4", False, "e1 e3 e2 e4")]
    assert _said(logins.the_newest_are_kept, _checked(*taken)) == [
        True,
        "after e2 the newest logins are ['e1', 'e2'], kept are ['e2']",
        True,
        "after e4 the newest logins are ['e3', 'e2', 'e4'], kept are ['e1', 'e3', 'e2', 'e4']",
    ]
    assert _said(logins.no_more_are_kept, _checked(*taken)) == [
        *[True] * 3,
        "of key a e1, e3, e2, e4 are kept, the most is 3",
    ]


def test_a_login_is_checked_once():
    run = _checked(("e1", False, "e1"), ("e2", False, "e1 e2"), ("e2", False, "e2 e2"), ("e4", False, "e4"))
    assert _said(logins.every_login_is_checked_once, run) == [
        True,
        "e2 was checked 2 times",
        "e3 was checked 0 times",
        True,
    ]


# Rate limit

CALLS = [
    1_000,
    [("e1", "a", 2_000), ("e2", "a", 2_000), ("e3", "a", 2_000), ("next", "a", 12_000), ("other", "b", 2_000)],
    90_000,
]


def _answered(allowed="", refused=""):
    """What came out: the ids of calls that were allowed, then those of calls that were refused."""
    keys = {event[0]: event[1] for event in CALLS[1]}
    given = [(name, True) for name in allowed.split()] + [(name, False) for name in refused.split()]
    return _run(CALLS, *((keys[name], {"call": name, "allowed": answer}, 1) for name, answer in given))


def test_a_window_allows_as_many_calls_as_its_limit_and_the_first_ones():
    most, first = rate.no_more_than_the_limit, rate.the_first_are_allowed
    good, others = _answered("e1 e2 next other", "e3"), _answered("e1 e3", "e2")
    assert (_said(most, good), _said(first, good)) == ([True], [True, True])
    assert _said(first, others) == [True, "e2 is among the first 2 of its window and was answered False"]
    assert _said(most, _answered("e1 e2 e3")) == ["3 calls of key a were allowed in the window from 0"]
    assert _said(first, _answered("e2")) == []  # that e1 has no answer is another guarantee's business


def test_a_call_is_answered_once():
    assert _said(rate.every_call_gets_one_answer, _answered("e1 e2 next", "e3 e3")) == [
        True,
        True,
        "e3 got 2 answers",
        True,
        "other got 0 answers",
    ]


def test_a_quota_is_used_up_by_calls_that_were_allowed_before():
    predicate = rate.refused_when_the_quota_is_used_up
    assert _said(predicate, _answered("e1 e2 next other", "e3")) == [True] * 3
    assert _said(predicate, _answered("e1", "e2 e3 other")) == [
        "a call of key a in the window from 0 was refused after 1 that were allowed",
        "a call of key b in the window from 0 was refused after 0 that were allowed",
    ]


def test_a_shared_quota_shows_where_there_are_several_windows_or_users():
    windows, users = rate.the_quota_starts_anew, rate.users_do_not_share_a_quota
    good, bad = _answered("e1 e2 next other", "e3"), _answered("e1 e2", "e3 next other")
    assert (_said(windows, good), _said(users, good)) == ([True, True], [True, True])
    assert _said(windows, bad) == [
        True,
        "0 of 1 calls of key a were allowed in the window from 10000, beside other windows",
    ]
    assert _said(users, bad) == [True, "0 of 1 calls of key b were allowed in the window from 0, beside other users"]


# Click trail

CLICKS = [1_000, [("e1", "a", 3_000), ("e2", "a", 2_000), ("e3", "a", 13_000), ("e4", "b", 2_500)], 13_000, 90_000]


def _trails(*given, steps=CLICKS):
    """What came out are (key, ids, step)."""
    return _run(steps, *((key, {"trail": ids.split()}, step) for key, ids, step in given))


TRAILS = [("a", "e2 e1", 2), ("a", "e3", 3), ("b", "e4", 2)]


def test_trails_as_they_are_to_be_break_nothing():
    said = {
        predicate: _said(predicate, _trails(*TRAILS))
        for predicate in (
            clicks.in_one_trail,
            clicks.in_order_of_event_time,
            clicks.no_gap_within_a_trail,
            clicks.closer_than_the_gap_share_a_trail,
            clicks.comes_out_when_the_session_has_ended,
            clicks.users_do_not_share_a_trail,
        )
    }
    assert list(map(len, said.values())) == [4, 1, 1, 1, 3, 3]
    assert {finding for findings in said.values() for finding in findings} == {True}


def test_what_is_wrong_with_a_trail_is_named():
    one = _trails(("a", "e1 e2 e3 e4", 2), ("b", "e4", 2))
    assert _said(clicks.in_one_trail, one) == [True, True, True, "e4 is in trails 2 times"]
    assert _said(clicks.in_order_of_event_time, one) == [
        "the trail e1, e2, e3, e4 has the times [3000, 2000, 13000, 2500]"
    ]
    assert _said(clicks.no_gap_within_a_trail, one)[-1] == (
        "e1 and e3, next to each other in a trail, are 10000 ms apart"
    )
    assert _said(clicks.users_do_not_share_a_trail, one) == [
        "the trail e1, e2, e3, e4 is of key a, and e4 is not",
        True,
    ]
    apart = _trails(("a", "e1", 2), ("a", "e2", 3))
    assert _said(clicks.closer_than_the_gap_share_a_trail, apart) == ["e2 and e1, 1000 ms apart, share no trail"]
    assert _said(clicks.closer_than_the_gap_share_a_trail, _trails()) == ["e2 and e1, 1000 ms apart, share no trail"]
    assert _said(clicks.comes_out_when_the_session_has_ended, apart) == [
        True,
        "the trail e2 is due in step 2 and came out in step 3",
    ]
    once = [1_000, [("e1", "a", 2_000)], 90_000]
    assert _said(clicks.comes_out_when_the_session_has_ended, _trails(("a", "e1", 1), steps=once)) == []
    assert _said(clicks.users_do_not_share_a_trail, _trails(("a", "e1", 2), steps=once)) == []


# Event-time ordering

HELD = [1_000, [("e1", "a", 3_000), ("e2", "a", 2_000), ("e3", "a", 3_000)], 2_000, 90_000]


def _sorted(*given):
    """What came out are (id, step)."""
    return _run(HELD, *(("a", {"id": name}, step) for name, step in given))


ORDERINGS = (
    ordering.in_order_of_event_time,
    ordering.one_instant_in_order_of_ids,
    ordering.none_is_lost,
    ordering.none_comes_out_twice,
    ordering.not_before_the_watermark,
    ordering.in_the_first_advance_that_passes_it,
)


def test_elements_in_order_break_nothing():
    run = _sorted(("e2", 2), ("e1", 3), ("e3", 3))
    assert [_said(predicate, run) for predicate in ORDERINGS] == [[True] * n for n in (2, 1, 3, 3, 3, 3)]


def test_elements_out_of_order_are_named():
    run = _sorted(("e3", 2), ("e1", 3), ("e2", 3), ("e2", 3))
    assert _said(ordering.in_order_of_event_time, run)[1] == "e2 of key a, 1000 ms before e1, came out after it"
    assert _said(ordering.one_instant_in_order_of_ids, run) == [
        "e1 of key a came out after e3, which is of its time",
        True,
    ]
    assert _said(ordering.none_comes_out_twice, run) == [True, "e2 came out 2 times", True]
    assert _said(ordering.none_is_lost, _sorted(("e2", 2))) == ["e1 did not come out", True, "e3 did not come out"]
    assert _said(ordering.not_before_the_watermark, run)[0] == "e3, of 3000, came out at the watermark 2000"
    assert _said(ordering.in_the_first_advance_that_passes_it, run) == [
        "e3 is due in step 3 and came out in step 2",
        True,
        *["e2 is due in step 2 and came out in step 3"] * 2,
    ]


# Stream join

ROWS = [
    1_000,
    [
        ("l1", "a", 2_000, "left"),
        ("r1", "a", 12_000, "right"),
        ("r2", "a", 12_001, "right"),
        ("l2", "b", 2_500, "left"),
    ],
    12_500,
    90_000,
]


def _joined(*given):
    """What came out are (left id, right id or None, step)."""
    return _run(ROWS, *(("b" if left == "l2" else "a", {"left": left, "right": right}, n) for left, right, n in given))


def test_pairs_come_out_once_and_within_the_bounds():
    good = _joined(("l1", "r1", 1))
    bad = _joined(("l1", "r2", 1), ("l2", "r1", 1), ("l1", "r2", 1))
    for predicate, found, said in [
        (joins.each_matching_pair_comes_out, 1, "l1 and r1, 10000 ms after it, did not come out as a pair"),
        (joins.a_pair_at_the_bound_comes_out, 1, "l1 and r1, exactly 10000 ms after it, did not come out as a pair"),
        (joins.no_pair_comes_out_twice, 1, "the pair of l1 and r2 came out 2 times"),
        (joins.no_pair_outside_of_the_bounds, 1, "l1 and r2, 10001 ms after it, came out as a pair"),
        (joins.keys_are_not_joined, 1, "l2 of key b and r1 of key a came out as a pair"),
        (joins.what_matches_nothing_does_not_come_out, 2, "r2 matches nothing and came out"),
    ]:
        assert _said(predicate, good) == [True] * found
        assert said in _said(predicate, bad)


def test_left_rows_come_out_unmatched_where_they_match_nothing():
    good = _joined(("l1", "r1", 1), ("l2", None, 2))
    bad = _joined(("l2", None, 1), ("l1", None, 2), ("l2", None, 3))
    for predicate, said in [
        (joins.unmatched_once(joins.LEFT), ["l2 matches nothing and was put out as unmatched 2 times"]),
        (joins.matched_is_never_unmatched(joins.LEFT), ["l1 has a partner and was put out as unmatched"]),
        (
            joins.unmatched_in_the_first_advance_that_reaches_the_bound(joins.LEFT),
            [f"l2 is due in step 2 and was put out as unmatched in step {n}" for n in (1, 3)],
        ),
    ]:
        assert (_said(predicate, good), _said(predicate, bad)) == ([True], said)
    early = joins.not_unmatched_before_the_bound(joins.LEFT)
    assert _said(early, good) == [True]
    assert _said(early, bad) == [True, "a partner of l2 may come until 12500; at 1000 it was unmatched", True]
    assert _said(joins.unmatched_once(joins.LEFT), _joined()) == [
        "l2 matches nothing and was put out as unmatched 0 times"
    ]


def test_right_rows_come_out_unmatched_of_a_right_join():
    """The last partner of a right row has its event time."""
    once, early = joins.unmatched_once(joins.RIGHT), joins.not_unmatched_before_the_bound(joins.RIGHT)
    assert _said(once, _joined((None, "r2", 2))) == [True]
    assert _said(once, _joined()) == ["r2 matches nothing and was put out as unmatched 0 times"]
    assert _said(early, _joined((None, "r2", 2))) == [True]
    assert _said(early, _joined((None, "r2", 1))) == ["a partner of r2 may come until 12001; at 1000 it was unmatched"]


def test_a_semi_join_puts_out_left_rows_with_a_partner_once():
    def out(*lefts):
        return _run(ROWS, *(("a", {"left": left}, 2) for left in lefts))

    matched, unmatched = joins.a_left_row_with_a_partner_comes_out_once, joins.a_left_row_without_a_partner_stays_in
    assert (_said(matched, out("l1")), _said(unmatched, out("l1"))) == ([True], [True])
    assert _said(matched, out("l1", "l1")) == ["l1 has a partner and came out 2 times"]
    assert _said(unmatched, out("l2")) == ["l2 has no partner and came out"]


# Dedup, then count

MESSAGES = [
    1_000,
    [("e1", "a", 2_000, "x"), ("e2", "a", 2_000, "x"), ("e3", "a", 2_000, "y"), ("e4", "b", 2_000, "x")],
    10_000,
    90_000,
]


def test_duplicates_are_not_counted_wherever_they_come():
    later = [*MESSAGES[:2], [("e5", "a", 2_000, "y")], *MESSAGES[2:]]
    here, there = (
        distinct.a_duplicate_in_the_same_bundle_is_not_counted,
        distinct.a_duplicate_in_a_later_bundle_is_not_counted,
    )
    every, others = distinct.every_message_is_counted, distinct.keys_do_not_drop_each_others_messages
    good = [("a", 0, 2, 2), ("b", 0, 1, 2)]
    assert [_said(p, _counted(MESSAGES, *good)) for p in (here, there, every, others)] == [
        [True],
        [],
        [True] * 2,
        [True] * 2,
    ]
    assert [_said(p, _counted(later, *good)) for p in (here, there)] == [[], [True]]
    many, few = _counted(MESSAGES, ("a", 0, 3, 2)), _counted(MESSAGES, ("a", 0, 1, 2), ("b", 0, 1, 2))
    assert _said(here, many) == ["the window from 0 of key a had 2 messages, 3 with duplicates, and counted 3"]
    assert _said(every, many)[1] == "the window from 0 of key b had 1 messages and counted 0"
    assert _said(others, few)[0] == (
        "the window from 0 of key a had 2 messages, another key had some of them, and counted 1"
    )
    assert _said(there, _counted(later, ("a", 0, 4, 3)))[0].endswith("4 with duplicates, and counted 4")


# Sliding windows

SLIDING = [1_000, [("e1", "a", 2_000), ("e2", "a", 6_000)], 5_000, 10_000, 90_000]


def test_an_element_is_covered_by_two_windows():
    assert list(sliding.starts(5_000)) == list(sliding.starts(9_999)) == [0, 5_000]
    good = _counted(SLIDING, ("a", -5_000, 1, 2), ("a", 0, 2, 3), ("a", 5_000, 1, 4))
    bad = _counted(SLIDING, ("a", 0, 3, 2), ("a", 5_000, 0, 4), ("a", 5_000, 0, 4), ("a", 10_000, 1, 4))
    for predicate, said in [
        (sliding.counts_in_each_window, "the window from -5000 of key a covers 1 on-time elements and counted 0"),
        (sliding.counts_no_more, "the window from 0 of key a covers 2 elements and counted 3"),
        (sliding.comes_out_once, "the window from 5000 of key a came out 2 times"),
        (sliding.not_before_its_end, "the window from 0 of key a came out at the watermark 5000"),
        (
            sliding.in_the_first_advance_that_reaches_its_end,
            "the window from 0 of key a is due in step 3 and came out in step 2",
        ),
        (sliding.empty_windows_do_not_come_out, "the window from 10000 of key a covers nothing and came out"),
    ]:
        assert _said(predicate, good) == [True] * 3
        assert said in _said(predicate, bad)


def test_a_sliding_window_that_an_element_was_late_for_may_come_out_again():
    late = [*SLIDING[:3], [("late", "a", 4_000)], *SLIDING[3:]]
    again = _counted(late, ("a", -5_000, 1, 2), ("a", -5_000, 1, 3), ("a", 0, 3, 4), ("a", 5_000, 1, 5))
    assert _said(sliding.comes_out_once, again) == [True]
    assert _said(sliding.counts_in_each_window, again) == [True] * 3

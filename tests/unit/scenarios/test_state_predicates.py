"""What the predicates about state and timers take for their occasion, and what they say: on traces written by hand."""

import pytest
from handmade import run as _run
from handmade import said as _said

from conformance.model.scenario import Domain
from conformance.model.values import spelled
from conformance.scenarios.state import state_isolation as isolation
from conformance.scenarios.stories import looping_timers as looping
from conformance.scenarios.time import timer_firing as firing


def test_a_key_tells_its_whole_story_where_each_of_its_elements_is_on_time_and_came_out():
    steps = [1_000, [("e1", "a", 2_000), ("e2", "b", 2_000), ("e3", "b", 2_000), ("e4", "c", 900)], 90_000]
    run = _run(steps, *((key, {"id": name}, 1) for key, name in [("a", "e1"), ("b", "e3"), ("c", "e4")]))
    assert {key: [e.value["id"] for e in found] for key, found in run.told.items()} == {"a": ["e1"]}


def test_a_key_is_spelled_so_that_nothing_looks_alike():
    assert [spelled(key) for key in ("a", "a-1", "", "a b", "é", "e\u0301", "a\n")] == [
        *("a", "a-1", "''", "'a b'", r"'\xe9'", r"'e\u0301'", r"'a\n'")
    ]
    assert spelled("k" * 49 + "l") == "'kkkkkkkkkk…kkkkkkkkkl' (50 characters)"


def test_a_family_of_names_names_all_keys_of_a_case():
    with pytest.raises(ValueError, match="a family of 2 names cannot name 3 keys"):
        Domain(offsets=(1,), names=(("a", "b", "b"),))


# State isolation


def _had(*found, of="id"):
    """(key of the element, key that it came out under, element, what was in its state)."""
    events = [(name, key, 2_000) for key, _, name, _ in found]
    return _run([1_000, events, 90_000], *((under, {of: name, "had": had}, 1) for _, under, name, had in found))


APART = [("a", "a", "e1", ["e1"]), ("b", "b", "e2", ["e2"])]
ALIKE = [("1", "1", "e1", ["e1"]), ("1.0", "1.0", "e2", ["e1", "e2"])]
LONG = [(key, key, name, ["e1", "e2"]) for key, name in [(isolation.LONG, "e1"), (f"{isolation.LONG}l", "e2")]]


def test_keys_that_look_alike_have_a_guarantee_of_their_own_and_so_have_long_ones():
    plain, alike, long = (
        isolation.a_key_sees_only_its_own,
        isolation.keys_that_look_alike_are_kept_apart,
        isolation.long_keys_are_kept_apart,
    )
    assert [_said(predicate, _had(*APART)) for predicate in (plain, alike, long)] == [[True, True], [], []]
    shared = _had(APART[0], ("b", "b", "e2", ["e1", "e2"]))
    assert _said(plain, shared) == [True, "e2 of key b found an element of key a in its state"]
    assert [_said(predicate, _had(*ALIKE)) for predicate in (plain, long)] == [[], []]
    assert _said(alike, _had(*ALIKE)) == [True, "e2 of key 1.0 found an element of key 1 in its state"]
    assert _said(alike, _had(*LONG)) == []
    assert _said(long, _had(*LONG))[0] == (
        "e1 of key 'kkkkkkkkkk…kkkkkkkkkk' (5000 characters) found an element of key 'kkkkkkkkkk…kkkkkkkkkl' (5001 "
        "characters) in its state"
    )


def test_a_key_finds_what_came_before():
    good = _had(("a", "a", "e1", ["e1"]), ("a", "a", "e2", ["e1", "e2"]))
    assert _said(isolation.a_key_sees_all_of_its_own, good) == [True]
    bad = _had(("a", "a", "e1", ["e1"]), ("a", "a", "e2", ["e2"]))
    assert _said(isolation.a_key_sees_all_of_its_own, bad) == [
        "e2 of key a did not find e1 in its state, which came before it"
    ]


def test_the_empty_key_comes_out_with_its_own_elements():
    assert _said(isolation.an_empty_key_is_a_key, _had(("", "", "e1", ["e1"]))) == [True, True]
    assert _said(isolation.an_empty_key_is_a_key, _had(*APART)) == []
    assert _said(isolation.an_empty_key_is_a_key, _had(("", "null", "e1", ["e1"]))) == [
        "e1 of the empty key did not come out under it"
    ]
    shared = _had(APART[0], ("", "", "e2", ["e1", "e2"]))
    assert _said(isolation.an_empty_key_is_a_key, shared) == [
        True,
        "e2 of the empty key found elements of other keys",
    ]


def test_a_key_that_comes_back_as_another_is_named():
    assert _said(isolation.a_key_comes_back_as_it_went_in, _had(*APART)) == [True, True]
    assert _said(isolation.a_key_comes_back_as_it_went_in, _had(("e\u0301", "é", "e1", ["e1"]))) == [
        r"e1 of key 'e\u0301' came out under key '\xe9'"
    ]


def test_windows_are_told_by_the_times_of_elements():
    def windows(*had):
        events = [("e1", "a", 9_999), ("e2", "a", 10_000), ("e3", "b", 10_000)]
        return _run([1_000, events, 90_000], *(("a", {"id": "e2", "had": list(had)}, 1),))

    assert _said(isolation.a_window_sees_only_its_own, windows("e2")) == [True]
    assert _said(isolation.a_window_sees_only_its_own, windows("e1", "e2")) == [
        "e2 of the window from 10000 found e1, of the window from 0"
    ]


def test_a_timer_has_the_key_and_the_state_of_the_element_that_set_it():
    assert _said(isolation.a_timer_has_the_state_of_its_key, _had(*APART, of="fired")) == [True, True]
    shared = _had(APART[0], ("b", "b", "e2", ["e1"]), of="fired")
    assert _said(isolation.a_timer_has_the_state_of_its_key, shared) == [
        True,
        "the timer that e2 of key b set found an element of key a",
    ]
    other = _had(APART[0], ("b", "a", "e2", ["e2"]), of="fired")
    assert _said(isolation.a_timer_has_the_state_of_its_key, other) == [
        True,
        "the timer that e2 of key b set fired under key a",
    ]


# Timer firing


def _fired(*fired, value="once", key="a", steps=(5_000, 90_000), events=None):
    """A run of events with ``value``, e1 at 2 s, whose timers fired: (tag, time, step)."""
    events = events or [("e1", key, 2_000, value)]
    out = [(e[1], {"id": e[0], "deleted": None}, 1) for e in events]
    out += [(key, {"fired": tag, "time": time, "events": ["e1"]}, step) for tag, time, step in fired]
    return _run([1_000, events, *steps], *out)


def test_a_timer_that_did_not_fire_without_new_data_is_named():
    assert _said(firing.fires_without_new_data, _fired(("e1", 6_000, 3))) == [True]
    assert _said(firing.fires_without_new_data, _fired()) == [
        "the timer of e1 for 6000 did not fire; no data of key a came after it"
    ]
    later = _run([1_000, [("e1", "a", 2_000, "once")], 5_000, [("e2", "a", 6_000, "long ago")], 90_000])
    assert _said(firing.fires_without_new_data, later) == []


def test_timers_of_one_advance_are_held_against_their_times():
    events = [("e1", "a", 2_000, "once"), ("e2", "a", 1_500, "once")]
    in_order = [("e2", 5_500, 3), ("e1", 6_000, 3)]
    assert _said(firing.in_order_of_time, _fired(*in_order, events=events)) == [True]
    assert _said(firing.in_order_of_time, _fired(*in_order[::-1], events=events)) == [
        "the timers of key a that fired in step 3 are for [6000, 5500]"
    ]
    apart = _fired(("e2", 5_500, 2), ("e1", 6_000, 3), events=events)
    assert _said(firing.in_order_of_time, apart) == []


def test_each_of_two_timers_of_one_instant_fires_once():
    both = [("e1/1", 6_000, 3), ("e1/2", 6_000, 3)]
    assert _said(firing.of_one_instant_all_fire, _fired(*both, value="two at once")) == [True]
    assert _said(firing.of_one_instant_all_fire, _fired(both[0], value="two at once")) == [
        "of two timers that e1 set for one instant fired [1, 0]"
    ]


def test_a_timer_for_a_time_that_has_passed_fires_once_and_by_the_next_advance():
    past = -98_000
    for fired, once, soon in [
        ([("e1", past, 1)], True, [True]),
        ([("e1", past, 2)], True, [True]),
        ([], "the timer of e1, for 100000 ms before it, fired 0 times", []),
        (
            [("e1", past, 3)],
            True,
            ["the timer of e1, for 100000 ms before it, fired in step 3, after step 2"],
        ),
    ]:
        run = _fired(*fired, value="long ago")
        assert _said(firing.passed_fires_once, run) == [once]
        assert _said(firing.passed_fires_by_the_next_advance, run) == soon


def test_the_next_advance_is_that_after_an_element_which_was_held_back():
    events = [("e1", "a", 2_000, "long ago")]
    held = [("a", {"id": "e1", "deleted": None}, 2), ("a", {"fired": "e1", "time": -98_000, "events": []}, 3)]
    assert _said(firing.passed_fires_by_the_next_advance, _run([1_000, events, 5_000, 6_000, 90_000], *held)) == [True]


def test_a_timer_at_the_watermark_is_one_that_was_set_when_it_stood_there():
    events = [("e1", "a", 1_001, "just before"), ("e2", "a", 1_002, "just before")]
    assert _said(firing.at_the_watermark_fires, _fired(("e1", 1_000, 1), events=events)) == [True]
    assert _said(firing.at_the_watermark_fires, _fired(events=events)) == [
        "the timer of e1, set at the watermark for that time, fired 0 times"
    ]


def test_the_advance_that_stops_at_a_timers_time_is_asked_about():
    stops = (6_000, 7_000, 90_000)
    assert _said(firing.reached_exactly_fires, _fired(("e1", 6_000, 2), steps=stops)) == [True]
    assert _said(firing.reached_exactly_fires, _fired(("e1", 6_000, 3), steps=stops)) == [
        "the watermark came to 6000 in step 2, the timer of e1 for it fired in step 3"
    ]
    assert _said(firing.reached_exactly_fires, _fired(("e1", 6_000, 3), steps=(6_001, 7_000, 90_000))) == []


def test_a_shared_timer_fires_once_for_each_key_that_set_it():
    twice = [("e1", "a", 2_000, "end of the hour"), ("e2", "a", 3_000, "end of the hour")]
    once = ("hour", 20_000, 3)
    assert _said(firing.set_again_fires_once, _fired(once, events=twice)) == [True]
    assert _said(firing.keys_have_timers_of_their_own, _fired(once, events=twice)) == []
    assert _said(firing.set_again_fires_once, _fired(once, once, events=twice)) == [
        "the timer of key a that was set 2 times for 20000 fired 2 times"
    ]
    moved = [twice[0], ("e2", "a", 20_000, "end of the hour")]
    assert _said(firing.set_again_fires_once, _fired(events=moved)) == []
    two_keys = [twice[0], ("e2", "b", 3_000, "end of the hour")]
    assert _said(firing.keys_have_timers_of_their_own, _fired(once, events=two_keys)) == [
        True,
        "the timer of key b for 20000, whose tag other keys use too, fired 0 times",
    ]


def test_a_deleted_timer_is_looked_for_after_its_deletion_and_the_others_as_well():
    events = [("e1", "a", 2_000, "two, one deleted")]
    kept = ("a", {"fired": "e1/kept", "time": 6_000, "events": []}, 2)
    deleted = ("a", {"fired": "e1/deleted", "time": 6_001, "events": []}, 2)
    told = ("a", {"id": "e1", "deleted": "e1/deleted"}, 1)
    good, bad = _run([1_000, events, 90_000], told, kept), _run([1_000, events, 90_000], told, deleted)
    assert _said(firing.deleted_does_not_fire, good) == _said(firing.deleting_leaves_the_others, good) == [True]
    assert _said(firing.deleted_does_not_fire, bad) == [
        "the timer e1/deleted of key a fired in step 2, e1 had deleted it"
    ]
    assert _said(firing.deleting_leaves_the_others, bad) == [
        "e1 deleted one of two timers, and the other fired 0 times"
    ]


def test_what_was_due_when_it_was_deleted_is_not_asked_about():
    steps = [1_000, [("e1", "a", 2_000, "once")], 6_000, [("e2", "a", 7_000, "delete the last")], 90_000]
    out = [("a", {"id": "e1", "deleted": None}, 1), ("a", {"id": "e2", "deleted": "e1"}, 3)]
    late = ("a", {"fired": "e1", "time": 6_000, "events": []}, 4)
    assert _said(firing.deleted_does_not_fire, _run(steps, *out, late)) == []


def test_a_callback_is_held_against_the_events_that_came_out_before_it():
    assert _said(firing.callbacks_see_the_state, _fired(("e1", 6_000, 3))) == [True]
    two = [("e1", "a", 2_000, "once"), ("e2", "a", 2_000, "once")]
    assert _said(firing.callbacks_see_the_state, _fired(("e1", 6_000, 3), events=two)) == [
        "the timer e1 of key a found the events ['e1'], not ['e1', 'e2']"
    ]


def test_a_timer_in_the_middle_of_a_bundle_is_named_with_the_element_that_it_was_before():
    events = [("e1", "a", 2_000, "long ago"), ("e2", "a", 2_000, "once")]
    one, two = (("a", {"id": name, "deleted": None}, 1) for name in ("e1", "e2"))
    fired = ("a", {"fired": "e1", "time": -98_000, "events": ["e1"]}, 1)
    assert _said(firing.not_within_a_bundle, _run([1_000, events, 90_000], one, two, fired)) == [True]
    assert _said(firing.not_within_a_bundle, _run([1_000, events, 90_000], one, fired, two)) == [
        "a timer of key a fired before e2, in the middle of step 1"
    ]
    assert _said(firing.not_within_a_bundle, _run([1_000, events[::-1], 90_000], two, one, fired)) == []


# Looping timers


def _loop(*emitted, steps=(1_000, [("e1", "a", 2_000)], 90_000)):
    return _run(list(steps), *(("a", value, step) for value, step in emitted))


START = ({"id": "e1", "starts": 2_000}, 1)
TICKS = [({"tick": 1, "time": 5_000}, 2), ({"tick": 2, "time": 8_000}, 2)]


def test_a_loop_is_followed_through_its_ticks():
    whole = _loop(START, *TICKS)
    for predicate in (looping.as_many_ticks_as_asked, looping.a_period_apart, looping.counted_in_state):
        assert _said(predicate, whole) == [True]
    assert _said(looping.no_tick_is_early, whole) == [True, True]
    assert _said(looping.one_advance_fires_all_that_are_due, whole) == [True]
    assert _said(looping.as_many_ticks_as_asked, _loop(START, TICKS[0])) == [
        "the loop of key a from 2000 ticked 1 times after its last event, not 2 times"
    ]
    assert _said(looping.a_period_apart, _loop(START, TICKS[0], ({"tick": 2, "time": 90_000}, 2))) == [
        "the ticks of the loop of key a from 2000 are for [5000, 90000]"
    ]
    assert _said(looping.counted_in_state, _loop(START, TICKS[0], TICKS[0])) == [
        "the ticks of the loop of key a from 2000 find themselves numbered [1, 1]"
    ]


def test_an_event_prolongs_the_loop_from_where_it_came():
    steps = (1_000, [("e1", "a", 2_000)], 5_000, [("e2", "a", 5_001)], 90_000)
    more = [TICKS[0], ({"id": "e2"}, 3), ({"tick": 2, "time": 8_000}, 4), ({"tick": 3, "time": 11_000}, 4)]
    assert _said(looping.as_many_ticks_as_asked, _loop(START, *more, steps=steps)) == [True]
    assert _said(looping.as_many_ticks_as_asked, _loop(START, *more[:-1], steps=steps)) == [
        "the loop of key a from 2000 ticked 1 times after its last event, not 2 times"
    ]


def test_a_tick_that_comes_early_or_an_advance_later_is_named():
    assert _said(looping.no_tick_is_early, _loop(START, ({"tick": 1, "time": 5_000}, 1))) == [
        "the tick of key a for 5000 came at the watermark 1000"
    ]
    steps = (1_000, [("e1", "a", 2_000)], 9_000, 90_000)
    late = _loop(START, TICKS[0], ({"tick": 2, "time": 8_000}, 3), steps=steps)
    (finding,) = _said(looping.one_advance_fires_all_that_are_due, late)
    assert finding.endswith("set one for 8000 in step 2, when that was due; it came in step 3")
    apart = _loop(START, TICKS[0], ({"tick": 2, "time": 8_000}, 3), steps=(*steps[:2], 5_000, 90_000))
    assert _said(looping.one_advance_fires_all_that_are_due, apart) == []


def test_the_next_event_after_the_last_tick_starts_a_loop():
    steps = (1_000, [("e1", "a", 2_000)], 9_000, [("e2", "a", 9_500)], 90_000)
    again, not_again = ({"id": "e2", "starts": 9_500}, 3), ({"id": "e2"}, 3)
    assert _said(looping.starts_again, _loop(START, *TICKS, again, steps=steps)) == [True]
    assert _said(looping.starts_again, _loop(START, *TICKS, not_again, steps=steps)) == [
        "e2 did not start the loop of key a again"
    ]
    assert _said(looping.starts_again, _loop(START, *TICKS[:1], not_again, steps=steps)) == []

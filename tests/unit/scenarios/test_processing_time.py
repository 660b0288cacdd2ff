"""Processing time and initial state: their steps, what drives them, and the predicates that look at them, on traces
written by hand."""

import json
from dataclasses import replace
from functools import partial

import pytest
from drawn import suite_of
from inprocess import InProcess

from conformance.execution.ask import Ask
from conformance.execution.packing import packs_of
from conformance.execution.process import Process
from conformance.generation.timelines import WAIT, waiting_timeline
from conformance.judgement.cell import Verdict
from conformance.judgement.verdict import not_expressible
from conformance.model.case import Case
from conformance.model.engine import EngineInfo, NotDriven, schedule_needs
from conformance.model.feature import Feature, unsupported
from conformance.model.program import Cell, InvalidProgram, Program
from conformance.model.scenario import Observation
from conformance.model.schedule import (
    SLACK,
    Advance,
    Deliver,
    Event,
    InvalidSchedule,
    Partitions,
    Schedule,
    Wait,
    renumbered,
)
from conformance.model.trace import Emission, Trace
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.scenarios.state import initial_state as initial
from conformance.scenarios.state import kinds_of_initial_state as kinds
from conformance.scenarios.state import state_ttl as ttl
from conformance.scenarios.time import current_time
from conformance.scenarios.time import processing_time_timers as timers
from conformance.scenarios.time import reminders_in_a_row as reminders

START = 1_000


def _schedule(*bundles, begin=()):
    """An advance, bundles of (id, value) of key a with a wait after each, and an advance; ``begin`` is initial
    state."""
    first = [Deliver(0, tuple(Event(name, "a", value, START) for name, value in begin), initial=True)] if begin else []
    steps = [*first, Advance(0, START)]
    for bundle in bundles:
        steps += [Deliver(0, tuple(Event(name, "a", value, START + 1) for name, value in bundle)), Wait(0, WAIT)]
    return renumbered([*steps, Advance(0, 90_000)])


def _run(schedule, *emitted):
    return Observation(Case("s", "p", schedule), Trace(tuple(Emission("a", *emission) for emission in emitted)))


# The steps


def test_a_wait_is_time_that_has_passed_in_it_and_later():
    schedule = _schedule([("e1", None)], [("e2", None)])
    assert schedule.elapsed == {0: 0, 1: 0, 2: WAIT, 3: WAIT, 4: 2 * WAIT, 5: 2 * WAIT}
    assert schedule.waits
    assert schedule_needs(schedule) >= {Feature.PROCESSING_TIME}
    assert not Schedule((Advance(0, 1), Advance(1, 2))).waits


def test_who_has_no_hold_on_processing_time_is_not_asked_about_it():
    """Every case of these guarantees has waits: it is unsupported, not merely never exercised."""
    can = load_engine("reference").capabilities
    features = can.features | {Feature.PROCESSING_TIME: unsupported("no clock, 1.0")}
    info = EngineInfo("clockless", "", replace(can, features=features), {})
    for scenario in (ttl.SCENARIO, timers.SCENARIO):
        for guarantee in scenario.guarantees:
            cell = not_expressible(scenario, guarantee, None, info)
            assert cell.verdict is Verdict.UNSUPPORTED
            assert "no clock, 1.0" in cell.reason


def test_bundles_with_a_wait_between_are_not_between_the_same_moves():
    schedule = _schedule([("e1", None)], [("e2", None)])
    assert schedule.intervals[1] < schedule.intervals[3]


def test_initial_state_and_waits_survive_their_file():
    schedule = _schedule([("e1", 1)], begin=[("e0", 10)])
    assert Schedule.from_json(json.loads(json.dumps(schedule.to_json()))) == schedule
    assert [event.id for event in schedule.initial] == ["e0"]
    assert schedule_needs(schedule) >= {Feature.INITIAL_STATE}
    assert Feature.SEVERAL_BUNDLES not in schedule_needs(schedule)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ((Advance(0, 1), Wait(1, 0), Advance(2, 2)), "step 1: a wait is a whole number of ms above 0, not 0"),
        ((Advance(0, 1), Deliver(1, initial=True), Advance(2, 2)), "step 1: initial state comes before all bundles"),
        (
            (Deliver(0, (Event("e1", "a", 1, 1), Event("e2", "a", 1, 1)), True), Advance(1, 1), Advance(2, 2)),
            "step 0: a key has one element of initial state",
        ),
    ],
)
def test_steps_that_break_a_rule_are_refused(steps, says):
    with pytest.raises(InvalidSchedule, match=says):
        Schedule(steps)


def test_the_number_of_partitions_comes_before_initial_state():
    Schedule((Partitions(0, 3), Deliver(1, initial=True), Advance(2, 1), Advance(3, 2)))


def test_of_two_elements_of_initial_state_for_a_key_the_last_is_kept():
    schedule = _schedule([("e1", 1)], begin=[("e0", 10)])
    twice = schedule.with_bundles({0: [Event("x", "a", 1, 1), Event("y", "b", 2, 1), Event("z", "a", 3, 1)]})
    assert [(event.id, event.key) for event in twice.initial] == [("z", "a"), ("y", "b")]


def test_times_to_live_lie_between_what_waits_are_told_from():
    for program in (*ttl.SCENARIO.programs.values(), *timers.SCENARIO.programs.values()):
        for time in [*program.ttl.values(), *([timers.PAUSE] if program.processing_time else [])]:
            assert WAIT + SLACK <= time < 2 * WAIT
    assert sum(isinstance(step, Wait) for step in waiting_timeline().steps) == 3


@pytest.mark.parametrize("declared", [{"cell": 0}, {"cell": 1.5}, {"other": 10}, {"sum": 10}])
def test_a_ttl_is_some_time_of_a_cell_that_can_have_one(declared):
    with pytest.raises(InvalidProgram, match="a TTL is a number of ms above 0 for a value, bag or map"):
        type("Wrong", (Program,), {"cells": {"cell": Cell.VALUE, "sum": Cell.COMBINING}, "ttl": declared})


# Driving Spark


def _offsets(folder, *times):
    (folder / "offsets").mkdir()
    for number, time in enumerate(times):
        log = ["v1", json.dumps({"batchTimestampMs": time}), "{}"]
        (folder / "offsets" / str(number)).write_text("\n".join(log))


def test_a_wait_is_made_at_the_end_of_a_micro_batch_and_then_settles():
    driving = pytest.importorskip("conformance.engines.spark.driving.micro_batches")
    batches = driving.plan(_schedule([("e1", None)], [("e2", None)]).timeline)
    assert [(b.step, b.bundle, b.wait) for b in batches] == [
        (0, False, 0),
        (0, False, 0),
        (1, True, WAIT),
        (2, False, 0),
        (3, True, WAIT),
        (4, False, 0),
        (5, False, 0),
        (5, False, 0),
    ]


def test_what_passed_beside_the_waits_is_told_by_the_engines_own_timeline(tmp_path):
    driving = pytest.importorskip("conformance.engines.spark.driving.micro_batches")
    proof = pytest.importorskip("conformance.engines.spark.driving.proof")
    batches = driving.plan(_schedule([("e1", None)], [("e2", None)]).timeline)
    start, then = 6_000 + WAIT + 400, 6_000 + WAIT + 900
    _offsets(tmp_path, 0, 5_000, 6_000, start, then, then + WAIT + 100, then + WAIT + 200, then + WAIT + 300)
    assert proof.drift(batches, tmp_path) == 900 + 300


def test_what_passes_behind_the_last_bundle_counts_too(tmp_path):
    """A timer that is due long after the last wait would fire there."""
    driving = pytest.importorskip("conformance.engines.spark.driving.micro_batches")
    proof = pytest.importorskip("conformance.engines.spark.driving.proof")
    batches = driving.plan(_schedule([("e1", None)]).timeline)
    _offsets(tmp_path, 0, 1, 2, 2 + WAIT, 2 + WAIT + 7_000, 2 + WAIT + 7_100)
    assert proof.drift(batches, tmp_path) == 7_100


def test_a_wait_that_was_too_short_is_noticed(tmp_path):
    driving = pytest.importorskip("conformance.engines.spark.driving.micro_batches")
    proof = pytest.importorskip("conformance.engines.spark.driving.proof")
    batches = driving.plan(_schedule([("e1", None)]).timeline)
    _offsets(tmp_path, 0, 1, 2, 2 + WAIT - 1, 90_000, 90_001)
    with pytest.raises(NotDriven, match=r"micro-batch 2 \(step 1\) was to last 8000 ms at least"):
        proof.drift(batches, tmp_path)


# State TTL


def _lived(program, *done):
    """A case of (operation, what is read after it), each in a bundle of its own; None leaves a bundle empty."""
    events = [[(f"e{n}", one[0])] if one else [] for n, one in enumerate(done, 1)]
    steps = [2 * n - 1 for n in range(1, len(done) + 1)]
    emitted = [
        ({"did": one[0], "of": f"e{n}", **(one[1] if isinstance(one[1], dict) else {"read": one[1]})}, step)
        for (n, one), step in zip(enumerate(done, 1), steps, strict=True)
        if one
    ]
    return _run(_schedule(*events), *emitted)


@pytest.mark.parametrize(
    ("predicate", "right", "wrong"),
    [
        (ttl.a_value_is_there, [("write", "e1"), ("read", "e1")], [("write", "e1"), ("read", None)]),
        (ttl.a_value_is_gone, [("write", "e1"), None, ("read", None)], [("write", "e1"), None, ("read", "e1")]),
        (
            ttl.a_write_begins_anew,
            [("write", "e1"), ("write", "e2"), ("read", "e2")],
            [("write", "e1"), ("write", "e2"), ("read", None)],
        ),
        (
            ttl.a_read_does_not_prolong_a_value,
            [("write", "e1"), ("read", "e1"), ("read", None)],
            [("write", "e1"), ("read", "e1"), ("read", "e1")],
        ),
        (
            ttl.an_expired_value_is_written_again,
            [("write", "e1"), None, ("write", "e3"), ("read", "e3")],
            [("write", "e1"), None, ("write", "e3"), ("read", None)],
        ),
        (ttl.an_element_is_there, [("append", ["e1"]), ("read", ["e1"])], [("append", ["e1"]), ("read", [])]),
        (
            ttl.an_element_is_gone,
            [("append", ["e1"]), None, ("read", [])],
            [("append", ["e1"]), None, ("read", ["e1"])],
        ),
        (
            ttl.an_append_does_not_prolong_others,
            [("append", ["e1"]), ("append", ["e1", "e2"]), ("read", ["e2"])],
            [("append", ["e1"]), ("append", ["e1", "e2"]), ("read", ["e1", "e2"])],
        ),
        (
            ttl.a_put_begins_anew,
            [("append", ["e1"]), ("put", ["e1"]), ("read", ["e1"])],
            [("append", ["e1"]), ("put", ["e1"]), ("read", [])],
        ),
    ],
)
def test_what_must_be_there_and_what_must_be_gone(predicate, right, wrong):
    found = list(predicate(_lived("p", *right)))
    assert found
    assert all(finding is True for finding in found)
    said = [finding for finding in predicate(_lived("p", *wrong)) if finding is not True]
    assert said
    assert "key a wrote" in said[-1]


def _map(**entries):
    return {"read": entries, "found": {name: entries.get(name) for name in "xy"}}


@pytest.mark.parametrize(
    ("predicate", "right", "wrong"),
    [
        (ttl.an_entry_is_there, [("put x", _map(x="e1"))], [("put x", _map())]),
        (
            ttl.an_entry_is_gone,
            [("put x", _map(x="e1")), None, ("read", _map())],
            [("put x", _map(x="e1")), None, ("read", _map(x="e1"))],
        ),
        (
            ttl.a_put_to_an_entry_begins_anew,
            [("put x", _map(x="e1")), ("put x", _map(x="e2")), ("read", _map(x="e2"))],
            [("put x", _map(x="e1")), ("put x", _map(x="e2")), ("read", _map())],
        ),
        (
            ttl.a_put_does_not_prolong_another_entry,
            [("put x", _map(x="e1")), ("put y", _map(x="e1", y="e2")), ("read", _map(y="e2"))],
            [("put x", _map(x="e1")), ("put y", _map(x="e1", y="e2")), ("read", _map(x="e1", y="e2"))],
        ),
        (
            ttl.a_read_does_not_prolong_an_entry,
            [("put x", _map(x="e1")), ("read", _map(x="e1")), ("read", _map())],
            [("put x", _map(x="e1")), ("read", _map(x="e1")), ("read", _map(x="e1"))],
        ),
    ],
)
def test_what_must_be_in_a_map(predicate, right, wrong):
    found = list(predicate(_lived("p", *right)))
    assert found
    assert all(finding is True for finding in found)
    assert isinstance(list(predicate(_lived("p", *wrong)))[-1], str)


def test_an_element_that_may_or_may_not_have_been_put_again_is_not_asked_about():
    """Two waits after it was appended it is gone; 1 ms less and nobody can say."""
    schedule = renumbered(
        [
            Advance(0, START),
            Deliver(0, (Event("e1", "a", "append", START + 1),)),
            Wait(0, ttl.TTL - 1),
            Deliver(0, (Event("e2", "a", "put", START + 1),)),
            Advance(0, 90_000),
        ]
    )
    emitted = [({"did": "append", "of": "e1", "read": ["e1"]}, 1), ({"did": "put", "of": "e2", "read": []}, 3)]
    run = _run(schedule, *emitted)
    assert [read.value["of"] for read, *_ in ttl.elements(run)] == ["e1"]


def test_an_expiry_that_is_told_is_noticed_where_no_element_comes_any_more():
    schedule = _schedule([("e1", "write")], [], [])
    read = {"did": "write", "of": "e1", "read": "e1"}
    assert list(ttl.nothing_comes_out_of_an_expiry(_run(schedule, (read, 1)))) == [True]
    (said,) = ttl.nothing_comes_out_of_an_expiry(_run(schedule, (read, 1), (read, 4)))
    assert said == "2 outputs of key a came of 1 events"


# Processing-time timers


@pytest.mark.parametrize(
    ("predicate", "bundles", "right", "wrong"),
    [
        (timers.fires_once, [["set"], [], []], [(1, 4)], [(1, 4), (1, 4)]),
        (timers.fires_once, [["set"], [], []], [(1, 4)], []),
        (timers.not_before_its_time, [["set"], [], []], [(1, 4)], [(1, 2)]),
        (timers.fires_when_its_time_has_come, [["set"], [], []], [(1, 4)], [(1, 6)]),
        (timers.a_moved_timer, [["set"], ["set"], []], [(2, 6)], [(1, 4)]),
        (timers.a_cleared_timer, [["set"], ["cancel"], []], [], [(1, 4)]),
        (partial(timers.a_cleared_timer, later=True), [["set"], ["cancel"], []], [], [(1, 4)]),
        (timers.without_new_data, [["set"], [], []], [(1, 4)], []),
    ],
)
def test_when_a_timer_must_fire_and_when_it_cannot(predicate, bundles, right, wrong):
    schedule = _schedule(*([(f"e{n}{m}", value) for m, value in enumerate(b)] for n, b in enumerate(bundles)))
    made = [_run(schedule, *(({"quiet": events}, step) for events, step in fired)) for fired in (right, wrong)]
    assert list(predicate(made[0])) == [True]
    (said,) = predicate(made[1])
    assert "key a" in said


# Initial state


def _begun(*found, begin=((("e0", 10)),), bundles=((("e1", None),), (("e2", None),))):
    schedule = _schedule(*bundles, begin=begin)
    steps = {event.id: bundle.id for bundle in schedule.bundles for event in bundle.events}
    return _run(schedule, *(({"of": name, "before": before}, steps[name]) for name, before in found))


@pytest.mark.parametrize(
    ("predicate", "right", "wrong"),
    [
        (initial.there_for_the_first_element, [("e1", 10)], [("e1", 0)]),
        (initial.applied_once, [("e1", 10), ("e2", 11)], [("e1", 10), ("e2", 21)]),
        (initial.nothing_comes_out_by_itself, [("e1", 10)], [("e0", 10)]),
    ],
)
def test_what_a_key_starts_with(predicate, right, wrong):
    assert list(predicate(_begun(*right))) == [True]
    assert isinstance(next(iter(predicate(_begun(*wrong)))), str)


def test_initial_state_waits():
    bundles = ((), (("e1", None),))
    assert list(initial.waits_for_the_first_element(_begun(("e1", 10), bundles=bundles))) == [True]
    assert list(initial.waits_for_the_first_element(_begun(("e1", 0), bundles=bundles))) != [True]
    assert list(initial.waits_for_the_first_element(_begun(("e1", 10)))) == []


def test_other_keys_start_empty():
    schedule = _schedule([("e1", None)], begin=[("e0", 10)])
    other = schedule.with_bundles({2: [Event("e1", "b", None, START + 1)]})
    for before, stands in ((0, True), (10, False)):
        run = Observation(Case("s", "p", other), Trace((Emission("b", {"of": "e1", "before": before}, 2),)))
        assert (list(initial.others_start_empty(run)) == [True]) is stands


def test_what_a_key_starts_with_is_read_as_it_was_given():
    schedule = _schedule([("e1", None)], begin=[("e0", "an object")])
    begun, other = {"b": [1, None]}, schedule.with_bundles({2: [Event("e1", "b", None, START + 1)]})

    def told(begins, key, schedule, *found):
        trace = Trace((Emission(key, {"of": "e1", "found": list(found)}, 2),))
        findings = kinds.comes_back(begins)(Observation(Case("s", "p", schedule), trace))
        return [finding is True for finding in findings]

    assert told(True, "a", schedule, begun, [begun, begun], [["k", begun]]) == [True]
    assert told(True, "a", schedule, begun, [begun], [["k", begun]]) == [False]
    assert told(True, "a", schedule, {"b": [1]}, [begun, begun], [["k", begun]]) == [False]
    assert told(False, "b", other, kinds.NOTHING, [], []) == [True]
    assert told(False, "b", other, None, [], []) == [False]
    assert told(True, "b", other, None, [], []) == told(False, "a", schedule, None, [], []) == []


def test_where_one_output_a_call_is_to_be_seen_nobody_is_accused():
    """Of two elements in a call, the second finds what the first one left."""
    run = _begun(("e2", 11), bundles=((("e1", None), ("e2", None)),))
    assert list(initial.there_for_the_first_element(run)) == [True]


def test_each_element_comes_out_once_beside_the_current_time():
    schedule = _schedule([("e1", None)], [("e2", None)])

    def told(*names):
        run = _run(schedule, *(({"id": name, "agree": []}, 1) for name in names))
        return [finding is True for finding in current_time.comes_out_once(run)]

    assert told("e1", "e2") == [True, True]
    assert told("e2", "e2") == [False, False]


def test_a_pack_that_was_too_slow_is_run_in_halves():
    """An engine on which too much processing time passes while it runs more than 60 cases."""
    scenarios = tuple(load_scenarios(["processing-time-timers", "state-ttl"]))
    cases = suite_of(scenarios, 8, 1).cases
    pack = max(packs_of(cases, 1_000), key=lambda pack: len(pack.cases))

    def spoil(pack, run):
        return replace(run, untouched=frozenset(run.traces)) if len(pack.cases) > 60 else run

    engine = InProcess(load_engine("reference"), spoil)
    given = Ask(Process(lambda: engine)).pack(pack)
    runs = given
    assert len(engine.packs) > 2
    assert (set(runs.traces), runs.untouched, given.failure) == ({case.id for case in pack.cases}, set(), "")
    assert all(len(pack.cases) <= 60 for pack, _ in runs.packs)


@pytest.mark.parametrize(
    ("fired", "found"),
    [
        ([("e1", 2), ("e1+", 4)], [True, True]),
        ([("e1", 2)], [True, "the second timer of e1 fired 0 times"]),
        ([("e1", 2), ("e1+", 3), ("e1+", 4)], [True, "the second timer of e1 fired 2 times"]),
        ([("e1", 4)], [True]),  # the second may not be due yet
        ([], ["the first timer of e1 fired 0 times"]),
    ],
)
def test_a_reminder_fires_once_and_so_does_the_one_that_it_sets(fired, found):
    emitted = [({"again": tag, "number": tag.count("+")}, step) for tag, step in fired]
    assert list(reminders.fires_once(_run(_schedule([("e1", None)], []), *emitted))) == found

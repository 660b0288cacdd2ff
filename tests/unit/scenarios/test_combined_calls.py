"""The language of calls, and the laws that judge what they give."""

import itertools
from dataclasses import replace
from random import Random

import pytest

from conformance.engines.case_run import CaseRun
from conformance.engines.reference import SPECIFIED
from conformance.engines.reference_cells import Bag, Map
from conformance.model.case import Case
from conformance.model.program import Cell
from conformance.model.scenario import Observation
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Emission, Trace
from conformance.scenarios.calls.combined_calls import PROGRAMS, SCENARIO
from conformance.scenarios.calls.language import NAMED, WHAT, parsed, spelled

LANGUAGE = SCENARIO.domain["calls"].language


def asked(*bundles: list[tuple[str, str]]) -> Case:
    """A case whose bundles hold (key, calls), with an advance of 10 s behind each."""
    steps, number = [Advance(0, 1_000_000)], itertools.count(1)
    for bundle in bundles:
        time = steps[-1].watermark + 1
        events = tuple(Event(f"e{next(number)}", key, calls, time) for key, calls in bundle)
        steps += [Deliver(len(steps), events), Advance(len(steps) + 1, time + 10_000)]
    return Case(SCENARIO.id, "calls", Schedule(tuple(steps)))


def judged(case: Case, run: type[CaseRun] = CaseRun) -> dict[str, str]:
    """Claim -> the first sentence against it."""
    ran = run(case, PROGRAMS[case.program], SPECIFIED)
    ran.run()
    seen = Observation(case, Trace.collect(ran.emissions))
    mine = [guarantee for guarantee in SCENARIO.guarantees if guarantee.program == case.program and guarantee.predicate]
    told = {g.claim: next((f for f in g.predicate(seen) if f is not True), None) for g in mine}
    return {claim: found for claim, found in told.items() if found}


def test_drawn_calls_are_read_as_they_are_spelled():
    for number in range(50):
        draw = LANGUAGE.drawn(Random(number))
        text = draw()
        assert spelled(parsed(text)) == text
    nested = 'x in 5 "a)b; c" (bag_a add {"b":["(",null]}; X in 1 "" ()); map_a get "\\u200b"'
    assert parsed(nested)[0][4][1] == ["X", "in", 1, "", []]
    assert parsed(nested)[1] == ["map_a", "get", "\u200b"]


def test_each_kind_of_call_stands_right_before_each():
    met = {two for calls in LANGUAGE.lists for two in itertools.pairwise(tuple(call[:2]) for call in parsed(calls))}
    assert met == set(itertools.product(LANGUAGE.kinds, repeat=2))


def test_three_calls_on_a_cell_stand_between_two_reads_under_each_of_two_names():
    """So what a list leaves is read by the list behind it, and some of it under the other name."""
    lists = [[call for call in parsed(calls) if call[0] == "map_A"] for calls in LANGUAGE.lists]
    of_map = [calls for calls in lists if len(calls) == 7 and calls[:2] == calls[5:]]
    assert {tuple(call[1] for call in calls[2:5]) for calls in of_map} == set(
        itertools.product(WHAT[Cell.MAP], repeat=3)
    )
    assert {calls[1][2] for calls in of_map} == set(NAMED)


def test_simpler_calls_have_less_to_read():
    text = 'value_a set 1; bag_a add {"long":65536}; x in 5000 "K" (bag_a get); bag_a get'
    simpler = list(LANGUAGE.simpler(text))
    assert "bag_a get" in simpler
    assert 'value_a set 1; bag_a add {"long":65536}; x in 1 "K" (bag_a get); bag_a get' in simpler
    assert text not in simpler


class AddsOnce(CaseRun):
    """Of two adds in one callback, the second takes the place of the first."""

    def cell(self, kind, stored, name):
        cell = super().cell(kind, stored, name)
        if isinstance(cell, Bag):
            before = cell.get()
            cell.add = lambda value: cell.set([*before, value])
        return cell


class FoldsCase(CaseRun):
    """Entries of a map are kept by their names in lower case."""

    def cell(self, kind, stored, name):
        cell = super().cell(kind, stored, name)
        if type(cell) is Map:
            put = cell.put
            cell.put = lambda key, value: put(key.lower(), value)
        return cell


class FiresAtOldTimeToo(CaseRun):
    """A timer that is moved fires at its former time, too."""

    def set_timer(self, timer, time):
        if timer in self.timers:
            self.timers[(*timer[:3], timer[3] + " ")] = self.timers[timer]
        super().set_timer(timer, time)


@pytest.mark.parametrize(
    ("bug", "calls", "claim", "sentence"),
    [
        (
            AddsOnce,
            "bag_a add 1.5; bag_a add null; bag_a get",
            "several calls of one callback on one cell act in their order",
            "key a: bag_a get gives [null], not [1.5,null] after add, add",
        ),
        (
            FoldsCase,
            'map_a put "K" 1; map_a get "K"',
            "a map gives for a key what was last put for it",
            'key a: map_a get "K" gives "(nothing)", not 1 after put',
        ),
        (
            FiresAtOldTimeToo,
            'x in 500 "t" (); x in 4000 "t" ()',
            "a timer that was cleared, or moved, or has fired does not fire",
            "key a: timer 'x t ' fired for 1000501 and was not set, or was cleared, or had fired",
        ),
    ],
)
def test_a_law_is_broken_by_its_bug_and_says_how(bug, calls, claim, sentence):
    case = asked([("a", calls)])
    assert judged(case) == {}
    assert judged(case, bug)[claim] == sentence


class LosesScripts(CaseRun):
    """What a timer is to do is lost."""

    def fire(self, timer, time):
        self.state[timer[0], timer[1]].pop("scripts", None)
        super().fire(timer, time)


@pytest.mark.parametrize("program", [name for name, program in PROGRAMS.items() if program.timers])
def test_a_timer_whose_calls_are_lost_is_told_in_each_program(program):
    case = replace(asked([("a", 'x in 500 "k" (x off "k")')]), program=program)
    assert judged(case) == {}
    assert judged(case, LosesScripts)


def test_one_fault_speaks_once():
    told = judged(asked([("a", "bag_a add 1; bag_a add 2; bag_a get")], [("a", "bag_a get")]), AddsOnce)
    assert "what an element's callback wrote, the key's next callbacks read" not in told


class WindowsOfAnAdvanceShareLists(CaseRun):
    """Of two windows whose timers fire in one advance, the second finds the lists of the first."""

    before = None

    def fire(self, timer, time):
        scope = timer[:2]
        if self.before not in (None, scope):
            self.state[scope]["bag_a"] = self.state[self.before].get("bag_a", [])
        super().fire(timer, time)
        self.before = scope


class LaterWindowLosesTimers(CaseRun):
    """A timer that fires takes those of later windows with it that are due at its time."""

    def fire(self, timer, time):
        super().fire(timer, time)
        for other, due in [*self.timers.items()]:
            if due == time and other[1] > timer[1]:
                del self.timers[other]


@pytest.mark.parametrize(
    ("bug", "claim"),
    [
        (WindowsOfAnAdvanceShareLists, "windows of a key whose timers fire in one advance keep their cells apart"),
        (LaterWindowLosesTimers, "timers of other windows of a key do not keep a timer from firing"),
    ],
)
def test_windows_whose_timers_fire_in_one_advance_are_told_apart(bug, claim):
    """A window of one element with a value in its list, and one with another."""
    one, other = (f'bag_a add {n}; x to 20000 "" (bag_a get)' for n in (1, 2))
    steps = (
        Advance(0, 1_000_000),
        Deliver(1, (Event("e1", "a", one, 1_000_001), Event("e2", "a", other, 1_005_001))),
        Advance(2, 1_020_000),
    )
    case = Case(SCENARIO.id, "in windows", Schedule(steps))
    assert judged(case) == {}
    assert f"{claim} (in windows)" in judged(case, bug)


def test_a_timer_that_a_callback_moves_is_no_matter_of_other_windows():
    """It fires at the old time, too: that speaks against the sentences of such timers alone."""
    moves, again = 'xk in 1 "k" (xk to 5000 "k/" ()); xk in 1 "k/" ()', 'xk in 1 "k" ()'
    bundle = (Event("e1", "a", moves, 1_005_001), Event("e2", "a", again, 1_000_002))
    steps = (Advance(0, 1_000_001), Deliver(1, bundle), Advance(2, 1_200_501))
    case = Case(SCENARIO.id, "in windows", Schedule(steps))
    put_out = [
        (1, {"id": "e1", "at": 1_005_001, "window": 1_005_000, "did": moves, "gave": [None, None]}),
        (1, {"id": "e2", "at": 1_000_002, "window": 1_000_000, "did": again, "gave": [None]}),
        (2, {"timer": "xk k", "fired": 1_005_002, "window": 1_005_000, "did": 'xk to 5000 "k/" ()', "gave": [None]}),
        (2, {"timer": "xk k/", "fired": 1_005_002, "window": 1_005_000, "did": "", "gave": []}),
        (2, {"timer": "xk k", "fired": 1_000_003, "window": 1_000_000, "did": "", "gave": []}),
        (2, {"timer": "xk k/", "fired": 1_010_000, "window": 1_005_000, "did": "", "gave": []}),
    ]
    seen = Observation(case, Trace.collect([Emission("a", value, step) for step, value in put_out]))
    mine = [guarantee for guarantee in SCENARIO.guarantees if guarantee.program == case.program and guarantee.predicate]
    wrong = {g.claim for g in mine if any(finding is not True for finding in g.predicate(seen))}
    assert "a timer that a timer's callback sets fires once, for its time (in windows)" in wrong
    assert "timers of other windows of a key do not keep a timer from firing (in windows)" not in wrong

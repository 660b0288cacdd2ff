"""The mutants of ``combined`` act where their circumstance is, and nowhere else."""

import pytest

from conformance.engines.mutants import MUTANTS
from conformance.engines.reference import SPECIFIED, Reference
from conformance.model.case import Case
from conformance.model.program import Cell, Program
from conformance.model.schedule import Advance, Deliver, Event, Schedule

NAMES = [name for name, found in MUTANTS.items() if ".combined." in found.section]


class Scripted(Program):
    """An event's value is the calls that it makes. ``then``: timer -> the calls that its callback makes when it fires
    first."""

    cells = {
        **dict.fromkeys(("value", "other", "OTHER"), Cell.VALUE),
        "bag": Cell.BAG,
        **dict.fromkeys(("map", "map_of_more"), Cell.MAP),
        "set": Cell.SET,
        "sum": Cell.COMBINING,
    }
    timers = ("one", "two")

    def __init__(self, then):
        self.then = dict(then)

    def on_event(self, event, state, timers, emit):
        self.make(event.value, state, timers, emit)

    def on_timer(self, timer, state, timers, emit):
        emit({"fired": [timer.name, timer.tag, timer.time]})
        self.make(self.then.pop((timer.name, timer.tag), ()), state, timers, emit)

    def make(self, calls, state, timers, emit):
        for cell, method, *arguments in calls:
            found = getattr(timers if cell == "timers" else getattr(state, cell), method)(*arguments)
            if method in ("get", "items"):
                emit([cell, method, found])


def schedule(*steps):
    """A number is an advance to it (ms). A list is a bundle of the elements of one key, as calls; an object has those
    of several keys."""
    made = [Advance(0, 0)]
    for step in (*steps, 100):
        if isinstance(step, int):
            made.append(Advance(len(made), step))
            continue
        elements = [
            (key, calls) for key, each in (step if isinstance(step, dict) else {"k": step}).items() for calls in each
        ]
        events = [Event(f"{len(made)}-{n}", key, calls, 10_000_000) for n, (key, calls) in enumerate(elements)]
        made.append(Deliver(len(made), tuple(events)))
    return Schedule(tuple(made))


def made(cell, *calls):
    return [[cell, *each] if isinstance(each, tuple) else [cell, each] for each in calls]


LONG = "a" * 2**16

SHOWN = {
    "last-input-of-a-call-counts": [[made("sum", ("add", 1), ("add", 2), "get")]],
    "cleared-value-is-still-read": [[made("value", ("set", 1), "clear", "get")]],
    "clear-takes-back-the-write-alone": [[made("value", ("set", 1))], [made("value", ("set", 2), "clear", "get")]],
    "append-after-an-overwrite-lost": [[made("bag", ("set", [1]), ("add", 2), "get")]],
    "second-append-brings-back-the-cleared": [
        [made("bag", ("add", 1)), made("bag", "clear", ("add", 2), ("add", 3), "get")]
    ],
    "put-and-removed-stays-removed": [[made("map", ("put", "a", 1), ("remove", "a"), ("put", "a", 2), "items")]],
    "second-iteration-sees-the-first": [[made("map", "items", ("put", "a", 1), "items")]],
    "remove-of-nothing-leaves-a-null": [[made("map", ("remove", "a"), "items")]],
    "clear-of-an-empty-map-skipped": [[made("map", ("put", "a", 1), "clear", "items")]],
    "clear-takes-back-the-others": [[made("value", ("set", 1)) + made("bag", "clear") + made("value", "get")]],
    "null-removes-the-entry": [[made("map", ("put", "a", None), "items")]],
    "null-is-not-appended": [[made("bag", ("add", None), "get")]],
    "fractions-of-a-bag-cut": [[made("bag", ("add", 0.5), "get")]],
    "booleans-of-a-bag-are-numbers": [[made("bag", ("add", True), "get")]],
    "entries-through-doubles": [[made("map", ("put", "a", 2**53 + 1), "items")]],
    "empty-entries-are-null": [[made("map", ("put", "a", ""), "items")]],
    "entries-of-surrogates-lost": [[made("map", ("put", "a", "\U0001f600"), "items")]],
    "entries-read-as-numbers": [[made("map", ("put", "a", "007"), "items")]],
    "lengths-in-two-bytes": [[made("value", ("set", LONG), "get")]],
    "null-fields-of-a-value-dropped": [[made("value", ("set", [{"a": None}]), "get")]],
    "entries-of-visible-names": [[made("map", ("put", "a", 1), ("put", "a\u200b", 2), "items")]],
    "entries-unescaped": [[made("map", ("put", "a", 1), ("put", "%61", 2), "items")]],
    "elements-compatible": [[made("set", ("add", "1"), ("add", "\u2460"), "get")]],
    "cells-fold-case": [[made("other", ("set", 1)) + made("OTHER", "get")]],
    "clear-takes-longer-names": [
        [made("map_of_more", ("put", "a", 1)), made("map", "clear") + made("map_of_more", "items")]
    ],
    "clear-takes-longer-keys": [
        {"kk": [made("map", ("put", "a", 1))], "k": [made("map", "clear")]},
        {"kk": [made("map", "items")]},
    ],
    "tags-end-at-a-hash": [[made("timers", ("set", "one", 5, "a#1"), ("set", "one", 6, "a#2"))], 9],
    "same-time-again-ignored": [[made("timers", ("set", "one", 5))], 9, [made("timers", ("set", "one", 5))]],
    "set-cleared-and-set-lost": [[made("timers", ("set", "one", 5), ("clear", "one"), ("set", "one", 5))], 9],
    "timers-of-one-tag-share": [[made("timers", ("set", "one", 5, "a"), ("set", "two", 5, "a"))], 9],
    "emptied-key-loses-its-timers": [
        [made("value", ("set", 1)), made("timers", ("set", "one", 5)) + made("value", "clear")],
        9,
    ],
    "way-back-taken-for-no-change": [
        [made("value", ("set", 1))],
        [made("value", ("set", 2))],
        [made("value", ("set", 1))],
        [made("value", "get")],
    ],
    "cleared-cell-comes-back": [
        [made("value", ("set", 1)) + made("other", ("set", 1))],
        [made("value", "clear")],
        9,
        [made("value", "get")],
    ],
    "bag-loses-its-first": [[made("bag", ("add", 1))], [made("bag", ("add", 2), ("add", 3))], [made("bag", "get")]],
    "state-lost-with-the-last-timer": [
        [made("value", ("set", 1)) + made("timers", ("set", "one", 5), ("set", "two", 6))],
        9,
        [made("value", "get")],
    ],
    "second-clear-skipped": [
        [made("value", ("set", 1), "clear")],
        [made("value", ("set", 2), "clear", "get")],
    ],
}
"""Mutant -> steps on which it answers otherwise than the reference does."""

SHOWN_BY_TIMERS = {
    "tags-handed-on": (
        [[made("timers", ("set", "one", 5, "a"))], 9],
        {("one", "a"): made("timers", ("set", "two", 6, "b"))},
    ),
    "instant-sees-old-state": (
        [[made("timers", ("set", "one", 5), ("set", "two", 5))], 9],
        {("one", ""): made("sum", ("add", 1)), ("two", ""): made("sum", "get")},
    ),
    "writes-lost-with-a-new-timer": (
        [[made("timers", ("set", "one", 5))], 9, [made("value", "get")]],
        {("one", ""): made("value", ("set", 1)) + made("timers", ("set", "two", 6))},
    ),
    "due-timers-fire-though-moved": (
        [[made("timers", ("set", "one", 5), ("set", "two", 6))], 9, 30],
        {("one", ""): made("timers", ("set", "two", 20))},
    ),
}
"""The same, with what the callbacks of timers do."""

PLAIN = (
    [
        [*made("value", ("set", "text"), "get"), *made("bag", ("add", 1), "get"), *made("set", ("add", "a"), "get")],
        [
            *made("map", ("put", "a", 1), "items"),
            *made("sum", ("add", 1), "get"),
            *made("timers", ("set", "one", 5, "a")),
        ],
    ],
    3,
    [
        made("value", ("set", [0.5, {"a": True}]), "get"),
        made("bag", ("add", "b"), "get"),
        made("map", ("put", "b", 2), "items"),
    ],
    7,
    [made("map", ("remove", "a"), "items"), made("timers", ("set", "two", 8), ("clear", "two"))],
    9,
    [
        made("value", "clear", "get"),
        made("bag", "clear", "get"),
        made("bag", "get"),
        made("map", "clear", "items"),
        made("sum", "clear", "get"),
    ],
)
"""Steps that none of the bugs touches."""


def answers(name, steps, then):
    engine = Reference()
    engine.case_run = MUTANTS[name].case_run if name else engine.case_run
    trace, _ = engine.ran(Case("s", "p", schedule(*steps)), Scripted(then))
    return trace


@pytest.mark.parametrize("name", NAMES)
def test_the_bug_acts(name):
    steps, then = SHOWN_BY_TIMERS[name] if name in SHOWN_BY_TIMERS else (SHOWN[name], {})
    right, wrong = answers("", steps, then), answers(name, steps, then)
    assert not right.error
    assert not wrong.error
    assert repr(right) != repr(wrong)  # True is 1, and 1 is 1.0
    assert MUTANTS[name].can_show(Case("s", "p", schedule(*steps)), Scripted(then), SPECIFIED)


@pytest.mark.parametrize("name", NAMES)
def test_the_bug_does_not_act_in_a_plain_program(name):
    right = answers("", PLAIN, {})
    assert not right.error
    assert repr(answers(name, PLAIN, {})) == repr(right)

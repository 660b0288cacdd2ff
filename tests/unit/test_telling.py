"""Which stored witnesses a brief run replays."""

from math import inf

from conformance.confirmation.telling import most_telling
from conformance.model.case import Case
from conformance.model.engine import Budget
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Trace
from conformance.results.witness import Witness

SECONDS = Budget(seconds=1, pack=1)


def witness(guarantee, start, event="e1", base=None):
    steps = (Advance(0, start), Deliver(1, (Event(event, "a", None, start + 1),)), Advance(2, start + 9))
    case = Case("s", "p", Schedule(steps))
    return Witness(guarantee, "", case, base, "spark", {}, "", Trace(()), Trace(()))


def told(witnesses, seconds):
    return [w.guarantee for w in most_telling(witnesses, SECONDS, seconds)]


def test_the_timeline_that_tells_of_most_guarantees_is_first():
    stored = [witness("one", 0), witness("two", 100, "e1"), witness("three", 100, "e2"), witness("four", 200)]
    assert told(stored, 1) == ["two", "three"]
    assert told(stored, 2) == ["one", "two", "three"]
    assert told(stored, inf) == ["one", "two", "three", "four"]


def test_a_second_witness_of_a_guarantee_comes_after_the_first_of_another():
    stored = [witness("one", 0), witness("one", 100), witness("two", 200)]
    assert told(stored, 2) == ["one", "two"]
    assert told(stored, 3) == ["one", "one", "two"]


def test_a_twin_needs_the_timeline_of_its_base_as_well():
    base = witness("", 300).case
    assert told([witness("one", 0, base=base), witness("two", 100)], 1) == ["two"]
    assert told([witness("one", 0, base=base), witness("two", 100)], 3) == ["one", "two"]


def test_at_least_one_runs():
    assert told([witness("one", 0)], 0.1) == ["one"]
    assert told([], 0.1) == []

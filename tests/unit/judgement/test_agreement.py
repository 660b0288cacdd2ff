"""Agreement: two engines on the same schedules, and an engine and the reference."""

from dataclasses import replace

import pytest

from conformance.judgement.agreement import agreements, specified_for
from conformance.model.case import Case
from conformance.model.equivalence import Equivalence
from conformance.model.program import Program
from conformance.model.scenario import Scenario
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Emission, Trace


class Index(Program):
    labels = ("index",)


SCENARIO = Scenario("s", "", {"p": Index()}, {"p": None}, ())


def _case(*times):
    events = tuple(Event(f"e{n}", "a", None, time) for n, time in enumerate(times))
    return Case("s", "p", Schedule((Advance(0, 10), Deliver(1, events), Advance(2, 20), Deliver(3), Advance(4, 99))))


def _trace(*values, step=1):
    return Trace.collect(Emission("a", value, step) for value in values)


SMALL, LARGE, LATE = _case(50), _case(50, 60, 70), _case(5, 5)
CASES = [LARGE, SMALL, LATE]
ONE = {case.id: _trace({"id": "e0", "index": 0}, {"id": "e1", "index": 1}) for case in CASES}
OTHER_STEP = _trace({"id": "e0", "index": 0}, {"id": "e1", "index": 1}, step=2)
RELABELLED = _trace({"id": "e0", "index": 1}, {"id": "e1", "index": 0})
STOPPED = Trace((Emission("a", None, 1, error="KeyError"),))


def _agreements(traces, cases=CASES, specified=ONE):
    asked = {}

    def reference(engine):
        def answer(cases):
            asked[engine] = [case.id for case in cases]
            return {case.id: specified[case.id] for case in cases}

        return answer

    found = agreements([SCENARIO], cases, traces, {engine: reference(engine) for engine in traces})
    return {(a.left, a.right): a for a in found}, asked


def test_cases_of_scenarios_that_are_not_asked_are_left_out():
    other = Case("another", "p", SMALL.schedule)
    found, asked = _agreements({"one": {**ONE, other.id: ONE[SMALL.id]}}, cases=[*CASES, other])
    assert sorted(asked["one"]) == sorted(ONE)
    assert [agreement.cases for agreement in found.values()] == [len(CASES)]


def _pair(traces, **more):
    found, _ = _agreements({"one": ONE, "two": ONE | traces}, **more)
    return found["one", "two"]


@pytest.mark.parametrize(
    ("other", "agreed"),
    [
        (ONE[SMALL.id], ["identical"]),
        (OTHER_STEP, ["same sequence"]),
        (_trace({"id": "e1", "index": 1}, {"id": "e0", "index": 0}), ["same multiset"]),
        (_trace({"id": "e1", "index": 1}), ["same final value"]),
        (RELABELLED, ["same up to relabelling"]),
        (_trace(), []),
    ],
)
def test_two_agree_up_to_the_strongest_that_every_case_shows(other, agreed):
    assert [e.value for e in _pair({SMALL.id: other}).agreed] == agreed


def test_each_grade_counts_who_agrees_and_who_differs():
    found = _pair({SMALL.id: OTHER_STEP, LARGE.id: RELABELLED})
    numbers = {g.equivalence: (g.agree, g.differ) for g in found.grades}
    assert numbers[Equivalence.IDENTICAL] == (1, 2)
    assert numbers[Equivalence.SAME_SEQUENCE] == (2, 1)
    assert numbers[Equivalence.SAME_UP_TO_RELABELLING] == (3, 0)
    assert found.cases == 3


def test_the_smallest_case_that_differs_is_kept_with_both_traces():
    kept = _pair({SMALL.id: OTHER_STEP, LARGE.id: RELABELLED}).to_json()["smallest"]
    assert Case.from_json(kept["case"]) == SMALL
    assert Trace.from_json(kept["left"]) == ONE[SMALL.id]
    assert Trace.from_json(kept["right"]) == OTHER_STEP
    assert "smallest" not in _pair({}).to_json()


def test_it_is_said_how_many_of_those_that_differ_have_elements_that_are_not_on_time():
    """Engines may read late differently; on the others they have no such excuse."""
    assert _pair({SMALL.id: OTHER_STEP, LATE.id: _trace()}).not_on_time == 1
    assert _pair({SMALL.id: OTHER_STEP}).not_on_time == 0


def test_every_pair_and_every_engine_with_its_own_reference():
    found, _ = _agreements({"spark": ONE, "beam": ONE, "reference": ONE})
    assert list(found) == [
        ("spark", "beam"),
        ("spark", "reference"),
        ("beam", "reference"),
        ("spark", specified_for("spark")),
        ("beam", specified_for("beam")),
    ]
    assert specified_for("beam") == "reference, late as beam"


def test_only_what_both_answered_is_compared():
    """A case without an answer, or one whose program stopped, says nothing; neither do perturbed twins."""
    twin = replace(SMALL, perturbation="restart", base=SMALL.id)
    one = ONE | {twin.id: _trace(1)}
    found, asked = _agreements({"one": one, "two": {SMALL.id: STOPPED, LARGE.id: RELABELLED}}, [*CASES, twin])
    assert found["one", "two"].cases == 1
    assert found["two", specified_for("two")].cases == 1
    assert found["one", specified_for("one")].cases == 3
    assert set(asked["one"]) == {case.id for case in CASES}
    assert asked["two"] == [LARGE.id]


def test_a_case_that_stops_the_reference_is_left_out():
    found, _ = _agreements({"one": ONE}, specified=ONE | {SMALL.id: STOPPED})
    assert found["one", specified_for("one")].cases == 2


def test_engines_without_a_case_in_common_agree_on_nothing():
    found = _agreements({"one": ONE, "two": {}})[0]["one", "two"]
    assert (found.cases, found.agreed, found.smallest) == (0, [], None)


def test_what_is_drained_at_the_end_of_the_stream_is_not_compared():
    drained = Trace((*ONE[SMALL.id].emissions, Emission("a", "drained", -1)))
    assert _pair({SMALL.id: drained}).agreed == [Equivalence.IDENTICAL]

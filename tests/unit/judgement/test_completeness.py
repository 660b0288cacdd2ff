"""A program's output is complete: what the reference puts out comes out, once, under its key."""

from dataclasses import replace

import pytest

from conformance.engines.reference import Reference
from conformance.judgement.cell import Verdict
from conformance.judgement.completeness import expected, findings
from conformance.judgement.verdict import not_expressible
from conformance.model import (
    DRAIN,
    Advance,
    Case,
    Cell,
    Deliver,
    Emission,
    Event,
    Feature,
    Program,
    Schedule,
    Trace,
    emulated,
)
from conformance.model.engine import EngineInfo
from conformance.plugins.registry import load_scenarios


class Echo(Program):
    def on_event(self, event, state, timers, emit):
        emit({"id": event.id})


class Latest(Program):
    """What comes out depends on the order of a key's elements."""

    cells = {"before": Cell.VALUE}

    def on_event(self, event, state, timers, emit):
        emit({"id": event.id, "before": state.before.get("")})
        state.before.set(event.id)


def case(*bundles, late=()):
    steps, number = [Advance(0, 1_000)], 1
    for events in bundles:
        steps.append(
            Deliver(number, tuple(Event(name, name[0], None, 500 if name in late else 2_000) for name in events))
        )
        number += 1
    return Case("s", "p", Schedule((*steps, Advance(number, 9_000))))


ECHO = Echo()
CASE = case(("a1", "b1"), ("a2",))
WHOLE = tuple(Emission(name[0], {"id": name}, step) for name, step in (("a1", 1), ("b1", 1), ("a2", 2)))


def against(*emissions):
    return [finding for finding in findings(ECHO, CASE, Trace.collect(emissions)) if finding is not True]


def test_complete_output_stands_for_each_key():
    assert list(findings(ECHO, CASE, Trace.collect(WHOLE))) == [True, True]


def test_output_may_come_later_than_its_step():
    assert against(*WHOLE[:2], replace(WHOLE[2], step=3)) == []


@pytest.mark.parametrize(
    ("emissions", "says"),
    [
        (WHOLE[:2], '[{"id":"a2"},null] 0 times, not 1'),
        ((*WHOLE, WHOLE[0]), "2 times, not 1"),
        ((*WHOLE, replace(WHOLE[0], key="z")), "under the key z, which no element has"),
        ((*WHOLE[:2], replace(WHOLE[2], step=DRAIN)), "at the end of the stream"),
        ((*WHOLE[:2], replace(WHOLE[2], step=1)), "before step 2"),
        ((*WHOLE[:2], replace(WHOLE[2], value=None)), "times, not"),
        ((), "0 times, not 1"),
    ],
)
def test_lost_doubled_foreign_and_garbled_output_is_minded(emissions, says):
    assert says in against(*emissions)[0]


def test_a_key_with_a_late_element_does_not_count():
    assert list(expected(ECHO, case(("a1", "b1"), ("a2",), late=("a2",)))) == ["b"]


def test_a_key_whose_output_depends_on_the_order_does_not_count():
    """The order within a bundle, and the order of bundles between two advances."""
    assert list(expected(Latest(), case(("a1", "a2", "b1")))) == ["b"]
    assert list(expected(Latest(), case(("a1", "b1"), ("a2",)))) == ["b"]


def test_an_engine_whose_output_or_bundles_are_emulated_is_not_asked():
    scenario = load_scenarios(["per-key-counting"])[0]
    complete = next(g for g in scenario.guarantees if g.complete)
    engine = Reference()
    info = EngineInfo(engine.id, engine.title, engine.capabilities)
    assert not_expressible(scenario, complete, None, info) is None
    features = {**engine.capabilities.features, Feature.SEVERAL_BUNDLES: emulated("in its own way")}
    info = replace(info, capabilities=replace(engine.capabilities, features=features))
    assert not_expressible(scenario, complete, None, info).verdict is Verdict.UNSUPPORTED

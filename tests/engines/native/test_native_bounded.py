"""Beam's own transforms over bounded input that ends: what FnApiRunner and plain DirectRunner lose, and how their
pipelines end."""

import pytest
from common import PROGRAMS, T

from conformance.engines.beam.runners import prism_binary
from conformance.model.case import Case
from conformance.model.engine import CannotRun
from conformance.model.runs import Pack
from conformance.model.schedule import Advance, Deliver, Event, renumbered
from conformance.plugins.registry import load_engine

pytestmark = pytest.mark.engine


def of_two_elements(program):
    events = (Event("e1", "a", None, T + 1), Event("e2", "a", None, T + 2))
    return Case("panes", program, renumbered([Advance(0, T), Deliver(0, events), Advance(0, T + 200_000)]))


@pytest.fixture
def trace(tmp_path):
    """What an engine gives for two elements of one window."""
    opened = []

    def found(name, program, *beside):
        engine = load_engine(name)
        engine.open(tmp_path)
        opened.append(engine)
        cases = [of_two_elements(each) for each in (program, *beside)]
        return engine.run(Pack(tuple(cases)), PROGRAMS).traces[cases[0].id]

    yield found
    for engine in opened:
        engine.close()


def panes(trace):
    return [emission.value["pane"] for emission in trace.emissions]


def test_an_early_pane_is_followed_by_an_empty_one_on_fnapirunner(trace):
    assert sorted(panes(trace("beam-fnapi-native:panes", "early"))) == [[], ["e1", "e2"]]


def test_what_a_trigger_never_fires_for_is_lost_on_fnapirunner(trace):
    assert panes(trace("beam-fnapi-native:panes", "never")) == []


def test_batches_that_are_not_full_reach_a_grouping_on_fnapirunner(trace):
    assert panes(trace("beam-fnapi-native:panes", "grouped batches")) == [["e1", "e2"]]


def test_they_end_the_pipeline_of_plain_directrunner_and_no_other_pipeline(trace):
    try:
        prism_binary.obtain()
    except CannotRun as error:
        pytest.skip(str(error))
    assert trace("beam-auto-native:panes", "grouped batches", "early").error == "the pipeline failed: AssertionError"
    assert panes(trace("beam-auto-native:panes", "early", "grouped batches")) == [["e1", "e2"]]


def test_a_trigger_that_never_fires_stalls_the_bundle_based_runner(trace):
    assert trace("beam-native:never-firing", "never").error.startswith("the pipeline failed: ")

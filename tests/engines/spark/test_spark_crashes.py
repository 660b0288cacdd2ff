"""Jobs that are killed at each point of a bundle, on real checkpoints of each state store."""

from dataclasses import replace

import pytest
from common import PROGRAMS, specified
from marks import quick

from conformance.engines.spark.checkpoint import crashes
from conformance.engines.spark.plans.settings import OTHER_STORES
from conformance.model.case import Case
from conformance.model.engine import NotDriven
from conformance.model.runs import Pack
from conformance.model.schedule import Advance, Crash, Deliver, Event, FailOnce, Plan, renumbered
from conformance.plugins.registry import load_engine
from conformance.testing import T

pytestmark = pytest.mark.engine


def _bundle(number, after, keys):
    return Deliver(0, tuple(Event(f"e{number}{key}", key, None, T + after) for key in keys))


def killed(scenario, program, plan=""):
    """A case whose jobs are killed at each point, twice in one bundle too: advances in the same micro-batch, and
    none."""
    steps = [
        *([Plan(0, plan)] if plan else []),
        Advance(0, T),
        *(Crash(0, "partition"), _bundle(1, 1, "abc")),
        *(Crash(0, "upload"), Crash(0, "within"), _bundle(2, 3_000, "ab"), Advance(0, T + 2_000)),
        *(Crash(0, "offsets"), Crash(0, "sink"), _bundle(3, 4_000, "bc"), Advance(0, T + 9_000)),
        *(Crash(0, "state"), _bundle(4, 10_000, "ad")),
        *(Crash(0, "commit"), _bundle(5, 10_001, "abd")),
        *(Crash(0, "maintenance"), _bundle(6, 10_001, "ab"), Advance(0, T + 90_000)),
    ]
    return Case(scenario, program, renumbered(steps))


def answered(engine, case):
    """The emissions of a case, and those that are specified."""
    run = engine.run(Pack((case,)), PROGRAMS)
    return [sorted(traces[case.id].emissions, key=repr) for traces in (run.traces, specified(engine, [case]))]


@pytest.mark.parametrize("plan", quick(["", "state-checkpoint-ids"], ["", *OTHER_STORES.values(), "state-snapshots"]))
def test_a_job_that_is_killed_goes_on_as_if_it_had_not_been(spark, plan):
    """With its state in each store. A kill proves by the files that they are that store's."""
    if plan and plan not in spark.plans:
        pytest.skip("its store is the one that the plan is for")
    found, wanted = answered(spark, killed("per-key-counting", "count", plan))
    assert found == wanted


@pytest.mark.parametrize("plan", quick([""], ["", *OTHER_STORES.values()]))
def test_an_operator_of_sparks_own_goes_on_too(tmp_path, plan):
    engine = load_engine("spark-native:window")
    engine.open(tmp_path)
    try:
        found, wanted = answered(engine, killed("windowed-counting", "windows", plan))
    finally:
        engine.close()
    assert found == wanted


def test_an_attempt_fails_in_a_query_that_is_killed_later(spark):
    steps = [
        *(Advance(0, T), FailOnce(0), _bundle(1, 1, "ab"), _bundle(2, 1_000, "a")),
        *(Crash(0, "sink"), _bundle(3, 2_000, "ab"), Advance(0, T + 90_000)),
    ]
    case = Case("per-key-counting", "count", renumbered(steps))
    run = spark.run(Pack((case,)), PROGRAMS)
    assert not run.untouched
    assert run.traces[case.id].emissions == specified(spark, [case])[case.id].emissions


def test_a_bundle_that_is_not_done_again_is_an_error(spark, monkeypatch):
    """Where the commit log keeps the bundle, the next query goes on behind it."""
    monkeypatch.setattr(crashes.Killed, "_take_away", lambda *of: None)
    case = killed("per-key-counting", "count")
    steps = [step for step in case.schedule.steps if not isinstance(step, Crash) or step.at == "state"]
    with pytest.raises(NotDriven):
        spark.run(Pack((replace(case, schedule=renumbered(steps)),)), PROGRAMS)

"""Jobs that begin again on a damaged checkpoint of real state stores."""

import pytest
from common import PROGRAMS

from conformance.generation.timelines import RESTARTED, START
from conformance.model.case import Case
from conformance.model.damage import DAMAGES
from conformance.model.runs import Pack
from conformance.model.scenario import Observation
from conformance.model.schedule import Event
from conformance.scenarios.state.damaged_checkpoints import noticed

pytestmark = pytest.mark.engine


def damaged(damage):
    bundles = [slot.id for slot in RESTARTED.bundles]
    rows = {
        slot: [Event(f"e{slot}{key}", key, damage, START + 10 * slot) for key in "abcdef"]
        for slot in (bundles[0], bundles[-1])
    }
    return Case("damaged-checkpoints", "counted-on", RESTARTED.with_bundles(rows))


def test_a_damaged_checkpoint_is_refused_or_changes_nothing_but_for_exchanged_states(spark):
    cases = {damage: damaged(damage) for damage in DAMAGES}
    traces = spark.run(Pack((*cases.values(),)), PROGRAMS).traces
    seen = {damage: Observation(case, traces[case.id]) for damage, case in cases.items()}
    silent = {damage for damage, run in seen.items() if not all(f is True for f in noticed(damage)(run))}
    assert silent == {"states exchanged"}
    refused = {damage for damage, run in seen.items() if run.values("refused")}
    assert {"identity gone", "last plan cut short", "last state gone", "all state gone"} <= refused
    assert "last done gone" not in refused

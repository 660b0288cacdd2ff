"""Jobs that begin again on a damaged checkpoint of real state stores."""

import pytest
from common import PROGRAMS

from conformance.generation.timelines import RESTARTED, START
from conformance.model.case import Case
from conformance.model.damage import DAMAGES
from conformance.model.runs import Pack
from conformance.model.scenario import Observation
from conformance.model.schedule import Event
from conformance.plugins.registry import load_engine
from conformance.scenarios.state.damaged_checkpoints import JOBS, noticed
from conformance.scenarios.stories.stream_join import LEFT, RIGHT

pytestmark = pytest.mark.engine

NATIVE = {
    "counted-on": "count",
    "deduplicated-on": "drop-duplicates",
    "windowed-on": "window",
    "joined-on": "inner-join",
}
"""Program -> the operator of Spark's own that does its job."""


def damaged(damage, program):
    """Keys with elements before the restart and behind it; those of a join are right rows before it, left ones
    behind."""
    before, *_, behind = [slot.id for slot in RESTARTED.bundles]
    joining = program == "joined-on"
    keys = [damage] if joining else "abcdef"
    rows = {
        slot: [Event(f"e{slot}{key}", key, side if joining else damage, START + 10) for key in keys]
        for slot, side in ((before, RIGHT), (behind, LEFT))
    }
    return Case("damaged-checkpoints", program, RESTARTED.with_bundles(rows))


def runs(engine, damages, programs):
    """(program, damage) -> what came out."""
    cases = {(program, damage): damaged(damage, program) for program in programs for damage in damages}
    traces = engine.run(Pack((*cases.values(),)), PROGRAMS).traces
    return {of: Observation(case, traces[case.id]) for of, case in cases.items()}


def against(seen):
    """The programs and damages of which something speaks against the job."""
    return {
        (program, damage)
        for (program, damage), run in seen.items()
        if not all(f is True for f in noticed(damage, JOBS[program].came_out)(run))
    }


def test_a_damaged_checkpoint_is_refused_or_changes_nothing_but_for_exchanged_states(spark):
    seen = runs(spark, DAMAGES, JOBS)
    assert against(seen) == {(program, "states exchanged") for program in JOBS}
    refused = {damage for (_, damage), run in seen.items() if run.values("refused")}
    assert {"identity gone", "last plan cut short", "last state gone", "all state gone"} <= refused
    assert "last done gone" not in refused


@pytest.mark.parametrize("program", JOBS)
def test_the_checkpoint_of_an_operator_of_sparks_own_is_damaged(spark, tmp_path, program):
    """The state of each is damaged, and the operator goes on where none is."""
    engine = load_engine(f"spark-native:{NATIVE[program]}")
    engine.open(tmp_path)
    try:
        seen = runs(engine, ["last done gone", "all state gone", "states exchanged"], [program])
    finally:
        engine.close()
    assert against(seen) == {(program, "states exchanged")}
    assert {damage for (_, damage), run in seen.items() if run.values("refused")} == {"all state gone"}

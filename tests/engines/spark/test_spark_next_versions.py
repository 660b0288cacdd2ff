"""Jobs that begin again with a changed program, on real checkpoints."""

import pytest
from common import PROGRAMS

from conformance.engines.spark.checkpoint.settings import SETTINGS
from conformance.generation.timelines import START, SUCCEEDED
from conformance.model.case import Case
from conformance.model.runs import Pack
from conformance.model.scenario import Observation
from conformance.model.schedule import Event
from conformance.plugins.registry import load_engine
from conformance.scenarios.state.next_operators import EXCHANGES
from conformance.scenarios.state.next_operators import PROGRAMS as EXCHANGED
from conformance.scenarios.state.next_operators import goes_on as answers_anew
from conformance.scenarios.state.next_versions import SUMS_TO_MOVE, goes_on

pytestmark = pytest.mark.engine


def case_of(program, change):
    rows = {
        slot.id: [Event(f"e{slot.id}{key}", key, change, START + 10 * slot.id) for key in "ab"]
        for slot in SUCCEEDED.bundles
    }
    return Case("next-versions", program, SUCCEEDED.with_bundles(rows))


def test_fields_go_by_their_places_and_variables_by_their_names(spark):
    asked = ("nothing changed", "field removed", "fields of one type reordered", "variables exchanged", "timers added")
    cases = {change: case_of("sums", change) for change in asked}
    traces = spark.run(Pack((*cases.values(),)), PROGRAMS).traces
    seen = {change: Observation(case, traces[case.id]) for change, case in cases.items()}
    wrong = {change for change, run in seen.items() if not all(f is True for f in goes_on(change)(run))}
    assert wrong == {"fields of one type reordered"}
    assert {change for change, run in seen.items() if run.values("refused")} == {"field removed", "timers added"}


def test_another_query_goes_on_with_what_was_kept_unless_the_keys_have_another_type(spark):
    columns = ("output narrowed", "output column added", "source column added", "source column removed")
    asked = ("key made a number", "key renamed", *columns)
    cases = {change: case_of("sums", change) for change in asked}
    traces = spark.run(Pack((*cases.values(),)), PROGRAMS).traces
    seen = {change: Observation(case, traces[case.id]) for change, case in cases.items()}
    assert all(finding is True for change, run in seen.items() for finding in goes_on(change)(run))
    assert {change for change, run in seen.items() if run.values("refused")} == {"key made a number"}


def test_a_checkpoint_pins_settings(spark):
    cases = {change: case_of("sums", change) for change in SETTINGS}
    run = spark.run(Pack((*cases.values(),)), PROGRAMS)
    seen = {change: Observation(case, run.traces[case.id]) for change, case in cases.items()}
    assert all(finding is True for change, run in seen.items() for finding in goes_on(change)(run))
    told = {change: run.notes[f"next-versions/sums: {change}"].split(":")[0] for change in SETTINGS}
    changed = {change for change, what in told.items() if what == "changed"}
    assert changed == {"changes logged or not", "partitioned anew"}
    assert set(told.values()) == {"pinned", "changed"}


@pytest.mark.parametrize("change", ["another client", "begun by another client"])
def test_spark_connect_and_a_classic_session_go_on_from_each_others_checkpoints(spark, change):
    case = case_of("sums", change)
    run = Observation(case, spark.run(Pack((case,)), PROGRAMS).traces[case.id])
    assert [*goes_on(change)(run)] == [True] * 4


@pytest.mark.slow
def test_a_native_operator_goes_on_under_other_settings(tmp_path):
    engine = load_engine("spark-native:count")
    engine.open(tmp_path)
    asked = EXCHANGES["count again"][1]
    cases = {change: case_of("count again", change) for change in asked}
    run = engine.run(Pack((*cases.values(),)), PROGRAMS)
    engine.close()
    seen = {change: Observation(case, run.traces[case.id]) for change, case in cases.items()}
    checks = {change: answers_anew(EXCHANGED["count again"], change, each) for change, each in asked.items()}
    wrong = {change for change, one in seen.items() if not all(f is True for f in checks[change](one))}
    assert wrong == {"partitioned anew"}
    told = {change: run.notes[f"next-versions/count again: {change}"].split(":")[0] for change in SETTINGS}
    assert {change for change, what in told.items() if what == "refused"} == {"another encoding", "partitioned anew"}
    assert set(told.values()) == {"pinned", "refused"}


@pytest.mark.parametrize("name", ["spark-fmgws-pandas", "spark-fmgws-jvm", "spark-mgws-jvm"])
def test_what_an_older_api_kept_transform_with_state_begins_with(spark, tmp_path, name):
    engine = load_engine(name)
    engine.open(tmp_path)
    case = case_of("moved", None)
    try:
        run = Observation(case, engine.run(Pack((case,)), PROGRAMS).traces[case.id])
    finally:
        engine.close()
    assert [*goes_on("another API", SUMS_TO_MOVE)(run)] == [True] * 4


def test_windows_of_another_size_begin_anew(spark, tmp_path):
    engine = load_engine("spark-native:window")
    engine.open(tmp_path)
    asked = EXCHANGES["windows"][1]
    cases = {change: case_of("windows", change) for change in asked}
    traces = engine.run(Pack((*cases.values(),)), PROGRAMS).traces
    seen = {change: Observation(case, traces[case.id]) for change, case in cases.items()}
    checks = {change: answers_anew(EXCHANGED["windows"], change, each) for change, each in asked.items()}
    wrong = {change for change, run in seen.items() if not all(f is True for f in checks[change](run))}
    assert wrong == {"windows doubled"}
    assert seen["deduplication in front"].values("refused")

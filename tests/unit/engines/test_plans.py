"""Plan twins: which an engine is given, how they are judged, stored and named."""

import itertools
import json
from copy import copy
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pyarrow
import pytest
from drawn import suite_of
from pyarrow import parquet
from unconfirmed import judged

from conformance.confirmation.reduction import Subject
from conformance.confirmation.targets import Targets
from conformance.engines.case_run import CaseRun
from conformance.engines.spark.driving import micro_batches
from conformance.engines.spark.driving.layouts import Layout, part_of
from conformance.engines.spark.driving.micro_batches import MicroBatch
from conformance.engines.spark.jobs import batch_plan
from conformance.engines.spark.jobs.batch_plan import new
from conformance.engines.spark.runtime.running import in_memory
from conformance.engines.spark.runtime.running import written as rows_written
from conformance.execution.ask import Ask, answer_of
from conformance.execution.host import EngineDown
from conformance.execution.packing import packs_of
from conformance.execution.process import Process
from conformance.generation.suite import Scope, Suite
from conformance.judgement.batches import cells_asked, evidences
from conformance.judgement.cell import Verdict
from conformance.judgement.evidence import Runs, pair_differs
from conformance.judgement.reference import reference_traces
from conformance.judgement.verdict import not_expressible
from conformance.model.case import Case, program_ref
from conformance.model.engine import EngineInfo, NotDriven
from conformance.model.plan import PlanTwin, is_plan, titled
from conformance.model.program import JobKind
from conformance.model.runs import Pack
from conformance.model.scenario import programs_of
from conformance.model.schedule import (
    Advance,
    Deliver,
    Event,
    FailOnce,
    InvalidSchedule,
    Partitions,
    Plan,
    Restart,
    Schedule,
    renumbered,
)
from conformance.model.trace import Emission, Trace
from conformance.plugins.registry import load_engine, load_scenarios

T = 1_000_000
DEDUP = next(s for s in load_scenarios() if s.id == "dedup-within-watermark")
PROGRAMS = programs_of([DEDUP])


def case(*bundles):
    steps = [Advance(0, T)]
    for events in bundles:
        steps += [Deliver(len(steps), tuple(events)), Advance(len(steps) + 1, T + 20_000 * len(steps))]
    return Case(DEDUP.id, "dedup", Schedule(tuple(steps)))


FIRST, LATE = Event("e1", "a", None, T + 1), Event("e2", "b", None, T - 1)
DRAWN = case([FIRST], [LATE])
CROWDED = case([FIRST, replace(FIRST, id="e3")])


def asked(can, scenarios=(DEDUP,), bases=(DRAWN, CROWDED)):
    """The suite of an engine that has these abilities, of these cases."""
    reference = reference_traces(programs_of(scenarios), can.lateness)
    return Suite(scenarios, can, bases, 1, reference, Scope(every=True))


def planned(can, bases=(DRAWN,)):
    """The plans that cases have in a suite, one by one."""
    return {plan for case in asked(can, bases=bases).cases for plan in case.schedule.plans}


def test_a_plan_is_the_first_step_of_its_twins():
    twin = PlanTwin("x", "another").perturbation.twin(DRAWN, 0)
    assert twin.schedule.plan == "x"
    assert [type(step) for step in twin.schedule.steps[1:]] == [type(step) for step in DRAWN.schedule.steps]
    assert (twin.base, twin.perturbation, is_plan(twin.perturbation)) == (DRAWN.id, "plan:x", True)
    assert Case.from_json(twin.to_json()) == twin
    assert DRAWN.schedule.plan == ""


def test_a_plan_that_restarts_needs_a_restart_too():
    plan = PlanTwin("x", "another", restarts=True).perturbation
    assert any(isinstance(step, Restart) for step in plan.twin(DRAWN, 0).schedule.steps)
    assert {feature.name for feature in plan.needs} == {"RESTART"}


def test_a_plan_that_scrambles_bundles_has_no_twin_of_a_case_whose_order_counts():
    plan = PlanTwin("x", "another", scrambles=True).perturbation
    assert plan.twin(DRAWN, 0)
    assert plan.twin(CROWDED, 0) is None


def test_a_plan_for_elements_on_time_has_no_twin_of_a_case_with_a_late_one():
    plan = PlanTwin("x", "another", on_time=True).perturbation
    assert plan.twin(DRAWN, 0) is None
    assert plan.twin(CROWDED, 0)


def test_a_plan_that_leaves_no_state_has_no_twin_of_a_program_whose_state_is_read():
    inspected = copy(PROGRAMS[program_ref(DEDUP.id, "dedup")])
    inspected.job = JobKind.INSPECTION
    read = replace(DEDUP, programs={"dedup": inspected})
    found = []
    for leaves_state, scenario in ((False, DEDUP), (False, read), (True, read)):
        plan = PlanTwin("x", "another", leaves_state=leaves_state)
        can = replace(load_engine("reference").capabilities, plans=(plan,))
        found.append(any(case.schedule.plans for case in asked(can, (scenario,)).cases))
    assert found == [True, False, True]


def test_a_witness_of_a_plan_is_reduced_within_what_the_plan_takes():
    plan = PlanTwin("x", "another", on_time=True)
    targets = Targets([DEDUP], reference_traces(PROGRAMS), [plan])
    twin = plan.perturbation.twin(CROWDED, 0)
    late = replace(twin, schedule=renumbered([Plan(0, "x"), *DRAWN.schedule.steps]))
    stays = targets.within(Subject(twin, CROWDED))
    assert stays(Subject(twin, CROWDED))
    assert not stays(Subject(late, DRAWN))


def test_plans_come_before_everything_else():
    Schedule((Plan(0, "x"), Partitions(1, 3), Deliver(2, initial=True), Advance(3, T), Advance(4, T + 1)))
    for steps in ((Partitions(0, 3), Plan(1, "x")), (Plan(0, "x"), Plan(1, "y")), (Plan(0, ""),)):
        with pytest.raises(InvalidSchedule):
            Schedule((*steps, Advance(7, T), Advance(8, T + 1)))


def test_an_engine_takes_its_own_plans_alone():
    can = load_engine("reference").capabilities
    mine, other = (PlanTwin(name, "").perturbation.twin(DRAWN, 0) for name in ("another", "union-empty"))
    program = PROGRAMS[program_ref(DEDUP.id, "dedup")]
    assert can.takes(mine, program)
    assert not can.takes(other, program)
    assert can.no_plan(other.schedule) == "it has no plan 'union-empty'"


@pytest.mark.parametrize("name", ["spark-tws", "spark-native:drop-duplicates", "beam-direct"])
def test_every_plan_of_an_engine_is_asked(name):
    reference = load_engine("reference").capabilities
    on_time = case([FIRST], [replace(LATE, event_time=T + 21_000)])
    can = replace(reference, plans=load_engine(name).capabilities.plans)
    assert planned(can, [DRAWN, CROWDED, on_time]) == {plan.id for plan in can.plans}


def twins_on(name):
    cases = asked(load_engine(name).capabilities).cases
    return [c for c in judged([DEDUP], name, cases) if is_plan(c.perturbation)]


def test_the_reference_answers_alike_whatever_the_plan():
    assert [cell.verdict for cell in twins_on("reference")] == [Verdict.HOLDS]


@pytest.mark.parametrize(
    "mutant", ["plan-drops-output", "plan-repeats-output", "plan-drops-state", "plan-lets-late-elements-in"]
)
def test_a_bug_of_a_plan_alone_is_caught(mutant):
    (cell,) = twins_on(f"mutant:{mutant}")
    assert cell.verdict is Verdict.VIOLATED
    assert cell.guarantee == "the-query-around-it-does-not-change-the-output"
    assert "plan another" in cell.reason


@pytest.mark.parametrize("name", ["spark-tws", "spark-native:drop-duplicates", "beam-direct"])
def test_a_bug_under_one_plan_of_an_engine_speaks_against_that_plan_alone(name):
    """Each plan by itself, whatever it makes of the schedule."""
    reference = load_engine("reference")
    can = replace(reference.capabilities, plans=load_engine(name).capabilities.plans)
    info = EngineInfo(name, "", can)
    on_time = case([FIRST], [replace(LATE, event_time=T + 21_000)])
    bases = [DRAWN, CROWDED, on_time]
    made = [plan.perturbation.twin(base, 1) for plan in can.plans for base in bases]
    twins = [twin for twin in made if twin and can.takes(twin, PROGRAMS[program_ref(DEDUP.id, "dedup")])]
    assert {twin.schedule.plan for twin in twins} == {plan.id for plan in can.plans}
    for plan in can.plans:

        class UnderThisPlan(CaseRun):
            def emit(self, key, outputs, plan=plan):
                super().emit(key, [] if self.case.schedule.plan == plan.id else outputs)

        broken, runs = copy(reference), Runs()
        broken.case_run = UnderThisPlan
        for pack in packs_of([*bases, *twins], 100):
            runs.add(pack, broken.run(pack, PROGRAMS))
        found = evidences([DEDUP], [*bases, *twins], runs, info, reference_traces(PROGRAMS))
        against = {made.id for _, guarantee, made, said in found if guarantee.about_plans and said.against}
        assert against == {plan.perturbation.id}


def test_an_engine_without_plans_says_so():
    can = replace(load_engine("reference").capabilities, plans=())
    info = EngineInfo("bare", "", can)
    (asked,) = [(s, g, p) for s, g, p in cells_asked([DEDUP], info) if g.about_plans]
    assert not_expressible(*asked, info).reason == "its adapter builds one query alone"


def test_programs_in_processing_time_and_with_initial_state_have_no_plan_guarantee():
    for scenario in load_scenarios():
        asked = {g.program for g in scenario.guarantees if g.about_plans}
        assert asked == {
            n
            for n, p in scenario.programs.items()
            if scenario.planned and not (p.waits or p.job is JobKind.INITIAL_STATE)
        }


def test_titles():
    assert titled("restart") == "restart from the checkpoint"
    assert titled("plan:union-empty") == "plan union-empty"


ROWS = [("s/p", "c", key, 0, 1, f"e{n}", "null", n) for n, key in enumerate("abcabcdd")]
HEARTBEAT = ("", "", "", 0, 0, "", "null", 99)


@pytest.fixture
def written(monkeypatch):
    found = {}
    monkeypatch.setattr(
        "conformance.engines.spark.driving.micro_batches.write_file",
        lambda folder, number, rows, typed, group=0: found.update({(folder.name, number): rows}),
    )
    return found


@pytest.mark.parametrize("layout", [Layout(), Layout(files=3), Layout(sources=2), Layout(sources=2, fed=True)])
def test_a_layout_loses_no_row_and_keeps_the_rows_of_a_key_together(layout, written, tmp_path):
    layout.write(tmp_path, 4, MicroBatch(1, True, T), [*ROWS, HEARTBEAT])
    assert sorted(row for rows in written.values() for row in rows) == sorted([*ROWS, HEARTBEAT])
    for key in "abcd":
        homes = [rows for rows in written.values() if any(row[2] == key for row in rows)]
        assert len(homes) == 1
        assert [r for r in homes[0] if r[2] == key] == [r for r in ROWS if r[2] == key]


def test_sources_that_are_empty_by_turns(written, tmp_path):
    layout = Layout(sources=2, fed=True)
    for number in (0, 1):
        layout.write(tmp_path, number, MicroBatch(1, False, T), [HEARTBEAT])
    assert written == {("input", 0): [HEARTBEAT], ("input-2", 1): [HEARTBEAT]}
    second = [row for row in ROWS if part_of(row, 2)]
    layout.write(tmp_path, 2, MicroBatch(1, True, T), [*second, HEARTBEAT])
    assert ("input", 2) not in written


def test_a_steady_source_has_all_heartbeats(written, tmp_path):
    layout = Layout(sources=2, fed=True, steady=True)
    for number in (0, 1):
        layout.write(tmp_path, number, MicroBatch(1, False, T), [HEARTBEAT])
    assert written == {("input", 0): [HEARTBEAT], ("input", 1): [HEARTBEAT]}
    second = [row for row in ROWS if part_of(row, 2)]
    layout.write(tmp_path, 2, MicroBatch(1, True, T), [*second, HEARTBEAT])
    assert written["input", 2] == [HEARTBEAT]
    assert written["input-2", 2] == second


def test_what_a_batch_query_gives_is_told_once():
    one, more = {"key": "a", "value": "1", "nonce": "x"}, {"key": "a", "value": "2", "nonce": "y"}
    again = {**one, "nonce": "z"}
    assert list(new([[one], [again], [more], [more, again, again]])) == [[one], [], [more], [again, again]]


def test_what_a_batch_query_received_before_is_not_received_again():
    def receipts(step, *numbers):
        return [
            {"program": "p", "key": key, "step": step, "received": number}
            for key, number in zip("ab", numbers, strict=True)
        ]

    found = list(new([receipts(1, 2, 1), receipts(3, 4, 2), receipts(3, 4, 2)]))
    assert [sum(row["received"] or 0 for row in rows) for rows in found] == [3, 3, 0]


def test_a_batch_query_reads_all_rows_so_far_and_leaves_out_what_has_not_ended(monkeypatch):
    asked, batches = [], micro_batches.plan(DRAWN.schedule.timeline)

    class Frame:
        def where(self, condition):
            asked[-1] += (condition,)
            return self

        def collect(self):
            return []

    def output(job, number, rows):
        asked.append((number, len(rows)))
        return Frame()

    monkeypatch.setattr(batch_plan, "_output", output)
    job = SimpleNamespace(
        pack=Pack((DRAWN,)), batches=batches, programs=PROGRAMS, typed={}, delay=micro_batches.DELAY, mode="append"
    )
    assert batch_plan.run(job, "over").traces[DRAWN.id].emissions == ()
    heartbeats_and_events = list(itertools.accumulate(1 + batch.bundle for batch in batches))
    watermarks = [0, *(batch.moves_to for batch in batches[:-1])]
    assert asked == [
        (number, rows, f"over <= {watermark}")
        for number, (rows, watermark) in enumerate(zip(heartbeats_and_events, watermarks, strict=True))
    ]


@pytest.mark.parametrize(("engine", "on_time"), [("count", False), ("window", True), ("inner-join", True)])
def test_a_batch_query_answers_for_an_operator_that_drops_late_rows_if_none_is_late(engine, on_time):
    plans = load_engine(f"spark-native:{engine}").capabilities.plans
    assert [plan.on_time for plan in plans if plan.id == "batch"] == [on_time]


def test_a_source_without_rows_before_a_restart(written, tmp_path):
    layout = Layout(sources=2, later=True)
    layout.write(tmp_path, 0, MicroBatch(1, True, T, query=0), [*ROWS, HEARTBEAT])
    assert set(written) == {("input", 0)}
    layout.write(tmp_path, 1, MicroBatch(1, True, T, query=1), [*ROWS, HEARTBEAT])
    assert ("input-2", 1) in written


def test_a_micro_batch_that_ends_a_query_is_read_in_its_turn(written, tmp_path):
    """It is written before the query that it ends, which has no second source yet."""
    layout = Layout(sources=2, later=True)
    layout.write(tmp_path, 0, MicroBatch(1, True, T, query=1, fails=FailOnce(1, True)), [*ROWS, HEARTBEAT])
    assert set(written) == {("input", 0)}


@pytest.mark.parametrize("layout", [Layout(sources=2), Layout(sources=2, idle=True), Layout(sources=2, fed=True)])
def test_a_micro_batch_without_any_row_is_an_empty_file(layout, written, tmp_path):
    layout.write(tmp_path, 0, MicroBatch(1, False, T, without_rows=True), [])
    assert ("input", 0) in written


def test_the_engine_s_own_empty_batch_follows_the_one_that_moves_the_watermark():
    batches = [
        MicroBatch(0, False, T),
        MicroBatch(0, False, T),
        MicroBatch(1, True, T + 5),
        MicroBatch(2, False, T + 5),
    ]
    layout = Layout(fed=True, settles_without_data=True)
    assert [layout.without_data(batches, n) for n in range(4)] == [False, True, False, True]
    assert not any(Layout().without_data(batches, n) for n in range(4))


class Failing:
    """A process in which each query of a plan fails."""

    alive = True

    def run(self, pack):
        raise EngineDown("QueryFailed: Broken pipe")


def test_a_plan_that_fails_while_its_process_lives_has_answered():
    (plan,) = load_engine("reference").capabilities.plans
    twin = plan.perturbation.twin(DRAWN, 1)
    given = Ask(Process(Failing)).pack(Pack((twin,)))
    assert (given.failure, given.lost) == ("", {})
    assert given.traces[twin.id].error == "the plan failed: QueryFailed: Broken pipe"
    assert answer_of(Failing(), Pack((twin,))).traces == given.traces


def test_a_plain_query_that_fails_is_lost():
    given = Ask(Process(Failing)).pack(Pack((DRAWN,)))
    assert given.failure == "QueryFailed: Broken pipe"
    assert given.lost == {DRAWN.id: "QueryFailed: Broken pipe"}
    with pytest.raises(EngineDown):
        answer_of(Failing(), Pack((DRAWN,)))


def test_only_what_is_asked_about_plans_has_twins():
    """A twin that no guarantee looks at would show nothing."""
    scenarios = tuple(s for s in load_scenarios() if s.id in ("typed-keys", "per-key-counting"))
    can = replace(load_engine("reference").capabilities, plans=(PlanTwin("x", "another"),))
    cases = suite_of(scenarios, 1, 1, can).cases
    assert {case.scenario for case in cases} == {"typed-keys", "per-key-counting"}
    assert {case.scenario for case in cases if case.schedule.plans} == {"per-key-counting"}


def test_plans_about_stored_state_restart_where_a_restart_keeps_the_order():
    def stored(engine):
        plans = load_engine(engine).capabilities.plans
        return {plan.id: plan for plan in plans if plan.id.startswith("state-")}

    assert {plan.restarts for plan in stored("spark-tws").values()} == {True}
    assert {plan.restarts for plan in stored("spark-native:window").values()} == {False}
    assert not any("restarted" in plan.text for plan in stored("spark-native:window").values())
    assert "state-avro" in stored("spark-tws-jvm")
    assert "state-avro" not in stored("spark-fmgws-jvm")
    assert "state-formats-1" not in stored("spark-native:inner-join")  # a join has formats of its own


def test_a_seeded_place_of_a_restart_is_the_same_each_time():
    plan = PlanTwin("x", "", restarts=True).perturbation
    assert plan.apply(DRAWN.schedule, Random(1)) == plan.apply(DRAWN.schedule, Random(1))


def test_a_plan_may_change_the_order_within_a_step_alone():
    (guarantee,) = [g for g in DEDUP.guarantees if g.about_plans]
    twin = PlanTwin("x", "another").perturbation.twin(DRAWN, 0)
    one, two = Emission("a", {"accepted": "e1"}, 2), Emission("a", {"accepted": "e2"}, 2)

    def differs(*later):
        traces = {DRAWN.id: Trace((one, two)), twin.id: Trace(later)}
        return bool(pair_differs(DEDUP.programs["dedup"], guarantee, DRAWN, twin, traces))

    assert not differs(replace(two, step=3), replace(one, step=3))  # the plan is a step of its own
    assert differs(replace(one, step=3), replace(two, step=5))
    assert differs(replace(one, step=3), replace(one, step=3))


def test_the_files_of_each_batch_are_read_from_the_log_of_the_sink(tmp_path):
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    told = []
    for batch in range(3):
        file = tmp_path / f"part-{batch}.parquet"
        parquet.write_table(pyarrow.table({"key": [f"of {batch}"]}), file)
        told.append(json.dumps({"path": f"file://{file}", "action": "add"}))
        compact = batch == 2  # such a log has the lines of all batches before it
        (log / f"{batch}{'.compact' * compact}").write_text("\n".join(["v1", *(told if compact else told[-1:])]))
    (log / ".0.crc").write_text("")
    assert rows_written(tmp_path) == {batch: [{"key": f"of {batch}"}] for batch in range(3)}


def test_the_rows_of_the_memory_sink_are_those_of_each_batch_in_turn():
    told = [{"batchId": batch, "sink": {"numOutputRows": rows}} for batch, rows in enumerate((2, 0, 1))]
    assert in_memory(["a", "b", "c"], told) == {0: ["a", "b"], 1: [], 2: ["c"]}
    for rows in ("ab", "abcd"):
        with pytest.raises(NotDriven, match=f"the memory sink has {len(rows)} rows"):
            in_memory([*rows], told)


def test_a_plan_of_one_query_takes_no_case_that_begins_another():
    plan, steps = PlanTwin("x", "another", one_query=True), DRAWN.schedule.steps
    assert plan.takes(DRAWN.schedule)
    for begins in (Restart(0), FailOnce(0, resume=True)):
        again = renumbered([*steps[:1], begins, *steps[1:]])
        assert not plan.takes(again)
        assert PlanTwin("x", "another").takes(again)
    assert plan.takes(renumbered([*steps[:1], FailOnce(0), *steps[1:]]))

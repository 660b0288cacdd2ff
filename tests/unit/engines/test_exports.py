"""Exports: which witnesses can be one file without this project, and what a file holds."""

import ast
import builtins
import json
import re
import statistics
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.comparison.exported import exportable, exported
from conformance.engines.exporting import Source, _shown
from conformance.engines.folded import folded
from conformance.engines.spark.export import native as export_native
from conformance.engines.yielding import yielding
from conformance.model import types
from conformance.model.export import CannotExport, Difference, rows
from conformance.model.schedule import NoData, Restart, Wait, renumbered
from conformance.model.trace import Emission, Trace
from conformance.model.types import shown
from conformance.plugins.inlined import Inlined, _bound, _free
from conformance.plugins.registry import UnknownName, engine_ids, export_names, load_export, load_scenarios
from conformance.results.witness import Witness, of_scenario, read_witnesses
from conformance.scenarios.calls.combined_calls import CallsInWindows
from conformance.scenarios.stories.windowed_counting import CountPerWindow
from conformance.scenarios.typed.typed_samples import SAMPLES

ROOT = Path(__file__).parents[3]
SCENARIOS = {scenario.id: scenario for scenario in load_scenarios()}


def asked(name, release=""):
    """A stored witness, as a format sees it; perhaps as if it had been found on a release."""
    found = Witness.read(ROOT / "witnesses" / f"{name}.json")
    found = replace(found, engine=found.engine + release)
    scenario = SCENARIOS[found.case.scenario]
    return exportable(found, scenario, scenario.askable[found.guarantee])


BEAM, TESTER, SPARK = "late-data/de43f08c32c5", "timer-firing/c7417487fb0b", "event-time-timers/45bff12a76ef"
GROUPS, JOIN = "event-time-timers/143c03987576", "stream-join/c93d2da5fc2d"


@pytest.mark.parametrize(
    ("form", "name"),
    [("teststream", BEAM), ("twstester", TESTER), ("spark", SPARK), ("spark", GROUPS), ("spark", JOIN)],
)
def test_a_file_imports_nothing_of_ours_and_defines_nothing_twice(form, name):
    text = load_export(form)(asked(name))
    assert text == load_export("pytest")(asked(name))
    tree = ast.parse(text)
    froms = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [module for module in froms if re.match("conformance|engines|scenarios", module)]
    defined = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    assert len(set(defined)) == len(defined)
    assert defined[-1].startswith("test_witness_")


@pytest.mark.parametrize("name", [BEAM, SPARK, JOIN])
def test_a_witness_of_a_release_has_the_file_of_any_other(name):
    one, other = asked(name), asked(name, "@9.9")
    text = load_export("pytest")(other)
    assert text.replace(other.witness, one.witness) == load_export("pytest")(one)


def test_a_program_brings_what_it_needs_and_leaves_out_what_it_declares():
    found = Inlined()
    found.add(CountPerWindow)
    scope = {}
    exec("\n".join(["from __future__ import annotations", *sorted(found.imports), *found.definitions]), scope)
    assert not hasattr(scope["CountPerWindow"], "cells")
    assert scope["CountPerWindow"].__mro__[1:] == (object,)
    assert scope["CountPerWindow"].on_event.__annotations__ == {}


def stored():
    """A stored witness of each engine and program."""
    found = {}
    for witness in read_witnesses(ROOT / "witnesses"):
        found.setdefault((witness.engine, witness.case.ref), witness)
    return found.values()


CANNOT = (
    "exports witnesses of|which has no files|exports do not (have|show)|does not have|no file (for it shows|can show)|"
    "by its order alone|among its neighbours"
)
"""What a witness is refused for on purpose."""


def test_stored_witnesses_are_exported_unless_one_line_says_why_not():
    lines, refused, several = {}, [], 0
    for found in stored():
        try:
            text = exported(found, SCENARIOS.values(), "pytest")
        except CannotExport as error:
            refused.append(str(error))
            continue
        assert not undefined(text), (found.id, undefined(text))
        if len(found.case.schedule.arrivals) == 1:
            lines[found.id] = text.count("\n"), most_lines(found)
        else:
            several += 1
    assert len(lines) + several > 100
    assert [found for found, (there, most) in lines.items() if there > most] == [], "a file of one event is longer"
    assert statistics.median(there for there, _ in lines.values()) <= 80
    assert [line for line in refused if not re.search(CANNOT, line)] == []


def most_lines(found):
    """How long the file of a witness of one event may be. Prism has a part of its own, and calls have many timers."""
    if "-native:" in found.engine:
        return 85 if "prism" in found.engine else 65
    return 120 if "prism" in found.engine or found.case.scenario == "combined-calls" else 110


def undefined(text):
    """The names that a file uses and nobody defines."""
    tree = ast.parse(text)
    there = {name for node in ast.walk(tree) if isinstance(node, ast.stmt) for name in _bound(node)} | {*dir(builtins)}
    used = {name for node in tree.body for name in _free(node)}
    return used - there - {"__name__"}


def text_of(name):
    found = Witness.read(ROOT / "witnesses" / f"{name}.json")
    others = of_scenario(found.case.scenario, [ROOT / "witnesses"])
    return " ".join(exported(found, SCENARIOS.values(), "pytest", others).split())


def test_a_witness_of_the_jvm_has_the_file_of_its_sibling_in_pyspark():
    other = text_of("click-trail/784d5b041f17")
    assert "the same guarantee fails on applyInPandasWithState in PySpark (spark-fmgws-pandas), on the" in other
    assert "applyInPandasWithState(" in other
    same = text_of("event-time-timers/1bfaa7f7fe96")
    assert "the same schedule fails on transformWithState in PySpark (spark-tws)." in same
    assert ".transformWithState(" in same
    with pytest.raises(CannotExport, match=r"is of spark-mgws-jvm, which has no files, and no witness shows the same"):
        text_of("anomaly-detection/2001809b5d34")


@pytest.mark.parametrize("observed", [False, True])
def test_a_file_expects_what_is_guaranteed_or_what_was_observed(observed):
    found = replace(asked(BEAM), observed=observed)
    scope = {"__name__": "exported"}
    exec(load_export("pytest")(found), scope)
    test = scope[found.test_name]
    for trace, passes in ((found.seen, observed), (found.specified, not observed)):
        scope["run"] = lambda trace=trace: rows(trace)
        if passes:
            test()
        else:
            with pytest.raises(AssertionError, match="observed: "):
                test()


def test_a_program_keeps_what_it_reads_of_its_declarations():
    found = Inlined()
    found.add(CallsInWindows)
    scope = {}
    exec("\n".join(["from __future__ import annotations", *sorted(found.imports), *found.definitions]), scope)
    program = scope["CallsInWindows"]()
    assert (program.windowing.size, program.types) == (5_000, {})
    assert not hasattr(program, "timers")


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_file_shows_the_types_that_its_rows_have_as_a_trace_does(sample):
    value = SAMPLES[sample][1]
    data = repr(shown(value))
    scope = vars(types) | {"Decimal": Decimal, "json": json}
    exec(_shown(data, Source("", (), (), "")), scope)
    if "digest" not in data:
        assert scope["shown"](value) == shown(value)
    assert scope["shown"](...) == {"ellipsis": "Ellipsis"}


def test_what_the_values_of_a_cases_events_decide_is_decided():
    source = """
class Joined:
    def on_event(self, event, state, timers, emit):
        left = event.value == LEFT
        mine, others = (state.lefts, state.rights) if left else (state.rights, state.lefts)
        if event.value == "none":
            return
        time = event.event_time + BOUND * left
        mine.put(event.id, time)
        for cell in (state.lefts, state.rights):
            cell.clear()
"""
    definitions = ["LEFT, BOUND = 'left', 10", source]
    text = folded(definitions, ["left"])[1]
    assert text.splitlines()[3:] == [
        "        time = event.event_time + 10",
        "        state.lefts.put(event.id, time)",
        "        state.lefts.clear()",
        "        state.rights.clear()",
    ]
    assert "others" in folded(definitions, ["left", "right"])[1]
    apart = folded(definitions, ["left", "right"], apart=True)[1]
    assert apart.count("if event.value == ") == 2
    assert "state.rights.put(event.id, time)" in apart
    assert "others" not in apart


def test_callbacks_yield_rows_in_the_place_of_those_that_call_emit():
    source = """
class Panes:
    def on_event(self, event, state, timers, emit):
        emit({"id": event.id})
        self.fire(event.value, emit)
    def on_timer(self, timer, state, timers, emit):
        pass
    def fire(self, value, emit):
        emit(value)
"""
    (text,) = yielding([source], "subject.key")
    scope = {}
    exec(text, scope)
    event = SimpleNamespace(id="e1", key="a", value=7)
    assert [*scope["Panes"]().on_event(event, None, None)] == [["a", {"id": "e1"}], ["a", 7]]
    assert [*scope["Panes"]().on_timer(event, None, None)] == []
    assert yielding([source.replace("emit(value)", "list(map(emit, value))")], "subject.key") is None


def test_one_timer_at_a_time_needs_no_names_where_the_engine_has_none():
    text = load_export("spark")(asked("late-data/0dc6731aada9"))
    assert "timers.registerTimer(" in text
    assert "NamedTimers" not in text
    assert "NamedTimers" in load_export("spark")(asked(SPARK)), "it sets several"


def test_a_program_that_uses_a_cell_otherwise_than_by_its_name_has_no_file():
    found = asked(SPARK)
    source = "class Odd:\n    def on_event(self, event, state, timers, emit):\n        emit(vars(state))"
    with pytest.raises(CannotExport, match="does with a cell what exports for spark-tws do not have"):
        load_export("spark")(replace(found, source=source))


def test_a_format_is_for_witnesses_of_its_engine():
    for form, name in (("teststream", TESTER), ("twstester", SPARK), ("spark", BEAM)):
        with pytest.raises(CannotExport, match=rf"{form} exports witnesses of .*; witness \w+ is of "):
            load_export(form)(asked(name))
    with pytest.raises(CannotExport, match=r"no witness of spark-none; it exports witnesses of beam-direct, "):
        load_export("pytest")(replace(asked(BEAM), engine="spark-none"))


@pytest.mark.parametrize(
    ("engine", "form", "runner"),
    [
        ("beam-prism", "teststream", "PrismRunner"),
        ("beam-fnapi", "bounded", "FnApiRunner"),
        ("beam-auto", "bounded", "DirectRunner"),
    ],
)
def test_a_file_of_beam_has_the_runner_of_its_engine(engine, form, runner):
    text = load_export("pytest")(replace(asked(BEAM), engine=engine))
    assert text == load_export(form)(replace(asked(BEAM), engine=engine))
    assert f"beam.Pipeline(runner={runner}()" in text
    assert ("TestStream" in text) is (form == "teststream")
    ast.parse(text)


def test_a_restart_is_a_step_of_sparks_files_alone():
    found = asked(SPARK)
    steps = renumbered([*found.case.schedule.steps[:-1], Restart(98), *found.case.schedule.steps[-1:]])
    restarted = replace(found, case=replace(found.case, schedule=steps))
    assert "('restart', None)" in load_export("spark")(restarted)
    with pytest.raises(CannotExport, match="needs a step that exports do not have: Restart"):
        load_export("twstester")(replace(restarted, engine="spark-tws-tester"))


def test_rows_that_come_out_in_another_step_are_compared_by_step_where_a_file_can():
    """Spark fires a timeout of a group once the watermark is past it. Of TestStream no file tells steps."""
    found = asked(GROUPS)
    assert found.difference is Difference.STEPS
    assert [row[0] for row in found.by_step(found.specified)] == [2]
    assert [row[0] for row in found.by_step(found.seen)] == [3]
    assert "found.extend([number, *json.loads(row.row)]" in load_export("spark")(found)
    with pytest.raises(CannotExport, match="only the steps differ in which beam-direct put its rows out"):
        load_export("teststream")(replace(found, engine="beam-direct"))
    assert asked(SPARK).difference is Difference.ROWS


def test_output_in_a_step_that_exports_do_not_have_is_one_line():
    """Though only the steps differ."""
    found = asked(GROUPS)
    steps = [*found.case.schedule.steps[:-1], Wait(0, 5_000), found.case.schedule.steps[-1]]
    schedule = renumbered(steps)
    seen = Trace((replace(found.seen.emissions[0], step=schedule.steps[-2].id),))
    waiting = replace(found, case=replace(found.case, schedule=schedule), seen=seen)
    assert waiting.difference is Difference.STEPS
    with pytest.raises(CannotExport, match="needs a step that exports do not have: Wait"):
        load_export("spark")(waiting)


def test_the_state_function_of_a_file_keeps_cells_and_timers_in_the_one_state():
    pandas = pytest.importorskip("pandas")
    scope = {"__name__": "exported"}
    exec(load_export("spark")(asked(GROUPS)), scope)

    class Group:
        exists, hasTimedOut, watermark, timeout = False, False, 1_000, None

        def getCurrentWatermarkMs(self):
            return self.watermark

        def update(self, state):
            self.exists, self.get = True, state

        def remove(self):
            self.exists = False

        def setTimeoutTimestamp(self, ms):
            self.timeout = ms

    def called(group, *rows):
        frame = pandas.DataFrame(rows, columns=["id", "key", "value", "ms"])
        (out,) = scope["handled"](("a",), [frame], group)
        return [json.loads(row) for row in out.row]

    group = Group()
    assert called(group, ("", "", "null", 0)) == []
    assert not group.exists
    assert called(group, ("e1", "a", "null", 2_000)) == []
    assert (group.exists, group.timeout) == (True, 12_000)
    group.hasTimedOut, group.watermark, group.timeout = True, 12_001, None
    assert called(group) == [["a", {"fired": 12_000}]]
    assert group.timeout is None


def test_a_file_of_an_operator_of_spark_has_the_query_as_a_user_writes_it():
    found = asked(JOIN)
    text = load_export("spark")(found)
    assert "INTERVAL 10000 MILLISECONDS" in text
    assert '"full_outer"' in text
    assert "PROGRAM" not in text, "the operator does its job"
    names = [name for name in engine_ids() if name.startswith("spark-native:")]
    with pytest.raises(CannotExport, match="exports do not have the operator of spark-native:count-complete"):
        load_export("pytest")(replace(found, engine="spark-native:count-complete"))
    assert {f"spark-native:{name}" for name in export_native.QUERIES} <= {*names}


def test_what_a_file_cannot_hold_is_said():
    found = asked(BEAM)
    case = found.case
    steps = renumbered([*case.schedule.steps[:-1], NoData(98), *case.schedule.steps[-1:]])
    with pytest.raises(CannotExport, match="needs a step that exports do not have: NoData"):
        load_export("teststream")(replace(found, case=replace(case, schedule=steps)))
    with pytest.raises(CannotExport, match="put out the rows that the reference put out"):
        load_export("teststream")(replace(found, seen=found.specified))
    stopped = Trace((Emission("a", None, 1, None, "ValueError: no"),))
    with pytest.raises(CannotExport, match="stops with an exception"):
        load_export("teststream")(replace(found, seen=stopped))
    for name, lacks in (
        ("state-ttl", "processing time"),
        ("stored-state", "stored"),
    ):
        program = next(iter(SCENARIOS[name].programs.values()))
        with pytest.raises(CannotExport, match=f"its program needs .*{lacks}"):
            load_export("teststream")(replace(found, program=program))


def test_of_a_case_and_its_twin_a_file_has_the_one_on_which_the_output_is_wrong():
    found = Witness.read(ROOT / "witnesses" / f"{BEAM}.json")
    scenario = SCENARIOS["late-data"]
    guarantee = scenario.askable[found.guarantee]
    twin_is_wrong = exportable(replace(found, base=found.case, base_seen=found.specified), scenario, guarantee)
    assert (twin_is_wrong.seen, twin_is_wrong.one_of_two) == (found.seen, True)
    base_is_wrong = replace(found, base=found.case, base_seen=found.seen, seen=found.specified)
    base_is_wrong = exportable(base_is_wrong, scenario, guarantee)
    assert (base_is_wrong.seen, base_is_wrong.specified) == (found.seen, found.specified)
    said = " ".join(load_export("teststream")(base_is_wrong).split())
    assert "this is the one on which the output is not the expected one" in said


def test_keys_of_several_types_cannot_be_exported():
    with pytest.raises(CannotExport, match="needs keys of several types"):
        load_export("bounded")(asked("typed-keys-of-operators/7ecec139f101"))


def test_a_case_that_needs_another_one_cannot_be_exported():
    found = Witness.read(ROOT / "witnesses" / f"{BEAM}.json")
    scenario = SCENARIOS["late-data"]
    guarantee = scenario.askable[found.guarantee]
    with pytest.raises(CannotExport, match="a case among its neighbours"):
        exportable(replace(found, neighbours=(found.case,)), scenario, guarantee)


def test_an_unknown_format_names_the_nearest():
    assert export_names() == ["bounded", "pytest", "spark", "teststream", "twstester"]
    with pytest.raises(UnknownName, match="unknown format 'testream'; did you mean teststream"):
        load_export("testream")

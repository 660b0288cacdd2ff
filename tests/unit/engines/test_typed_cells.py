"""Typed cells on Spark's state variables and on the one state of a key, without Spark; and the coders of Beam's cells,
without a runner."""

import json
import runpy
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.engines.spark.operators.groups_operator import initial_state
from conformance.engines.spark.operators.tws_operator import variables
from conformance.engines.spark.state import typed_groups
from conformance.engines.spark.state.cells import Guarded
from conformance.engines.spark.state.typed_cells import TYPED, columns, parts, refusal
from conformance.model import Cell, EngineFault, Feature, Program
from conformance.model.program import JobKind
from conformance.model.types import Array, Decimal, Int, Long, Map, Refused, String, Struct, Timestamp
from conformance.plugins.registry import load_engine, load_scenarios

PAIR = Struct((("a", Int()), ("b", String())))


class Typed(Program):
    cells = {"pair": Cell.VALUE, "many": Cell.BAG, "by": Cell.MAP, "text": Cell.VALUE}
    types = {"pair": PAIR, "many": Long(), "by": Map(String(), PAIR)}


class Variable:
    """A state variable that keeps rows, and refuses what is no tuple."""

    def __init__(self):
        self.rows = []

    def update(self, row):
        if not isinstance(row, tuple):
            raise TypeError("no tuple")
        self.rows = [row]

    def get(self):
        return self.rows[0] if self.rows else None

    def clear(self):
        self.rows = []


class Group:
    """A GroupState."""

    exists = False

    @property
    def get(self):
        return self.state

    def update(self, state):
        self.state, self.exists = state, True


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (Long(), "v bigint"),
        (Decimal(10, 3), "v decimal(10,3)"),
        (Array(Map(String(), Timestamp())), "v array<map<string,timestamp>>"),
        (PAIR, "a int, b string"),
        (Array(PAIR), "v array<struct<a:int,b:string>>"),
    ],
)
def test_a_type_has_a_schema(kind, schema):
    assert columns(kind) == schema


def test_a_map_has_a_schema_of_its_keys_and_one_of_its_values():
    assert parts(Map(String(), PAIR), Cell.MAP) == (String(), PAIR)
    assert variables({"one": Typed()})["one", "by"].schemas == ("k string", "a int, b string")


def test_a_struct_is_the_row_and_another_value_is_its_only_field():
    variable = Variable()
    TYPED[Cell.VALUE](Guarded(variable), PAIR).set((1, "x"))
    assert variable.rows == [(1, "x")]
    cell = TYPED[Cell.VALUE](Guarded(variable), Long())
    cell.set(7)
    assert (variable.rows, cell.get()) == ([(7,)], 7)
    cell.clear()
    assert cell.get("nothing") == "nothing"


def test_a_call_that_fails_is_a_refusal_that_the_program_can_catch():
    with pytest.raises(Refused) as refused:
        TYPED[Cell.VALUE](Guarded(Variable()), PAIR).set([1, "x"])
    assert refused.value.error == "TypeError"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("update: PySparkRuntimeError: Error: java.lang.ArithmeticException: overflow", "ArithmeticException"),
        ("update: PySparkValueError: [LENGTH_SHOULD_BE_THE_SAME] obj", "LENGTH_SHOULD_BE_THE_SAME"),
        ("nothing known", "EngineFault"),
    ],
)
def test_a_refusal_has_the_name_of_the_innermost_error(said, error):
    assert refusal(EngineFault(said)).error == error


def test_cells_of_one_type_share_a_variable_and_those_of_other_types_do_not():
    found = variables({"one": Typed(), "other": Typed()})
    assert found["one", "pair"] == found["other", "pair"]
    assert len({found["one", cell] for cell in Typed.cells}) == 4
    assert found["one", "text"].schemas == ("v string",)


def test_typed_cells_are_columns_of_the_one_state():
    programs = {"one": Typed()}
    assert typed_groups.schema({}) == "json string"
    assert [part.split()[1] for part in typed_groups.schema(programs).split(", ")] == [
        "string",
        "struct<a:int,b:string>",
        "array<bigint>",
        "map<string,struct<a:int,b:string>>",
    ]
    group, there = Group(), []
    found = typed_groups.columns_of(programs)
    cells = {
        cell: typed_groups.TYPED[Typed.cells[cell]](group, cell, found["one", cell][0], 4, there, lambda: None)
        for cell in Typed.types
    }
    assert (cells["pair"].get("nothing"), cells["many"].get(), cells["by"].items()) == ("nothing", [], [])
    cells["many"].add(2)
    cells["by"].put("k", None)
    cells["pair"].set((1, None))
    assert group.state == ("{}", (1, None), [2], {"k": None})
    assert (cells["pair"].get(), cells["many"].get(), cells["by"].items()) == ((1, None), [2], [("k", None)])
    cells["pair"].clear()
    assert (cells["pair"].get("nothing"), there) == ("nothing", ["many", "by"])


class Begun(Typed):
    job = JobKind.INITIAL_STATE

    def on_initial(self, event, state):
        state.text.set(event.value)
        state.many.set([1, 2])


def test_a_key_starts_with_its_typed_cells():
    row = SimpleNamespace(program="one", id="e1", key="a", value='"x"', event_time=datetime(2026, 1, 1))
    text, *typed = initial_state({"one": Begun(), "other": Typed()}, row)
    assert json.loads(text) == {"cells": {"text": ['"x"']}, "typed": ["many"]}
    assert typed == [None, [1, 2], None]


def test_arrays_in_the_one_state_are_for_releases_that_keep_the_case_of_its_schema():
    def takes(name):
        return load_engine(name).capabilities.features[Feature.CONTAINERS].how == "native"

    assert takes("spark-fmgws-pandas@3.5.9")
    assert not takes("spark-fmgws-pandas@4.3.0")
    assert not takes("spark-fmgws-pandas@4.0.5+4.3.0")


def test_no_program_of_a_scenario_has_two_cells_in_one_column():
    for scenario in load_scenarios():
        for program in scenario.programs.values():
            places = [place for place, _, _ in typed_groups.columns_of({"p": program}).values()]
            assert len(set(places)) == len(places)


def test_beam_has_a_coder_for_every_type_of_the_scenarios():
    typed_cells = pytest.importorskip("conformance.engines.beam.pipelines.typed_cells")
    types = [kind for s in load_scenarios() for program in s.programs.values() for kind in program.types.values()]
    assert types
    for kind in types:
        assert typed_cells.coder(kind) is not None


def test_a_beam_without_a_coder_of_32_bits_carries_integers_with_that_of_64(monkeypatch):
    pytest.importorskip("apache_beam")
    assert coder_of_int() == "VarInt32Coder"
    monkeypatch.delattr("apache_beam.coders.coders.VarInt32Coder")
    assert coder_of_int() == "VarIntCoder"


def coder_of_int():
    """As the module has it when it is imported."""
    module = Path(typed_groups.__file__).parents[2] / "beam" / "pipelines" / "typed_cells.py"
    return runpy.run_path(str(module))["SCALARS"][Int].__name__

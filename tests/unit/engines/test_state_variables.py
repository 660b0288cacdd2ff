"""The state variables of transformWithState that the programs of a pack share."""

from collections import Counter

from conformance.engines.spark.operators.tws_operator import variables
from conformance.model.program import Cell, Program
from conformance.model.scenario import programs_of
from conformance.plugins.registry import load_scenarios


class Seen(Program):
    cells = {"last": Cell.VALUE, "sum": Cell.COMBINING, "names": Cell.SET}
    timers = ("end",)


class Kept(Program):
    cells = {"first": Cell.VALUE, "short": Cell.VALUE}
    ttl = {"short": 1_000}


def test_programs_share_variables_of_a_kind_and_a_ttl():
    found = variables({"seen": Seen(), "kept": Kept()})
    assert found["seen", "last"] == found["kept", "first"]
    assert found["kept", "short"].ttl == 1_000
    assert len(set(found.values())) == 5
    assert {variable.kind for variable in found.values()} == {"value", "map"}


def test_no_two_cells_of_a_program_share_one():
    programs = programs_of(load_scenarios())
    found = variables(programs)
    assert max(Counter((name, variable) for (name, _), variable in found.items()).values()) == 1
    assert {cell for _, cell in found} >= {cell for program in programs.values() for cell in program.cells}
    assert len(set(found.values())) < len(found) / 3


def test_a_program_has_the_same_variables_whoever_is_packed_with_it():
    """So that one that is run alone meets the state that it would meet in a pack."""
    programs = programs_of(load_scenarios())
    together = variables(programs)
    for name, program in programs.items():
        assert variables({name: program}).items() <= together.items()

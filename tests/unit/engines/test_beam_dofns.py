"""The DoFns of the Beam adapters: the states that programs share, and what Beam is told of their methods."""

from collections import Counter

import pytest

from conformance.model.program import Cell, Program
from conformance.model.scenario import programs_of
from conformance.plugins.registry import load_scenarios

dofn = pytest.importorskip("conformance.engines.beam.pipelines.dofn")
inspected = pytest.importorskip("conformance.engines.beam.pipelines.inspected")

PROGRAMS = programs_of(load_scenarios())


class Seen(Program):
    cells = {"last": Cell.VALUE, "sum": Cell.COMBINING, "names": Cell.SET}


class Kept(Program):
    cells = {"first": Cell.VALUE, "second": Cell.VALUE}


def test_programs_share_states_of_a_kind_and_no_two_cells_of_a_program_do():
    found = dofn.states({"seen": Seen(), "kept": Kept()})
    assert found["seen", "last"] == found["kept", "first"] != found["kept", "second"]
    every = dofn.states(PROGRAMS)
    assert max(Counter((name, state) for (name, _), state in every.items()).values()) == 1
    assert every.keys() == {(name, cell) for name, program in PROGRAMS.items() for cell in program.cells}
    assert len(set(every.values())) < len(every) / 3


def test_a_program_has_the_same_states_whoever_is_packed_with_it():
    every = dofn.states(PROGRAMS)
    for name, program in PROGRAMS.items():
        assert dofn.states({name: program}).items() <= every.items()


def test_cells_that_share_a_state_have_one_coder():
    kinds = {}
    for (name, cell), state in dofn.states(PROGRAMS).items():
        kinds.setdefault(state, set()).add((PROGRAMS[name].cells[cell], PROGRAMS[name].types.get(cell)))
    assert {len(found) for found in kinds.values()} == {1}


def test_beam_is_told_what_it_would_find():
    from apache_beam.transforms import core
    from apache_beam.transforms.userstate import get_dofn_specs

    built = dofn.build({"seen": Seen()})
    for name in ("process", "on_timer", "start_bundle", "finish_bundle", "setup"):
        told = core.get_function_arguments(built, name)
        assert told == core.get_function_args_defaults(getattr(built, name))
        told[0].clear()
        assert core.get_function_arguments(built, name)[0] or name not in ("process", "on_timer")
    states, timers = get_dofn_specs(built)
    assert len(states) == 3
    assert len(timers) == 1

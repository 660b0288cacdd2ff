"""Typed cells: what the reference keeps, what the guarantees say of it, and the mutants that they catch."""

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal as Number
from functools import cache
from random import Random

import pytest

from conformance.engines.mutants import MUTANTS
from conformance.judgement.evidence import findings_against
from conformance.model import Case, Cell, Pack, Program, program_ref
from conformance.model.program import InvalidProgram
from conformance.model.scenario import programs_of
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.types import Array, Decimal, Double, Float, Int, Map, Refused, String, Struct, shown
from conformance.plugins.registry import load_engine, load_scenarios

SECTIONS = {f"conformance.engines.mutants.typed.{name}" for name in ("types", "moments", "containers", "misfits")}
SCENARIOS = [scenario for scenario in load_scenarios() if scenario.id in ("typed-state", "typed-collections")]
PROGRAMS = programs_of(SCENARIOS)


def all_values(scenario, program):
    """One case: every value of the program's domain, for one key, and most again in another order."""
    values = scenario.domain[program].values
    again = [value for value in values if not value.endswith("100")]
    Random(1).shuffle(again)
    events = [*values, *values[:2], *again]
    half = len(events) // 2
    made = [Event(f"e{n}", "a", value, 1_000_001 + n) for n, value in enumerate(events)]
    steps = (
        Advance(0, 1_000_000),
        Deliver(1, tuple(made[:half])),
        Deliver(2, tuple(made[half:])),
        Advance(3, 2_000_000),
    )
    return Case(scenario.id, program, Schedule(steps))


@cache
def judged(name):
    """Guarantee -> the sentences against it on an engine, of all typed scenarios; None where nothing tested it."""
    found, engine = {}, load_engine(name)
    for scenario in SCENARIOS:
        for name in scenario.programs:
            case = all_values(scenario, name)
            trace = engine.run(Pack((case,)), {program_ref(scenario.id, name): scenario.programs[name]}).traces[case.id]
            for guarantee in scenario.guarantees:
                if guarantee.program == name and guarantee.predicate:
                    tested, against = findings_against(guarantee, case, trace)
                    found[scenario.id, guarantee.id] = against if tested else None
    return found


def test_the_reference_keeps_every_guarantee_and_every_guarantee_is_tested():
    assert {name: against for name, against in judged("reference").items() if against != []} == {}


@pytest.mark.parametrize("mutant", [name for name, found in MUTANTS.items() if found.section in SECTIONS])
def test_every_bug_of_typed_cells_is_caught(mutant):
    assert any(judged(f"mutant:{mutant}").values())


def test_every_guarantee_about_values_catches_a_mutant():
    caught = set()
    for name, found in MUTANTS.items():
        if found.section in SECTIONS:
            caught |= {place for place, against in judged(f"mutant:{name}").items() if against}
    general = {place for place in judged("mutant:output-twice") if "answered-once" in place[1]}
    assert set(judged("reference")) - caught <= general


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Int(), 2**31),
        (Int(), True),
        (Int(), "7"),
        (Float(), 0.1),
        (Double(), 1),
        (Decimal(4, 2), Number("100.00")),
        (Decimal(4, 2), Number("1.234")),
        (String(), b"abc"),
        (Array(Int()), (1, 2)),
        (Map(String(), Int()), {None: 1}),
        (Struct((("a", Int()),)), (1, 2)),
    ],
)
def test_what_does_not_fit_a_type_is_refused(kind, value):
    with pytest.raises(Refused, match="DoesNotFit"):
        kind.fitted(value)


def test_a_value_is_shown_with_its_type():
    values = [1, 1.0, True, "1", b"1", Number("1.00"), date(2026, 1, 1), None, [1], (1,), {"a": 1}]
    assert len({str(shown(value)) for value in values}) == len(values)
    assert shown(math.nan) == {"double": "NaN"}
    assert shown(-0.0) != shown(0.0)
    assert shown(Number("1.500")) != shown(Number("1.5"))
    assert shown({"b": 1, "a": None}) == shown({"a": None, "b": 1})


def test_a_moment_is_shown_in_microseconds_whatever_its_zone():
    at = datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc)
    assert shown(at) == {"timestamp": -1} == shown(at.astimezone(timezone(timedelta(hours=5))))


def test_a_long_value_is_shown_by_size_and_digest():
    assert shown("a" * 10_000)["text"]["size"] == 10_000
    assert shown("a" * 10_000) != shown("a" * 9_999 + "b")


def test_a_set_has_no_type_and_a_map_has_the_type_of_its_entries():
    for cells, types in (({"a": Cell.SET}, {"a": String()}), ({"a": Cell.MAP}, {"a": Int()}), ({}, {"a": Int()})):
        with pytest.raises(InvalidProgram, match="may have a type"):
            type("Odd", (Program,), {"cells": cells, "types": types})

"""Typed keys: which keys the reference takes for one, what the guarantees say of it, and the mutants that they
catch."""

import math
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal as Number
from functools import cache

import pytest
from handmade import judged_by

from conformance.confirmation.reduction import Subject, Target, reduce, single_changes
from conformance.engines.mutants import MUTANTS
from conformance.engines.typed_keys import types_in_use
from conformance.judgement.evidence import findings_against
from conformance.model import Case, Feature, Pack, Program, TypedKey, program_ref
from conformance.model.engine import program_needs
from conformance.model.perturbation import RENAME, SPLIT, UNRELATED_KEY, possible
from conformance.model.program import InvalidProgram, JobKind
from conformance.model.schedule import Advance, Deliver, Event, InvalidSchedule, Schedule
from conformance.model.types import Decimal, Double, Int, Long, String, Struct, Timestamp
from conformance.plugins.registry import load_engine, load_scenarios

SECTIONS = {"conformance.engines.mutants.typed.typed_keys"}
SCENARIO = next(scenario for scenario in load_scenarios() if scenario.id == "typed-keys")
T = 1_000_000


def case_of(program, *bundles):
    """A case with the given keys in each bundle."""
    steps, number = [Advance(0, T)], 0
    for place, names in enumerate(bundles, 1):
        events = [Event(f"e{number + n}", name, None, T + number + n) for n, name in enumerate(names, 1)]
        number += len(names)
        steps.append(Deliver(place, tuple(events)))
    return Case(SCENARIO.id, program, Schedule((*steps, Advance(len(steps), 2 * T))))


def of_families():
    """A case for each family of each program: all keys in one bundle, again in the next, the first key alone and twice,
    and the last alone."""
    for program, domain in SCENARIO.domain.items():
        for family in domain.names:
            yield case_of(program, family, family[::-1], family[:1], family[:1] * 2, family[-1:])


@cache
def judged(name):
    """Guarantee -> the sentences against it on an engine; None where nothing tested it."""
    return judged_by(load_engine(name), SCENARIO, of_families())


def test_the_reference_keeps_every_guarantee_and_every_guarantee_is_tested():
    assert {name: against for name, against in judged("reference").items() if against != []} == {}


@pytest.mark.parametrize("mutant", [name for name, found in MUTANTS.items() if found.section in SECTIONS])
def test_every_bug_of_typed_keys_is_caught(mutant):
    assert any(judged(f"mutant:{mutant}").values())


def test_every_guarantee_about_keys_catches_a_mutant():
    names = [name for name, found in MUTANTS.items() if found.section in SECTIONS]
    caught = {
        place for name in (*names, "output-twice") for place, against in judged(f"mutant:{name}").items() if against
    }
    assert set(judged("reference")) == caught


def one(kind, value):
    return TypedKey(kind, value).identity


def test_keys_are_equal_by_type_and_value():
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    pair = Struct((("a", Int()), ("b", String())))
    assert one(Double(), math.nan) == one(Double(), float("nan"))
    assert one(Decimal(10, 3), Number("1.5")) == one(Decimal(10, 3), Number("1.50"))
    assert one(Timestamp(), at) == one(Timestamp(), at.astimezone(timezone(timedelta(hours=5))))
    assert one(pair, (1, None)) == one(pair, (1, None))
    keys = [
        one(Int(), 1),
        one(Long(), 1),
        one(Double(), 1.0),
        one(String(), "1"),
        one(Double(), 0.0),
        one(Double(), -0.0),
    ]
    keys += [one(String(), None), one(Int(), None), one(String(), ""), one(pair, (1, None)), one(pair, (1, ""))]
    assert len(set(keys)) == len(keys)


class Keyed(Program):
    keys = {"one": TypedKey(Int(), 1), "none": TypedKey(String(), None)}


def test_a_key_that_was_handed_over_has_its_name_back():
    program = Keyed()
    assert program.key_name(TypedKey(Int(), 1)) == "one"
    assert program.key_name(TypedKey(String(), None)) == "none"
    assert program.key_name(TypedKey(Int(), 1.0)) == '{"double":"1.0"}'
    assert program.key_name("a text") == "a text"
    with pytest.raises(InvalidSchedule, match="Keyed has no key 'two'"):
        program.typed_key("two")


def test_a_key_fits_its_type_and_a_domain_has_the_keys_of_its_program():
    with pytest.raises(InvalidProgram, match="the key 'a' does not fit its type"):
        type("Odd", (Program,), {"keys": {"a": TypedKey(Int(), "1")}})
    with pytest.raises(InvalidProgram, match="has no initial state"):
        type("Odd", (Program,), {"keys": Keyed.keys, "job": JobKind.INITIAL_STATE})
    domain = {"values": replace(SCENARIO.domain["values"], keys=3, names=(("int 0", "int 1", "x"),))}
    with pytest.raises(ValueError, match="'x' is no key of the program 'values'"):
        replace(
            SCENARIO, programs={"values": SCENARIO.programs["values"]}, domain=domain, guarantees=(), stable_under={}
        )


def test_what_a_program_with_typed_keys_needs():
    assert {Feature.TYPED_KEYS, Feature.NULL_KEYS} <= program_needs(Keyed())
    assert Feature.NULL_KEYS not in program_needs(SCENARIO.programs["values"])
    assert not any(possible(Keyed(), perturbation) for perturbation in (RENAME, UNRELATED_KEY))
    assert possible(Keyed(), SPLIT)


def test_only_the_types_of_a_packs_keys_are_in_use():
    case = case_of("values", ["int 1", "noon", "int 0"])
    programs = {program_ref(SCENARIO.id, "values"): SCENARIO.programs["values"]}
    assert list(map(str, types_in_use(Pack((case,)), programs))) == ["int", "timestamp"]


def test_a_reduced_case_has_keys_of_its_program():
    program = SCENARIO.programs["values"]
    engine = load_engine("mutant:text-keys-in-lower-case")
    guarantee = next(
        g
        for g in SCENARIO.guarantees
        if g.id == "keys-that-differ-in-upper-and-lower-case-or-in-unicode-s-normal-form-are-kept-apart"
    )
    asked = []

    def run(cases):
        asked.extend(cases)
        programs = {program_ref(SCENARIO.id, "values"): program}
        return {case.id: engine.run(Pack((case,)), programs).traces[case.id] for case in cases}

    def fails(subject, traces):
        return bool(findings_against(guarantee, subject.case, traces[subject.case.id])[1])

    target = Target(program, guarantee, Subject(case_of("values", ["key", "Key", "KEY"], ["KEY", "key"])), fails)
    reduce([target], run)
    assert len(target.subject.case.schedule.arrivals) == 2
    asked += [changed for _, changed in single_changes(case_of("values", ["key", "key"]), program)]
    assert all(program.has_key(arrival.event.key) for case in asked for arrival in case.schedule.arrivals)

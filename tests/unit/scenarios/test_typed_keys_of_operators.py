"""Typed keys of operators: what the guarantees say of the reference, of bugs, and of answers that several operators may
give."""

from functools import cache

import pytest
from drawn import cases_of
from handmade import judged_by

from conformance.engines.mutants import MUTANTS
from conformance.generation.timelines import MONTH
from conformance.judgement.evidence import findings_against
from conformance.model import Case
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Emission, Trace
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.scenarios.stories.stream_join import LEFT, RIGHT
from conformance.scenarios.typed.typed_key_rivals import APART, TWO_FORMS
from conformance.scenarios.typed.typed_key_samples import BESIDE_NULLS
from conformance.scenarios.typed.typed_keys_of_operators import HORIZON

SCENARIO = next(scenario for scenario in load_scenarios() if scenario.id == "typed-keys-of-operators")
SECTION = "conformance.engines.mutants.typed.operator_keys"
OTHERS = ["keys-equal-in-python", "keys-without-places", "keys-of64-ki-b", "nan-equals-nothing", "null-keys-never-meet"]
OTHERS += ["structs-without-last-field", "null-keys-are-zero", "scales-part-later", "output-twice"]
OTHERS += ["times-truncated-to-the-minute"]
T = 1_000_000


def case_of(program, *bundles):
    """A case with the given keys in each bundle; each has a left row and a right one in a join."""
    steps, number = [Advance(0, T)], 0
    for place, names in enumerate(bundles, 1):
        events = []
        for name in names:
            for value in (LEFT, RIGHT) if program == "join" else (None,):
                number += 1
                events.append(Event(f"e{number}", name, value, T + number))
        steps.append(Deliver(place, tuple(events)))
    return Case(SCENARIO.id, program, Schedule((*steps, Advance(len(steps), 2 * T))))


def cases():
    """A case for each family of each program: all keys in one bundle, all in the next, and the last key twice."""
    kinds = [family for families in APART.values() for family in families]
    for program in SCENARIO.programs:
        for family in (*kinds, *TWO_FORMS, *(BESIDE_NULLS if program != "join" else ())):
            yield case_of(program, family, family[::-1], family[-1:] * 2)


@cache
def judged(name):
    """Guarantee -> the sentences against it on an engine; None where nothing tested it."""
    return judged_by(load_engine(name), SCENARIO, cases())


def against(name):
    return {place for place, told in judged(name).items() if told}


def test_the_reference_keeps_every_guarantee_and_every_guarantee_is_tested():
    assert {name: told for name, told in judged("reference").items() if told != []} == {}


@pytest.mark.parametrize("mutant", [name for name, found in MUTANTS.items() if found.section == SECTION])
def test_every_bug_of_an_operators_keys_is_caught(mutant):
    assert against(f"mutant:{mutant}")


def test_every_guarantee_about_keys_catches_a_mutant():
    names = [name for name, found in MUTANTS.items() if found.section == SECTION]
    assert set().union(*(against(f"mutant:{name}") for name in (*names, *OTHERS))) == set(judged("reference"))


@pytest.mark.parametrize(
    ("mutant", "caught"),
    [
        ("text-keys-by-hash", {"keys-that-are-texts-are-counted-apart", "keys-that-are-texts-are-no-duplicates"}),
        (
            "zeros-part-later",
            {
                "two-forms-of-one-number-are-counted-as-one-key-or-as-two",
                "two-forms-of-one-number-are-duplicates-always-or-never",
            },
        ),
        ("null-fields-equal-nothing", {"elements-of-equal-keys-are-joined", "elements-of-equal-keys-are-duplicates"}),
        ("null-keys-dropped", {"keys-beside-a-null-are-no-duplicates", "a-count-comes-out-under-the-key-that-went-in"}),
    ],
)
def test_a_bug_is_caught_by_the_guarantee_that_speaks_of_it(mutant, caught):
    assert caught <= against(f"mutant:{mutant}")


def said(program, case, *emissions):
    """The sentences against an operator that puts out (key, value)."""
    trace = Trace.collect([Emission(key, value, 1) for key, value in emissions])
    of = [guarantee for guarantee in SCENARIO.guarantees if guarantee.program == program and guarantee.predicate]
    return [told for guarantee in of for told in findings_against(guarantee, case, trace)[1]]


def test_an_operator_may_take_two_forms_for_one_key_or_for_two_and_hand_over_either():
    case = case_of("count", ["double 0.0", "-0.0"], ["-0.0"], ["double 0.0"])
    one = [("double 0.0", {"count": n}) for n in (2, 3, 4)]
    two = [("double 0.0", {"count": 1}), ("-0.0", {"count": 1}), ("-0.0", {"count": 2}), ("double 0.0", {"count": 2})]
    assert said("count", case, *one) == said("count", case, *two) == []
    assert said("count", case, *one[:2]) != []
    case = case_of("dedup", ["double 0.0", "-0.0"], ["-0.0"], ["double 0.0"])
    first, second, third = ((key, {"accepted": f"e{n}"}) for n, key in enumerate(["double 0.0", "-0.0", "-0.0"], 1))
    assert said("dedup", case, first) == said("dedup", case, first, second) == []
    assert said("dedup", case, first, third) != []


def test_which_of_two_forms_in_a_bundle_is_the_first_is_not_asked():
    both = case_of("dedup", ["double 0.0", "-0.0"])
    one, other = ((key, {"accepted": f"e{n}"}) for n, key in enumerate(["double 0.0", "-0.0"], 1))
    assert said("dedup", both, one) == said("dedup", both, other) == []
    apart = case_of("dedup", ["double 0.0"], ["-0.0"])
    assert said("dedup", apart, one) == []
    assert said("dedup", apart, other) != []


def test_a_count_for_each_bundle_is_enough():
    case = case_of("count", ["int 1", "int 1"], ["int 1"])
    assert said("count", case, ("int 1", {"count": 2}), ("int 1", {"count": 3})) == []
    assert said("count", case, ("int 1", {"count": 2})) != []
    assert said("count", case, ("text 1", {"count": 3})) != []


def test_no_case_lasts_as_long_as_an_operator_knows_a_key():
    """Duplicates that an operator may have forgotten would accuse it."""
    times = [[a.event.event_time for a in case.schedule.arrivals] for case in cases_of(SCENARIO)]
    longest = max(max(found) - min(found) for found in times if found)
    assert MONTH <= longest < HORIZON

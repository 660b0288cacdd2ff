"""The equivalence lattice: its order, what programs promise, and what a broken engine loses."""

from collections import Counter
from dataclasses import replace

import pytest

from conformance.engines.reference import SPECIFIED
from conformance.execution.packing import packs_of
from conformance.judgement.evidence import Runs
from conformance.judgement.reference import reference_traces
from conformance.judgement.stability import survey
from conformance.model.case import Case
from conformance.model.engine import Capabilities, EngineInfo
from conformance.model.equivalence import IMPLIES, Equivalence, alike, maximal
from conformance.model.feature import NATIVE, Feature, unsupported
from conformance.model.perturbation import PERTURBATIONS, REORDER_KEY, REORDERINGS, RETRY, REVERSE, factors_of
from conformance.model.program import Program
from conformance.model.scenario import Scenario, programs_of, promise
from conformance.model.schedule import Advance, Deliver, Event, Schedule
from conformance.model.trace import Emission, Trace
from conformance.plugins.registry import load_engine, load_scenarios

SCENARIOS = load_scenarios()
PROGRAMS = programs_of(SCENARIOS)


@pytest.fixture(scope="module")
def specified(cases):
    return _runs(load_engine("reference"), cases)


@pytest.fixture(scope="module")
def surveyed(cases, specified):
    """What is known of the reference."""
    return _survey("reference", cases, specified)


def _runs(engine, cases):
    runs = Runs()
    for pack in packs_of(cases, 1_000):
        runs.add(pack, engine.run(pack, PROGRAMS))
    return runs


def _survey(name, cases, runs=None):
    engine = load_engine(name)
    info = EngineInfo(engine.id, engine.title, engine.capabilities)
    reference = reference_traces(PROGRAMS, engine.capabilities.lateness)
    found = survey(SCENARIOS, cases, _runs(engine, cases) if runs is None else runs, info, reference)
    return {(s.scenario, s.program, s.perturbation): s for s in found}


def test_the_order_is_partial():
    """The same multiset does not imply the same last value, nor the other way round."""
    assert maximal(Equivalence) == [Equivalence.IDENTICAL]
    both = [Equivalence.SAME_MULTISET, Equivalence.SAME_FINAL_VALUE]
    assert maximal([*both, Equivalence.SAME_UP_TO_RELABELLING]) == both
    assert maximal([]) == []
    for stronger, weaker in IMPLIES.items():
        assert stronger not in weaker
        assert all(IMPLIES[w] <= weaker for w in weaker)


def test_every_promise_is_kept_by_the_reference_on_every_pair(surveyed):
    """So that calling pairs inapplicable can hide nothing that was promised."""
    promised = 0
    for stability in surveyed.values():
        for grade in stability.grades:
            assert grade.refuted == 0
            assert grade.counted + grade.inapplicable <= stability.pairs
            if grade.equivalence is stability.promised:
                promised += 1
                assert grade.inapplicable == 0
    assert promised == sum(len(kept) for s in SCENARIOS for kept in s.stable_under.values())


def test_a_promise_names_perturbations():
    assert promise([REORDER_KEY, REVERSE], Equivalence.IDENTICAL) == {
        "reorder-key": Equivalence.IDENTICAL,
        "reverse": Equivalence.IDENTICAL,
    }


def test_every_program_is_surveyed_under_every_perturbation(cases, surveyed):
    assert surveyed.keys() == {(s.id, name, p.id) for s in SCENARIOS for name in s.programs for p in PERTURBATIONS}
    twins = Counter((c.scenario, c.program, name) for c in cases for name in factors_of(c.perturbation))
    assert {place for place, stability in surveyed.items() if stability.pairs > twins[place]} == set()
    assert {place for place, stability in surveyed.items() if stability.pairs} <= set(twins)


def test_what_is_promised_under_each_of_several_perturbations_is_kept_under_all_of_them(cases, specified):
    promises = {(s.id, name): kept for s in SCENARIOS for name, kept in s.stable_under.items()}
    seen, tried = {case.id: (case.schedule, specified.traces[case.id]) for case in cases}, 0
    for case in cases:
        names = factors_of(case.perturbation)
        kept = {promises.get((case.scenario, case.program), {}).get(name) for name in names}
        if len(names) > 1 and len(kept) == 1 and None not in kept:
            tried += 1
            assert kept <= alike(PROGRAMS[f"{case.scenario}/{case.program}"], seen[case.base], seen[case.id]), case.id
    assert tried > 100


def test_a_broken_engine_loses_its_equivalence(cases):
    """Dropping what is out of order breaks the counts of reordered twins; the smallest pair is kept."""
    bases = [case for case in cases if case.scenario == "per-key-counting" and not case.base]
    cases = [*bases, *(twin for base in bases for p in REORDERINGS if (twin := p.twin(base, 1)))]
    runs, program = _runs(load_engine("mutant:out-of-order-dropped"), cases), PROGRAMS["per-key-counting/count"]
    surveyed = _survey("mutant:out-of-order-dropped", cases, runs)
    seen = {case.id: (case.schedule, runs.traces[case.id]) for case in cases}
    counts = [case for case in cases if (case.scenario, case.program) == ("per-key-counting", "count")]
    reordered = [case for case in counts if case.perturbation in {p.id for p in REORDERINGS}]
    refuting = [c for c in reordered if Equivalence.IDENTICAL not in alike(program, seen[c.base], seen[c.id])]
    assert refuting
    for perturbation in {case.perturbation for case in refuting}:
        stability = surveyed["per-key-counting", "count", perturbation]
        assert stability.promised is Equivalence.IDENTICAL
        assert Equivalence.IDENTICAL not in stability.observed
        base, twin = stability.grades[0].smallest
        assert base.id == twin.base
        assert twin.size == min(case.size for case in refuting if case.perturbation == perturbation)
        assert all(stability.traces[case.id] == runs.traces[case.id] for case in (base, twin))


def test_a_case_that_a_failure_did_not_reach_says_nothing_of_it(cases):
    bases = [case for case in cases if case.program == "count" and not case.base and len(case.schedule.bundles) > 1][:4]
    retried = [RETRY.twin(base, 1) for base in bases]
    runs, pairs = _runs(load_engine("reference"), [*bases, *retried]), []
    for untouched in (set(), {retried[0].id}):
        runs.untouched = untouched
        surveyed = _survey("reference", [*bases, *retried], runs)
        pairs.append(sum(s.pairs for key, s in surveyed.items() if key[2] == RETRY.id))
    assert pairs == [len(retried), len(retried) - 1]


@pytest.mark.parametrize("perturbation", PERTURBATIONS, ids=lambda p: p.id)
def test_an_engine_of_one_bundle_and_no_watermark_cannot_be_asked_all(perturbation):
    """What is missing is named: something that the perturbation needs."""
    stability = _survey("beam-fnapi", [], Runs())["per-key-counting", "count", perturbation.id]
    named = {stability.unsupported.partition(":")[0]}
    assert named <= ({need.value for need in perturbation.needs} or {""})
    assert stability.observed == []


def _small(name, *keys, **more):
    """One bundle with an event for each key."""
    events = tuple(Event(f"{name}{number}", key, None, 20) for number, key in enumerate(keys))
    return Case("s", "p", Schedule((Advance(0, 10), Deliver(1, events), Advance(2, 30))), **more)


def _out(*values):
    return Trace(tuple(Emission("a", value, 1) for value in values))


BASES = [_small("x", "a"), _small("y", "a", "a"), _small("z", "a", "b")]
RETRIED = [replace(base, perturbation=RETRY.id, base=base.id) for base in BASES]
PLAIN = Scenario("s", "", {"p": Program()}, {"p": None}, (), {"p": promise([RETRY], Equivalence.SAME_SEQUENCE)})


def _survive(engine, reference, runs=None, features=None):
    """What is known of PLAIN, by perturbation, from the traces of BASES and then RETRIED."""
    cases = [*BASES, *RETRIED]
    given, specified = (dict(zip((c.id for c in cases), traces, strict=True)) for traces in (engine, reference))
    info = EngineInfo("e", "", Capabilities(dict.fromkeys(Feature, NATIVE) | (features or {}), SPECIFIED))
    found = survey([PLAIN], cases, runs or Runs(given), info, lambda cases: specified)
    return {stability.perturbation: stability for stability in found}


ORDERED, SWAPPED, OTHERS = _out(1, 2), _out(2, 1), _out(3, 2)


def test_a_pair_counts_where_the_reference_keeps_it_and_refutes_where_the_engine_does_not():
    """The second is reordered on the engine; of the third the reference keeps the last value alone."""
    engine = [ORDERED, ORDERED, ORDERED, ORDERED, SWAPPED, SWAPPED]
    survived = _survive(engine, [ORDERED] * 5 + [OTHERS])[RETRY.id]
    assert [(g.equivalence.value, g.counted, g.inapplicable, g.refuted) for g in survived.grades] == [
        ("identical", 2, 1, 1),
        ("same sequence", 2, 1, 1),
        ("same multiset", 2, 1, 0),
        ("same final value", 3, 0, 2),
    ]
    assert [g.smallest for g in survived.grades] == [(BASES[1], RETRIED[1])] * 2 + [None, (BASES[1], RETRIED[1])]
    assert survived.traces == {BASES[1].id: ORDERED, RETRIED[1].id: SWAPPED}
    assert survived.observed == []
    assert (survived.pairs, survived.promised, survived.unsupported) == (3, Equivalence.SAME_SEQUENCE, "")
    assert (survived.scenario, survived.program, survived.engine) == ("s", "p", "e")


def test_the_smallest_refuting_pair_is_the_one_with_the_smallest_twin():
    """Whatever the sizes of the bases."""
    twins = [
        _small("x", "a", "a", "b", perturbation=RETRY.id, base=BASES[0].id),
        _small("y", "a", perturbation=RETRY.id, base=BASES[1].id),
    ]
    cases = [*BASES[:2], *twins]
    traces = {case.id: SWAPPED if case in twins else ORDERED for case in cases}
    specified = traces | {twin.id: trace for twin, trace in zip(twins, (OTHERS, SWAPPED), strict=True)}
    info = EngineInfo("e", "", Capabilities(dict.fromkeys(Feature, NATIVE), SPECIFIED))
    for reference, counted, inapplicable in [(dict.fromkeys(traces, ORDERED), 2, 0), (specified, 0, 2)]:
        found = survey([PLAIN], cases, Runs(traces), info, lambda cases, given=reference: given)
        (first, *_) = next(s for s in found if s.perturbation == RETRY.id).grades
        assert (first.counted, first.inapplicable) == (counted, inapplicable)
        assert first.smallest == ((BASES[1], twins[1]) if counted else None)
    one = traces | {twins[0].id: ORDERED, twins[1].id: SWAPPED}
    found = survey([PLAIN], cases, Runs(traces), info, lambda cases: one)
    (first, *_) = next(s for s in found if s.perturbation == RETRY.id).grades
    assert (first.counted, first.inapplicable, first.smallest) == (1, 1, (BASES[0], twins[0]))


def test_what_was_observed_held_on_every_pair():
    """A grade that was refuted, that a pair was inapplicable to, or that no pair counted at was not."""
    assert _survive([ORDERED] * 6, [ORDERED] * 6)[RETRY.id].observed == [Equivalence.IDENTICAL]
    partly = [ORDERED] * 3 + [ORDERED, ORDERED, SWAPPED]
    assert _survive(partly, [ORDERED] * 6)[RETRY.id].observed == [Equivalence.SAME_MULTISET]
    assert _survive([ORDERED] * 6, partly)[RETRY.id].observed == [Equivalence.SAME_MULTISET]
    assert _survive([ORDERED] * 6, [ORDERED] * 3 + [_out(9)] * 3)[RETRY.id].observed == []


def test_a_pair_without_both_answers_is_left_out():
    """Lost, stopped, or not reached by the failure."""
    stopped = Trace((Emission("a", None, 1, None, "KeyError: x"),))
    for at in range(6):
        traces = dict(zip((c.id for c in (*BASES, *RETRIED)), [ORDERED] * 6, strict=True))
        name = list(traces)[at]
        assert _survive([ORDERED] * 6, [ORDERED] * 6, Runs(traces | {name: stopped}))[RETRY.id].pairs == 2
        del traces[name]
        assert _survive([ORDERED] * 6, [ORDERED] * 6, Runs(traces))[RETRY.id].pairs == 2


def test_what_the_engine_lacks_is_named_and_the_other_perturbations_are_surveyed():
    surveyed = _survey_without(Feature.RETRY)
    assert list(surveyed) == [p.id for p in PERTURBATIONS]
    assert surveyed[RETRY.id].unsupported == f"{Feature.RETRY.value}: it has none"
    assert (surveyed[RETRY.id].pairs, surveyed[RETRY.id].grades) == (0, ())
    assert surveyed[RETRY.id].promised is Equivalence.SAME_SEQUENCE
    assert surveyed[REVERSE.id].unsupported == ""
    assert surveyed[REVERSE.id].promised is None


def _survey_without(feature):
    return _survive([ORDERED] * 6, [ORDERED] * 6, features={feature: unsupported("it has none")})


def test_what_is_known_of_a_stability_is_written_down():
    survived = _survive([ORDERED] * 4 + [SWAPPED] * 2, [ORDERED] * 6)[RETRY.id].to_json()
    assert (survived["scenario"], survived["program"], survived["perturbation"]) == ("s", "p", "retry")
    assert (survived["promised"], survived["observed"]) == ("same sequence", ["same multiset"])
    assert (survived["engine"], survived["pairs"], "unsupported" in survived) == ("e", 3, False)
    first, _, kept, _ = survived["grades"]
    assert first == {
        "equivalence": "identical",
        "counted": 3,
        "inapplicable": 0,
        "refuted": 2,
        "smallest": [BASES[1].to_json(), RETRIED[1].to_json()],
    }
    assert survived["traces"] == {BASES[1].id: ORDERED.to_json(), RETRIED[1].id: SWAPPED.to_json()}
    assert (kept["equivalence"], kept["refuted"], "smallest" in kept) == ("same multiset", 0, False)
    assert _survey_without(Feature.RETRY)[REVERSE.id].to_json()["promised"] is None

"""The equivalence lattice: its order, what programs promise, and what a broken engine loses."""

import pytest

from conformance import checking
from conformance.engine import EngineInfo
from conformance.equivalence import IMPLIES, Equivalence, equivalent, maximal
from conformance.generation import draw_cases
from conformance.guarantees import programs_of
from conformance.lattice import survey
from conformance.model import Advance, Deliver, Emission, Schedule, Trace
from conformance.registry import load_engine, load_scenarios
from conformance.runner import exercised_by_any_reading, packs_of, reference_traces

SCENARIOS = load_scenarios()
PROGRAMS = programs_of(SCENARIOS)
SCHEDULE = Schedule((Advance(0, 10), Deliver(1), Advance(2, 20)))


@pytest.fixture(scope="module")
def cases():
    return draw_cases(SCENARIOS, 20, 3, exercised_by_any_reading(SCENARIOS))


def _survey(name, cases):
    engine = load_engine(name)
    runs = checking.Runs()
    for pack in packs_of(cases, 1_000):
        runs.add(pack, engine.run(pack, PROGRAMS))
    info = EngineInfo(engine.id, engine.title, engine.capabilities)
    reference = reference_traces(PROGRAMS, engine.capabilities.lateness)
    return {(s.scenario, s.program, s.perturbation): s for s in survey(SCENARIOS, cases, runs, info, reference)}


def test_the_order_is_partial():
    """The same multiset does not imply the same last value, nor the other way round."""
    assert maximal(Equivalence) == [Equivalence.IDENTICAL]
    both = [Equivalence.SAME_MULTISET, Equivalence.SAME_FINAL_VALUE]
    assert maximal([*both, Equivalence.SAME_UP_TO_RELABELLING]) == both
    assert maximal([]) == []
    for stronger, weaker in IMPLIES.items():
        assert stronger not in weaker
        assert all(IMPLIES[w] <= weaker for w in weaker)


def test_labels_may_be_dealt_out_anew():
    """But not within another key, and not other labels."""

    def trace(*given):
        return Trace.collect(Emission(key, {"id": i, "index": n}, 1) for key, i, n in given)

    base = (SCHEDULE, trace(("a", "e1", 0), ("a", "e2", 1), ("b", "e3", 0)))
    for other, alike in [
        (trace(("a", "e2", 0), ("a", "e1", 1), ("b", "e3", 0)), True),
        (trace(("a", "e1", 0), ("a", "e2", 2), ("b", "e3", 0)), False),
        (trace(("a", "e1", 0), ("a", "e2", 0), ("b", "e3", 1)), False),
        (trace(("a", "e1", 0), ("a", "e4", 1), ("b", "e3", 0)), False),
    ]:
        assert equivalent(Equivalence.SAME_UP_TO_RELABELLING, base, (SCHEDULE, other), ["index"]) is alike


def test_every_promise_is_kept_by_the_reference_on_every_pair(cases):
    """So that calling pairs inapplicable can hide nothing that was promised."""
    promised = 0
    for survival in _survey("reference", cases).values():
        for grade in survival.grades:
            assert grade.refuted == 0
            if grade.equivalence is survival.promised:
                promised += 1
                assert (grade.counted, grade.inapplicable) == (survival.pairs, 0)
    assert promised == sum(len(kept) for s in SCENARIOS for kept in s.survives.values())


def test_a_broken_engine_loses_its_equivalence(cases):
    """Dropping what is out of order breaks the counts of reordered twins; the smallest pair is kept."""
    found = _survey("mutant:out-of-order-dropped", cases)["per-key-counting", "count", "reorder"]
    assert found.promised is Equivalence.IDENTICAL
    assert Equivalence.IDENTICAL not in found.observed
    worst = found.grades[0]
    assert worst.refuted > 0
    base, twin = worst.smallest
    assert len(twin.schedule.arrivals) <= 3
    assert {base.id, twin.id} <= found.traces.keys()


def test_an_engine_of_one_bundle_cannot_rebundle(cases):
    survival = next(
        s
        for s in survey(
            SCENARIOS,
            cases,
            checking.Runs(),
            EngineInfo("beam-fnapi", "", load_engine("beam-fnapi").capabilities),
            reference_traces(PROGRAMS),
        )
        if s.perturbation == "rebundle"
    )
    assert survival.unsupported.startswith("several bundles")
    assert survival.observed == []

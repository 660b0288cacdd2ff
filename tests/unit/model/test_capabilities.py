"""Capabilities are data: complete, and asked for what a case needs."""

import pytest
from drawn import cases_of

from conformance.generation.readings import exercised_by_any_reading
from conformance.model.case import Case, program_ref
from conformance.model.engine import Capabilities, case_needs
from conformance.model.feature import NATIVE, Feature, unsupported
from conformance.model.lateness import Lateness, LatenessProfile
from conformance.model.perturbation import BY_ID, factors_of
from conformance.model.scenario import programs_of
from conformance.model.schedule import Advance, Deliver, Event, FailOnce, Partitions, Restart, Schedule
from conformance.plugins.registry import UnknownName, engine_ids, load_engine, load_scenarios

PROFILE = LatenessProfile(Lateness.NEVER, Lateness.NEVER)
COUNT = next(s for s in load_scenarios() if s.id == "per-key-counting").programs["count"]


@pytest.mark.parametrize("name", engine_ids())
def test_every_engine_says_all_and_gives_reasons(name):
    """What is not native has a note; a reason names the version it was seen on."""
    for feature, support in load_engine(name).capabilities.features.items():
        assert support.how == "native" or support.note, feature
        if support.how == "unsupported":
            assert any(char.isdigit() for char in support.note), support.note


def test_silence_is_refused():
    with pytest.raises(ValueError, match="say nothing of"):
        Capabilities({Feature.VALUE: NATIVE}, PROFILE)


def test_an_adapter_need_not_name_a_feature_that_may_be_younger_than_it():
    found = Capabilities({feature: NATIVE for feature in Feature if feature is not Feature.OUTPUT_TIME}, PROFILE)
    assert found.why_not(Feature.OUTPUT_TIME).endswith("output: the adapter does not name it")


def _case(*steps):
    return Case("per-key-counting", "count", Schedule(steps))


@pytest.mark.parametrize(
    ("case", "needs"),
    [
        (_case(Advance(0, 10), Deliver(1, (Event("e", "a", None, 11),)), Advance(2, 99)), {"COMBINING"}),
        (_case(Advance(0, 10), Deliver(1, (Event("e", "a", None, 10),)), Advance(2, 99)), {"COMBINING", "WATERMARK"}),
        (_case(Advance(0, 10), Deliver(1), Deliver(2), Advance(3, 99)), {"COMBINING", "SEVERAL_BUNDLES"}),
        (_case(Advance(0, 10), Deliver(1), Advance(2, 20), Advance(3, 99)), {"COMBINING", "WATERMARK"}),
        (_case(Advance(0, 10), Deliver(1), Restart(2), Advance(3, 99)), {"COMBINING", "RESTART"}),
        (_case(Advance(0, 10), FailOnce(1), Deliver(2), Advance(3, 99)), {"COMBINING", "RETRY"}),
        (_case(Advance(0, 10), FailOnce(1, resume=True), Deliver(2), Advance(3, 99)), {"COMBINING", "RESUME"}),
        (_case(Partitions(0, 5), Advance(1, 10), Deliver(2), Advance(3, 99)), {"COMBINING", "PARTITIONS"}),
        (
            _case(Advance(0, 10), Advance(1, 20, coalesced=True), Deliver(2), Advance(3, 99)),
            {"COMBINING", "COALESCED", "WATERMARK"},
        ),
    ],
)
def test_what_a_case_needs(case, needs):
    assert {feature.name for feature in case_needs(case, COUNT)} == {"EMISSIONS", *needs}


def test_the_first_missing_feature_is_named():
    can = Capabilities({f: unsupported("no, 1.0") if f is Feature.MAP else NATIVE for f in Feature}, PROFILE)
    assert can.first_missing([Feature.VALUE]) is None
    assert can.first_missing([Feature.VALUE, Feature.MAP]) is Feature.MAP


@pytest.mark.parametrize("name", ["spork", "mutant", "mutant:none", "reference:x", "spark-tws:x", ""])
def test_unknown_engines_are_named(name):
    with pytest.raises(UnknownName, match=r"[Tt]here are"):
        load_engine(name)


@pytest.mark.parametrize("scenario", load_scenarios(), ids=lambda s: s.id)
def test_needs_are_true(scenario):
    """A guarantee that says it needs several bundles or a driven watermark is not exercised without them, and no twin
    can be run without what its perturbation needs."""
    guarantees = {g.id: g for g in scenario.guarantees}
    cases, programs = cases_of(scenario), programs_of([scenario])
    assert cases
    # case -> what an engine must have to run it
    offered = {case.id: case_needs(case, programs[program_ref(case.scenario, case.program)]) for case in cases}
    for case, asked in zip(cases, exercised_by_any_reading([scenario])(cases), strict=True):
        by_pair = offered[case.id] | offered[case.base or case.id]
        if case.perturbation:
            for name in factors_of(case.perturbation):
                assert name not in BY_ID or BY_ID[name].needs <= by_pair, case.to_json()
        for name in asked:
            offers = by_pair if guarantees[name].same_under else offered[case.id]
            wanted = guarantees[name].needs & {Feature.SEVERAL_BUNDLES, Feature.WATERMARK}
            assert wanted <= offers, (name, case.schedule.to_json())

"""Failing cases become small, many at a time, in few runs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inprocess import PROGRAMS

from conformance.confirmation.reduction import (
    CANDIDATES,
    ROUNDS,
    Subject,
    Target,
    reduce,
    simplicity,
    single_changes,
    tighter_timelines,
)
from conformance.execution.packing import packs_of
from conformance.generation.schedules import schedules
from conformance.generation.timelines import SLOTS, Family, draw_timelines, timelines
from conformance.judgement.evidence import findings_against
from conformance.model.case import Case
from conformance.plugins.registry import load_engine, load_scenarios

SCENARIOS = {s.id: s for s in load_scenarios()}

KNOWN = [
    ("late-at-the-watermark", "late-data", "an-element-exactly-at-the-watermark-is-processed", 1),
    ("never-late", "late-data", "an-element-past-the-allowed-lateness-is-not-processed-late-by-window", 1),
    ("bundle-reversed", "index-assignment", "indices-follow-arrival-order-within-a-bundle", 2),
    ("state-shared-across-keys", "index-assignment", "keys-do-not-share-a-counter", 2),
    ("state-shared-across-windows", "index-assignment", "windows-do-not-share-a-counter", 2),
    ("equal-elements-collapse", "per-key-counting", "one-emission-per-element", 2),
    ("stale-reads-in-a-bundle", "dedup-within-watermark", "a-duplicate-in-the-same-bundle-is-dropped", 2),
    ("timers-in-reverse", "session-timeout", "sessions-of-a-key-that-close-at-once-come-out-in-order-of-their-ends", 2),
    ("out-of-order-dropped", "session-timeout", "an-out-of-order-event-that-connects-two-sessions-merges-them", 3),
]


def _guarantee(scenario, name):
    return next(g for g in SCENARIOS[scenario].guarantees if g.id == name)


class Mutant:
    """A mutant that counts its engine runs."""

    def __init__(self, name):
        self.engine, self.runs = load_engine(f"mutant:{name}"), 0

    def __call__(self, cases):
        traces = {}
        for pack in packs_of(cases, 2_000):
            self.runs += 1
            traces |= self.engine.run(pack, PROGRAMS).traces
        return traces


def _target(case, guarantee):
    def fails(subject, traces):
        return bool(findings_against(guarantee, subject.case, traces[subject.case.id])[1])

    scenario = SCENARIOS[case.scenario]
    simplest = scenario.domain[case.program].values[0]
    return Target(scenario.programs[case.program], guarantee, Subject(case), fails, simplest)


@pytest.mark.parametrize(("mutant", "scenario", "name", "smallest"), KNOWN, ids=lambda value: str(value)[:40])
@settings(max_examples=8, deadline=None, derandomize=True)
@given(data=st.data())
def test_on_mutants_the_witness_has_the_known_minimal_size(mutant, scenario, name, smallest, data):
    """Whatever failing case it begins with; and no single element can then be left out."""
    guarantee, run = _guarantee(scenario, name), Mutant(mutant)
    timeline = data.draw(st.sampled_from(SLOTS).flatmap(timelines))
    strategy = schedules(timeline, SCENARIOS[scenario].domain[guarantee.program])
    cases = [Case(scenario, guarantee.program, data.draw(strategy)) for _ in range(30)]
    traces = run(list({case.id: case for case in cases}.values()))
    failing = [case for case in cases if _target(case, guarantee).fails(Subject(case), traces)]
    if not failing:
        return
    target = _target(failing[0], guarantee)
    run.runs = 0
    rounds = reduce([target], run)
    assert target.minimal
    assert target.seen
    assert rounds <= ROUNDS
    assert run.runs == rounds  # one timeline, so one engine run a round
    assert len(target.subject.case.schedule.arrivals) == smallest


def test_several_targets_share_their_runs():
    guarantees = [
        _guarantee("per-key-counting", name)
        for name in ("one-emission-per-element", "running-counts-rise-by-one-per-element")
    ]
    timeline = next(iter(_one_timeline()))
    case = _filled(timeline, "per-key-counting", "count")
    targets = [_target(case, guarantee) for guarantee in guarantees]
    run = Mutant("output-twice")
    rounds = reduce(targets, run)
    assert run.runs == rounds
    assert all(target.minimal and len(target.subject.case.schedule.arrivals) == 1 for target in targets)


def _one_timeline():
    return draw_timelines(3)[Family.SEVERAL][1:]


def _filled(timeline, scenario, program):
    from conformance.generation.examples import examples

    found = examples(schedules(timeline, SCENARIOS[scenario].domain[program]), 40, 7, lambda schedule: schedule)
    return max((Case(scenario, program, schedule) for schedule in found), key=lambda case: case.size)


def test_a_reduction_is_the_same_every_time():
    def reduced():
        target = _target(
            _filled(_one_timeline()[0], "per-key-counting", "count"),
            _guarantee("per-key-counting", "one-emission-per-element"),
        )
        reduce([target], Mutant("output-twice"))
        return target.subject, target.to_json()

    assert reduced() == reduced()


def test_it_says_what_it_tried():
    target = _target(
        _filled(_one_timeline()[0], "per-key-counting", "count"),
        _guarantee("per-key-counting", "one-emission-per-element"),
    )
    reduce([target], Mutant("output-twice"))
    said = target.to_json()
    assert said["elements_before"] > 1
    assert "drop elements" in said["tried"]
    assert said["minimal_under_these"] is True
    assert said["candidates"] <= said["rounds"] * (CANDIDATES + 1)


def test_what_does_not_fail_again_is_not_called_reproduced():
    case = _filled(_one_timeline()[0], "per-key-counting", "count")
    target = _target(case, _guarantee("per-key-counting", "one-emission-per-element"))
    reduce([target], Mutant("never-late"))  # harmless to this guarantee
    assert target.seen is None
    assert target.subject == Subject(case)


def test_an_engine_without_an_answer_ends_the_reduction():
    case = _filled(_one_timeline()[0], "per-key-counting", "count")
    target = _target(case, _guarantee("per-key-counting", "one-emission-per-element"))
    assert reduce([target], lambda cases: {}) == 1
    assert target.seen is None


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_probes_keep_the_timeline_and_tighter_timelines_the_events(data):
    timeline = data.draw(st.sampled_from([*SLOTS, (1,)]).flatmap(timelines))
    schedule = data.draw(schedules(timeline, SCENARIOS["late-data"].domain["global"]))
    case = Case("late-data", "global", schedule)
    for words, changed in single_changes(case, SCENARIOS["late-data"].programs["global"]):
        assert words
        assert changed.schedule.timeline == schedule.timeline
    variants = tighter_timelines(schedule)
    assert 1 <= len(variants) <= 3
    assert variants[-1] == schedule
    for variant in variants:
        assert [a.event for a in variant.arrivals] == [a.event for a in schedule.arrivals]
        assert all(bundle.events for bundle in variant.bundles) or variant == schedule


def test_simplicity_prefers_fewer_elements_to_anything_else():
    cases = [_filled(_one_timeline()[0], "per-key-counting", "count")]
    one = cases[0].schedule.arrivals[0].event
    small = Case(
        "per-key-counting",
        "count",
        cases[0].schedule.with_bundles({b.id: [one] if one in b.events else [] for b in cases[0].schedule.bundles}),
    )
    assert simplicity(small) < simplicity(cases[0])

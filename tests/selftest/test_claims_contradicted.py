"""Each claim that guarantees decide is contradicted by engines of which it is false, in each way in which it can be."""

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from drawn import suite_of
from unconfirmed import judged

from conformance.engines.reference import SPECIFIED
from conformance.judgement.reference import reference_traces
from conformance.model.scenario import programs_of
from conformance.plugins.registry import load_engine, load_scenarios, mutant_engine
from conformance.results import catalogue, claims
from conformance.results.claims import Answer
from conformance.results.record import EngineRecord, RunRecord
from conformance.results.results import Results

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CLAIMS = {claim.id: claim for claim in catalogue.catalogue()}

MUTANTS = {
    "bounded-state": ("clear-does-nothing",),
    "anomaly-detection": ("state-shared-across-keys",),
    "batching-per-key": (
        "bundles-swapped",
        "state-restored-twice",
        "timers-see-another-key",
        "window-boundary-off-by-one",
    ),
    "click-trail": ("state-shared-across-keys",),
    "dedup-then-count": ("state-shared-across-keys", "timers-one-step-early"),
    "dedup-within-watermark": ("timers-one-step-early", "never-late", "bundle-reversed", "stale-reads-in-a-bundle"),
    "event-time-ordering": ("state-restored-twice",),
    "event-time-timers": ("timers-one-step-late", "timers-one-step-early", "due-timers-fire-though-cleared"),
    "index-assignment": ("state-shared-across-keys", "output-twice", "bundle-reversed", "late-filter-one-step-early"),
    "initial-state": ("state-restored-twice",),
    "late-data": ("never-late", "drops-not-counted"),
    "login-alerts": ("state-shared-across-keys",),
    "looping-timers": ("state-shared-across-keys",),
    "null-output": ("first-of-a-key-dropped",),
    "operators-in-a-row": ("first-of-a-key-dropped", "first-of-a-bundle-doubled", "output-twice"),
    "output-times": ("output-times-cut-to-seconds", "passed-timers-moved"),
    "per-key-counting": ("bundles-swapped", "output-twice", "state-restored-twice", "state-shared-across-keys"),
    "processing-time-timers": ("timers-never-fire", "timers-one-step-late", "timers-one-step-early"),
    "rate-limit": ("state-shared-across-keys",),
    "session-timeout": (
        "retry-loses-its-writes",
        "timers-fire-on-restart",
        "timers-in-the-order-set",
        "state-shared-across-keys",
    ),
    "set-and-map-iteration": ("state-shared-across-keys",),
    "several-cells": ("state-restored-twice",),
    "several-reminders": ("timers-never-fire", "timers-one-step-early"),
    "sliding-windows": ("state-shared-across-keys",),
    "state-collections": ("bundles-swapped", "bag-read-in-reverse", "clear-of-a-bag-does-nothing"),
    "state-isolation": ("state-shared-across-keys", "window-boundary-off-by-one"),
    "state-ttl": ("last-output-of-a-bundle-lost", "ttl-halved", "ttl-ignored", "output-twice"),
    "stored-state": ("last-write-of-a-bundle-lost", "output-twice", "state-restored-twice"),
    "timer-calls": ("cleared-timers-fire", "moved-timers-fire-at-every-time", "timers-never-fire"),
    "timer-firing": ("timers-lost-on-restart", "timers-in-the-order-set"),
    "stream-join": ("output-twice", "times-truncated-to-the-minute"),
    "typed-collections": ("bag-append-overwrites", "list-loses-its-last-element", "map-put-replaces-all"),
    "typed-keys": ("state-shared-across-keys",),
    "typed-keys-of-operators": ("null-keys-never-meet", "nan-equals-nothing"),
    "typed-state": (
        "clear-does-nothing",
        "clearing-one-cell-clears-all",
        "stale-reads-in-a-bundle",
        "typed-reads-share",
    ),
    "value-state": ("reads-give-the-stored-object", "writes-of-a-read-object-skipped"),
    "windowed-counting": ("timers-one-step-early", "failed-attempt-kept", "fired-timers-restored", "never-late"),
}
"""Scenario -> mutants that break, together, all its guarantees that decide claims."""

WAYS = tomllib.loads((Path(__file__).parent / "ways.toml").read_text(encoding="utf-8"))
"""Claim -> a way in which its sentence is false -> a mutant of which it is false in that way."""

FEW = {"dedup-within-watermark", "late-data", "state-ttl", "windowed-counting"}
"""Scenarios whose claims the quick tests contradict: the cases and mutants of all take minutes."""


def marked(claim, *more):
    """Parameters of a test, with the mark ``slow`` where a claim speaks of other scenarios than ``FEW``."""
    quick = {condition.scenario for condition in claim.conditions} <= FEW
    return pytest.param(*(more or [claim]), id="-".join([claim.id, *more[1:]]), marks=() if quick else pytest.mark.slow)


OTHERWISE = {
    claim.id: claim.not_decidable or "a probe, or an answer of the engine itself, decides it: it asks no mutant"
    for claim in CLAIMS.values()
    if not claim.conditions
}
"""The claims that no mutant can contradict, and why."""


@cache
def cells(scenario, engine):
    """What an engine gives for some cases of a scenario."""
    scenarios, cases, reference = drawn(scenario)
    mine = reference if load_engine(engine).capabilities.lateness == SPECIFIED else None
    return judged(scenarios, engine, cases, mine)


@cache
def drawn(scenario):
    """The scenario with the guarantees that claims speak of, cases of it for their programs, and the reference's
    traces."""
    [whole] = load_scenarios([scenario])
    rows = {condition.row for claim in CLAIMS.values() for condition in claim.conditions}
    asked = tuple(g for g in whole.guarantees if (scenario, g.id) in rows)
    programs = {g.program: whole.programs[g.program] for g in asked}
    of_these = tuple(g for g in whole.guarantees if g.program in programs)
    domain = {program: whole.domain[program] for program in programs}
    part = [replace(whole, programs=programs, domain=domain, guarantees=of_these, complete=False, planned=False)]
    # What a mutant needs is rare: a failure while a timer is due, for example.
    cases = [*{case.id: case for seed in (0, 1) for case in suite_of(part, 6, seed).cases}.values()]
    return [replace(part[0], guarantees=asked)], cases, reference_traces(programs_of(part))


def answer(claim, engine, conditions):
    """What a claim is judged to be by the cells of an engine that some of its conditions name: as if they were of the
    first engine that the claim speaks of."""
    about = claim.engines[0]
    rows = {condition.row for condition in conditions}
    found = [
        replace(cell, engine=about)
        for scenario in sorted({scenario for scenario, _ in rows})
        for cell in cells(scenario, engine)
        if cell.row in rows
    ]
    results = Results(RunRecord(), {about: EngineRecord(versions={})}, {}, found)
    return claims.decide([claim], results, {})[0].answer


def test_every_claim_is_decided_by_guarantees_or_says_why_not():
    assert all(OTHERWISE.values())
    assert {claim.id for claim in CLAIMS.values() if claim.conditions} == set(CLAIMS) - set(OTHERWISE)
    assert len(OTHERWISE) < len(CLAIMS) / 3


def test_every_claim_that_can_be_contradicted_has_the_ways_in_which_it_is_false():
    assert {claim.id for claim in CLAIMS.values() if claim.decided_by} == set(WAYS)
    assert all(WAYS.values())


@pytest.mark.parametrize("claim", [marked(claim) for claim in CLAIMS.values() if claim.decided_by])
def test_a_claim_is_contradicted_by_a_mutant_of_each_guarantee_that_decides_it(claim):
    """And not by the reference, which few cases may leave undecided. Where the claim says the opposite of a guarantee,
    the reference contradicts it, and a mutant confirms."""
    for condition in claim.decided_by:
        says = (answer(claim, mutant_engine(name), [condition]) for name in MUTANTS[condition.scenario])
        reference = answer(claim, "reference", [condition])
        if condition.stands:
            assert Answer.CONTRADICTED in says, str(condition)
            assert reference is not Answer.CONTRADICTED, str(condition)
        else:
            assert Answer.CONFIRMED in says, str(condition)
            assert reference is Answer.CONTRADICTED, str(condition)


@pytest.mark.parametrize("claim", [marked(claim) for claim in CLAIMS.values() if claim.shown_by])
def test_what_a_claim_says_may_happen_is_shown_by_a_mutant_of_each_guarantee(claim):
    """And not by the reference: nothing contradicts such a claim."""
    for condition in claim.shown_by:
        says = (answer(claim, mutant_engine(name), [condition]) for name in MUTANTS[condition.scenario])
        assert Answer.CONFIRMED in says, str(condition)
        assert answer(claim, "reference", [condition]) is not Answer.CONFIRMED, str(condition)


@pytest.mark.parametrize(
    ("claim", "way"), [marked(CLAIMS[claim], claim, way) for claim, ways in WAYS.items() for way in ways]
)
def test_a_claim_is_contradicted_in_each_way_in_which_it_is_false(claim, way):
    asked = CLAIMS[claim]
    assert answer(asked, mutant_engine(WAYS[claim][way]), asked.conditions) is Answer.CONTRADICTED

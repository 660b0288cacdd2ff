"""Kept check results: the same as those of a check, and none of another predicate's, trace's or engine's."""

from dataclasses import replace

import pytest

from conformance.execution.kept import Kept
from conformance.execution.packing import packs_of
from conformance.generation.cases import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.judgement.batches import Judgement, check
from conformance.judgement.evidence import Runs
from conformance.judgement.reference import reference_traces
from conformance.model.engine import EngineInfo
from conformance.model.scenario import programs_of
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.run import kept_checks
from conformance.run.kept_checks import KeptChecks

SCENARIOS = load_scenarios(["per-key-counting", "late-data"])


@pytest.fixture(scope="module")
def ran():
    """The cases, the runs of a mutant, the mutant, and the reference."""
    cases = draw_cases(SCENARIOS, 1, 1, exercised_by_any_reading(SCENARIOS))
    engine, programs = load_engine("mutant:output-twice"), programs_of(SCENARIOS)
    runs = Runs()
    for pack in packs_of(cases, 100):
        runs.add(pack, engine.run(pack, programs))
    info = EngineInfo(engine.id, engine.title, engine.capabilities, adapter="adapter")
    return cases, runs, info, reference_traces(programs, engine.capabilities.lateness)


def judged(checked, ran):
    cases, runs, info, _ = ran
    judgement = Judgement(SCENARIOS, info)
    judgement.add(checked, {case.id: case for case in cases}, runs.traces, runs.notes)
    cells = [(cell.to_json(), guarantee.id, against) for cell, guarantee, against in judgement.cells()]
    return cells, [found.to_json() for found in judgement.stabilities()]


def checking(folder, ran, monkeypatch, scenarios=SCENARIOS):
    """(the check results, the scenarios that were checked anew)"""
    anew = []

    def watched(scenarios, *rest):
        anew.extend(scenario.id for scenario in scenarios)
        return check(scenarios, *rest)

    monkeypatch.setattr(kept_checks, "check", watched)
    return KeptChecks(Kept(folder)).check(scenarios, *ran), anew


def test_kept_results_are_those_of_a_check(ran, tmp_path, monkeypatch):
    plain = judged(check(SCENARIOS, *ran), ran)
    first, anew = checking(tmp_path, ran, monkeypatch)
    again, none = checking(tmp_path, ran, monkeypatch)
    assert (anew, none) == (["late-data", "per-key-counting"], [])
    assert judged(first, ran) == judged(again, ran) == plain


def test_only_what_changed_is_checked_anew(ran, tmp_path, monkeypatch):
    checking(tmp_path, ran, monkeypatch)
    cases, runs, info, reference = ran
    late, counting = SCENARIOS
    first = replace(counting.guarantees[0], predicate=lambda run: iter([True]))
    changed = [late, replace(counting, guarantees=(first, *counting.guarantees[1:]))]
    assert checking(tmp_path, ran, monkeypatch, changed)[1] == ["per-key-counting"]
    lost = replace(runs, lost={next(case.id for case in cases if case.scenario == "late-data"): "it ended"})
    assert checking(tmp_path, (cases, lost, info, reference), monkeypatch)[1] == ["late-data"]
    other = replace(info, adapter="another")
    assert checking(tmp_path, (cases, runs, other, reference), monkeypatch)[1] == ["late-data", "per-key-counting"]

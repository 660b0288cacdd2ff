"""Kept check results: the same as those of a check, and none of another predicate's, trace's or engine's."""

from dataclasses import replace

import pytest

from conformance.execution.kept import Kept
from conformance.execution.packing import packs_of
from conformance.generation.cases import draw_cases
from conformance.generation.readings import exercised_by_any_reading
from conformance.judgement.agreement import agreements, pairs_of
from conformance.judgement.batches import Judgement, check
from conformance.judgement.evidence import Runs
from conformance.judgement.reference import reference_traces
from conformance.model.engine import EngineInfo
from conformance.model.scenario import programs_of
from conformance.plugins.registry import load_engine, load_scenarios
from conformance.results.store import Store, write_cases
from conformance.results.tables import run_table, write
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
    first = replace(counting.guarantees[0], id="another")
    changed = [late, replace(counting, guarantees=(first, *counting.guarantees[1:]))]
    assert checking(tmp_path, ran, monkeypatch, changed)[1] == ["per-key-counting"]
    lost = replace(runs, lost={next(case.id for case in cases if case.scenario == "late-data"): "it ended"})
    assert checking(tmp_path, (cases, lost, info, reference), monkeypatch)[1] == ["late-data"]
    other = replace(info, adapter="another")
    assert checking(tmp_path, (cases, runs, other, reference), monkeypatch)[1] == ["late-data", "per-key-counting"]


def compared(folder, store, infos, cases):
    """(the agreements, the pairs that were compared anew)"""
    anew = []

    def found(pairs):
        anew.extend(pairs)
        traces = {info.id: store.read_traces(info.id, 0) for info in infos}
        references = {info.id: reference_traces(programs_of(SCENARIOS), info.capabilities.lateness) for info in infos}
        return agreements(SCENARIOS, cases, traces, references, pairs=pairs)

    return KeptChecks(Kept(folder)).agreements(SCENARIOS, infos, store, found), anew


def test_only_the_pairs_of_a_changed_engine_are_compared_anew(ran, tmp_path):
    cases, runs, info, _ = ran
    infos = [replace(info, id=name) for name in ("one", "two", "three")]
    store = Store(tmp_path / "out")
    write_cases(store.cases(0), cases)
    for each in infos:
        write(store.traces(each.id, 0), run_table(cases, runs))
    first, anew = compared(tmp_path / "kept", store, infos, cases)
    assert anew == pairs_of(["one", "two", "three"])
    assert compared(tmp_path / "kept", store, infos, cases) == (first, [])
    dropped = next(iter(runs.traces))
    write(
        store.traces("two", 0),
        run_table(cases, replace(runs, traces={c: t for c, t in runs.traces.items() if c != dropped})),
    )
    again, anew = compared(tmp_path / "kept", store, infos, cases)
    assert anew == [pair for pair in pairs_of(["one", "two", "three"]) if "two" in pair]
    assert [one.place for one in again] == [one.place for one in first]
    assert {(a.left, a.right) for a, b in zip(again, first, strict=True) if a != b} == {*anew}

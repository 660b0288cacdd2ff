"""A second run: what has not changed is answered by the traces of the first."""

from dataclasses import replace

import pytest

from conformance.judgement.cell import Verdict
from conformance.plugins.registry import load_scenarios
from conformance.run.hosts import Hosts
from conformance.run.options import KeptTraces
from conformance.run.run import Options, Run

LOST, TWICE = "mutant:element-lost-in-a-crowd", "mutant:output-twice"


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    scenarios = tuple(load_scenarios(["per-key-counting"]))
    traces = KeptTraces(folder / "traces")
    return Options(("reference", LOST, TWICE), scenarios, folder / "first", wanted=1, seed=2, traces=traces)


@pytest.fixture(scope="module")
def first(options):
    return Run(options).execute()


def told(results):
    """The results without their times and ages."""
    found = results.to_json()
    del found["timing"]
    for record in found["environment"].values():
        record.pop("kept", None)
    return found


def refuse(*_):
    raise AssertionError("an engine was started")


def test_a_run_with_nothing_new_starts_no_engine_and_finds_the_same(options, first, monkeypatch, tmp_path):
    Run(options).execute()  # answers in doubt are asked for once more
    for name in ("open", "open_beside", "open_again"):
        monkeypatch.setattr(Hosts, name, refuse)
    again = Run(replace(options, out=tmp_path)).execute()
    assert any(cell.verdict is Verdict.VIOLATED for cell in first.cells)
    assert told(again) == told(first)
    for engine in options.engines:
        assert first.environment[engine].age == ""
        assert again.environment[engine].age.startswith("from the cache, oldest 20")
        assert again.environment[engine].kept.answers >= again.environment[engine].packs.run


def test_a_changed_predicate_asks_for_no_pack_again(options, first, monkeypatch, tmp_path):
    """Its new witness has to fail alone, and that is asked."""
    [scenario] = options.scenarios
    broken = replace(scenario.guarantees[0], predicate=lambda run: iter(["no"]))
    changed = replace(scenario, guarantees=(broken, *scenario.guarantees[1:]))
    monkeypatch.setattr(Hosts, "open", refuse)
    asked = replace(options, scenarios=(changed,), engines=("reference",), out=tmp_path)
    results = Run(asked).execute()
    found = {cell.verdict for cell in results.cells if cell.guarantee == broken.id and cell.cases}
    assert found == {Verdict.VIOLATED}
    assert results.environment["reference"].failure == ""


@pytest.mark.slow
def test_fresh_asks_for_everything(options, first, tmp_path):
    again = Run(replace(options, out=tmp_path, traces=replace(options.traces, fresh=True))).execute()
    assert told(again) == told(first)
    assert {record.age for record in again.environment.values()} == {""}


def test_a_seed_gives_an_engine_the_same_suite_with_other_engines_or_alone(options, first, tmp_path):
    """So its kept answers serve both runs."""
    alone = Run(replace(options, engines=(TWICE,), out=tmp_path)).execute()
    assert alone.run.cases_digest == first.run.cases_digest
    assert alone.cells == [cell for cell in first.cells if cell.engine == TWICE]
    assert alone.environment[TWICE].kept.answers > 0

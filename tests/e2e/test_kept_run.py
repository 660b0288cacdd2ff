"""A second run: what has not changed is answered by the traces of the first."""

from dataclasses import replace

import pytest

from conformance.execution.cached import TURNS
from conformance.execution.kept import Answer, Kept
from conformance.judgement.cell import Verdict
from conformance.plugins.registry import load_scenarios
from conformance.run import drawing, kept_checks, kept_choices, kept_turns, run, turn
from conformance.run.hosts import Hosts
from conformance.run.run import Options, Run
from conformance.run.turn import Turn

LOST, TWICE = "mutant:element-lost-in-a-crowd", "mutant:output-twice"


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    scenarios = tuple(load_scenarios(["per-key-counting", "value-state"]))
    return Options(("reference", LOST, TWICE), scenarios, folder / "first", wanted=3, seed=2, traces=folder / "traces")


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
    """Nor does it choose packs, check traces or compare engines again. After an edit anywhere, it still reads all of them."""
    Run(options).execute()  # answers in doubt are asked for once more
    for name in ("open", "open_beside", "open_again"):
        monkeypatch.setattr(Hosts, name, refuse)
    monkeypatch.setattr(kept_choices, "selected", refuse)
    monkeypatch.setattr(kept_checks, "check", refuse)
    monkeypatch.setattr(run, "agreements_of", refuse)
    monkeypatch.setattr(kept_turns, "code_digest", lambda: "edited")
    again = Run(replace(options, out=tmp_path)).execute()
    assert any(cell.verdict is Verdict.VIOLATED for cell in first.cells)
    assert told(again) == told(first)
    for engine in options.engines:
        assert first.environment[engine].age == ""
        assert again.environment[engine].age.startswith("from the cache, oldest 20")
        assert again.environment[engine].kept.answers >= again.environment[engine].packs.run


def files(folder):
    """The files of a run that do not say when it was made."""
    found = (path for path in folder.rglob("*") if path.suffix in (".parquet", ".csv"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_a_run_with_nothing_new_reads_whole_turns_and_all_cases(options, first, monkeypatch, tmp_path):
    """It looks at no pack. Its tables are those of the first run."""
    Run(options).execute()
    monkeypatch.setattr(Turn, "_run_batch", refuse)
    monkeypatch.setattr(turn, "replay_all", refuse)
    monkeypatch.setattr(drawing, "batches", refuse)
    again = Run(replace(options, out=tmp_path)).execute()
    assert told(again) == told(first)
    assert files(tmp_path) == files(options.out)
    for engine in options.engines:
        assert again.environment[engine].age.startswith("from the cache, oldest 20")


def test_a_kept_turn_is_of_answers_that_the_engine_would_give_again(options, first, monkeypatch, tmp_path):
    """An answer that came out otherwise in another run ends all kept turns of the engine."""
    Run(options).execute()
    folder = options.traces / TURNS
    there = set(folder.rglob("*.zip"))
    monkeypatch.setattr(
        Kept, "keep", lambda self, name, pack, found: Answer(found, "2026-01-01T00:00:00Z", differed=True)
    )
    Run(replace(options, out=tmp_path, engines=("reference",), fresh=True)).execute()
    left = set(folder.rglob("*.zip"))
    assert left < there
    assert len({path.parent for path in there - left}) == 1


def test_a_changed_predicate_asks_for_no_pack_again(options, first, monkeypatch, tmp_path):
    """Its new witness has to fail alone, and that is asked."""
    scenario = options.scenarios[0]
    broken = replace(scenario.guarantees[0], predicate=lambda run: iter(["no"]))
    changed = replace(scenario, guarantees=(broken, *scenario.guarantees[1:]))
    monkeypatch.setattr(Hosts, "open", refuse)
    asked = replace(options, scenarios=(changed, options.scenarios[1]), engines=("reference",), out=tmp_path)
    results = Run(asked).execute()
    found = {cell.verdict for cell in results.cells if cell.guarantee == broken.id and cell.cases}
    assert found == {Verdict.VIOLATED}
    assert results.environment["reference"].failure == ""


def test_fresh_asks_for_everything(options, first, tmp_path):
    again = Run(replace(options, out=tmp_path, fresh=True)).execute()
    assert told(again) == told(first)
    assert {record.age for record in again.environment.values()} == {""}


def test_the_run_after_a_fresh_one_draws_and_judges_nothing_again(options, monkeypatch, tmp_path):
    mine = replace(options, engines=("reference",), traces=tmp_path / "traces")
    fresh = Run(replace(mine, out=tmp_path / "fresh", fresh=True)).execute()
    monkeypatch.setattr(kept_checks, "check", refuse)
    monkeypatch.setattr("conformance.run.drawing.PartAsked", refuse)
    assert told(Run(replace(mine, out=tmp_path / "next")).execute()) == told(fresh)


def test_some_scenarios_of_a_run_are_drawn_as_all_are(options, first, tmp_path):
    """One of them was kept, the other one was not."""
    kept = replace(options, engines=("reference",), traces=tmp_path / "traces")
    Run(replace(kept, out=tmp_path / "one", scenarios=options.scenarios[1:])).execute()
    both = Run(replace(kept, out=tmp_path / "both")).execute()
    assert both.run.cases_digest == first.run.cases_digest

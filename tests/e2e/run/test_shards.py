"""Shards of a run, merged: the results of the run on one machine."""

import shutil
from dataclasses import replace

import pytest
from click.testing import CliRunner

from conformance.cli.main import main
from conformance.model.engine import CannotRun
from conformance.model.plan import is_plan
from conformance.plugins.registry import load_scenarios
from conformance.results.results import Results
from conformance.results.witness import write_witnesses
from conformance.run.hosts import Hosts
from conformance.run.options import KeptTraces, Part
from conformance.run.run import Options, Run
from conformance.run.shards import FILE, Shards, UnusableShards, leave, parts_of, shard_of

ENGINES = ("reference", "mutant:element-lost-in-a-crowd", "mutant:output-twice")


def told(results):
    found = results.to_json()
    del found["timing"]
    return found


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    scenarios = tuple(load_scenarios(["per-key-counting"]))
    return Options(ENGINES, scenarios, tmp_path_factory.mktemp("whole"), wanted=1, seed=4)


@pytest.fixture(scope="module")
def whole(options):
    return told(Run(options).execute())


def shards(options, folder, of):
    folders = []
    for number in range(1, of + 1):
        mine = replace(options, out=folder / f"{number}", traces=KeptTraces(folder / f"machine {number}"))
        leave(mine, number, of, Run(shard_of(mine, number, of)).execute())
        shutil.rmtree(mine.traces.folder)
        folders.append(mine.out)
    return folders


def merged(folders, out):
    found = Shards.read(folders)
    return told(found.checked(Run(found.options(out, out / "no witnesses", 600)).execute()))


def test_two_shards_are_merged_without_an_engine(options, whole, tmp_path, monkeypatch):
    """Each engine ran in one shard as a whole."""
    folders = shards(options, tmp_path, 2)

    def missing(*_):
        raise CannotRun("no such engine here")

    monkeypatch.setattr(Hosts, "_open", missing)
    assert merged(folders[::-1], tmp_path / "merged") == whole


def test_four_shards_share_an_engine(options, whole, tmp_path):
    assert merged(shards(options, tmp_path, 4), tmp_path / "merged") == whole


def test_shards_of_an_engine_agree_on_what_it_is_asked(tmp_path, monkeypatch):
    """Also where stored witnesses say under which plans a program has no case: each shard replays these."""
    engine, scenarios = "mutant:plan-drops-output", tuple(load_scenarios(["per-key-counting"]))
    first = Options((engine,), scenarios, tmp_path / "first", wanted=1, seed=1)
    found = [w for w in Run(first).execute().witnesses.values() if is_plan(w.case.perturbation)]
    write_witnesses(tmp_path / "witnesses", found)
    monkeypatch.setattr("conformance.run.turn._ends_a_query", lambda witness: is_plan(witness.case.perturbation))
    stored = replace(first, witnesses=(tmp_path / "witnesses",))
    options = [replace(stored, out=tmp_path / f"{n}", parts={engine: Part((n,), 2)}) for n in (0, 1)]
    packs = [Run(mine).execute().environment[engine].packs for mine in options]
    assert packs[0].drawn == packs[1].drawn == packs[0].run + packs[1].run


@pytest.mark.parametrize("of", [1, 2, 3, 4, 9])
def test_every_pack_is_in_one_shard(of):
    engines = ["reference", "spark-tws", "beam-direct", "mutant:output-twice"]
    taken = {engine: [] for engine in engines}
    for number in range(1, of + 1):
        parts = parts_of(engines, number, of)
        assert parts
        for engine, part in parts.items():
            taken[engine] += part.taken(range(50))
    assert all(sorted(packs) == list(range(50)) for packs in taken.values())
    assert Part((1, 0), 2).whole
    assert not Part((1,), 2).whole


def test_shards_of_different_runs_are_not_merged(options, tmp_path):
    folders = shards(replace(options, engines=("reference",), wanted=1), tmp_path, 2)
    with pytest.raises(UnusableShards, match="there are 2 shards, and these are number 1"):
        Shards.read(folders[:1])
    with pytest.raises(UnusableShards, match=FILE):
        Shards.read([tmp_path / "nowhere"])
    text = (folders[1] / FILE).read_text()
    (folders[1] / FILE).write_text(text.replace('"wanted": 1', '"wanted": 2'))
    with pytest.raises(UnusableShards, match="options differ"):
        Shards.read(folders)


def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ["run", "--engine", "reference", "--scenario", "per-key-counting", "--cases", "1", "--seed", "1"]
    for number in (1, 2):
        done = CliRunner().invoke(main, [*asked, "--shard", f"{number}/2", "--out", f"{number}"])
        assert done.exit_code == 0, done.output
        assert f"shard {number} of 2 ran reference" in done.output
    done = CliRunner().invoke(main, ["merge", "1", "2", "--out", "both"])
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(main, [*asked, "--out", "whole"]).exit_code == 0
    both, whole = (told(Results.read(tmp_path / name / "results.json.gz")) for name in ("both", "whole"))
    assert both == whole
    assert CliRunner().invoke(main, [*asked, "--shard", "3/2"]).exit_code == 2
    assert CliRunner().invoke(main, ["merge", "1"]).exit_code == 2

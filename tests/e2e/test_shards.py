"""Shards of a run, merged: the results of the run on one machine."""

import shutil
from dataclasses import replace

import pytest
from click.testing import CliRunner

from conformance.cli.main import main
from conformance.model.engine import CannotRun
from conformance.plugins.registry import load_scenarios
from conformance.results.results import Results
from conformance.run.hosts import Hosts
from conformance.run.options import Part
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
    return Options(ENGINES, scenarios, tmp_path_factory.mktemp("whole"), wanted=3, seed=4)


@pytest.fixture(scope="module")
def whole(options):
    return told(Run(options).execute())


def shards(options, folder, of):
    folders = []
    for number in range(1, of + 1):
        mine = replace(options, out=folder / f"{number}", traces=folder / f"machine {number}")
        leave(mine, number, of, Run(shard_of(mine, number, of)).execute())
        shutil.rmtree(mine.traces)
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

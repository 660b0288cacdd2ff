"""A checkpoint becomes what it was when its query was killed."""

import json
import zipfile

import pytest

from conformance.engines.spark.checkpoint import damages
from conformance.engines.spark.checkpoint.crashes import Killed
from conformance.engines.spark.driving import micro_batches
from conformance.engines.spark.plans.settings import STORE
from conformance.model.damage import DAMAGES
from conformance.model.engine import NotDriven
from conformance.model.schedule import Advance, Crash, Deliver, Restart, renumbered

PARTS = (0, 1)
KILLED_IN = 2
"""The micro-batch: its state is version 3."""


def checkpoint_of(folder, *stored):
    """A checkpoint of three micro-batches and one without rows. ``stored``: the files of a version of the state, with a
    place for it."""
    for log in ("offsets", "commits"):
        for number in range(KILLED_IN + 2):
            _write(folder / log / str(number))
            _write(folder / log / f".{number}.crc")
    for part in PARTS:
        for version in range(1, KILLED_IN + 3):
            for name in stored:
                _write(folder / "state" / "0" / str(part) / name.format(version))
                _write(folder / "state" / "0" / str(part) / f".{name.format(version)}.crc")
    _write(folder / "state" / "0" / "_metadata" / "v2" / str(KILLED_IN))
    return folder


def _write(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"the file {path.name}")


def left(folder):
    """The files of the micro-batch and of what came behind it, without checksums."""
    names = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.suffix != ".crc"]
    of_state = [n for n in names if n.startswith("state/0/") and "_metadata" not in n and n.split("/")[3][:1] in ".34"]
    logged = [n for n in names if n.partition("/")[0] in ("offsets", "commits") and n.partition("/")[2] in "23"]
    return sorted([*of_state, *logged])


def killed(folder, at):
    """A kill in a session that asks for the store whose files are there."""
    names = [path.name for path in folder.rglob("state/0/0/*")]
    ends = {name.rpartition(".")[2] for name in names}
    logged, second = "changelog" in ends, any("_" in name for name in names)
    settings = {
        f"{STORE}.providerClass": "HDFS" if "delta" in ends else "RocksDB",
        f"{STORE}.rocksdb.changelogCheckpointing.enabled": str(logged).lower(),
        f"{STORE}.checkpointFormatVersion": "2" if second else "1",
    }
    return Killed(folder, KILLED_IN, Crash(0, at), folder / "no-sink", settings.get)


DELTA = "{}.delta"


@pytest.mark.parametrize(
    ("at", "there"),
    [
        ("offsets", ["offsets/2"]),
        ("partition", ["offsets/2", "state/0/0/3.delta"]),
        ("state", ["offsets/2", "state/0/0/3.delta", "state/0/1/3.delta"]),
        ("sink", ["offsets/2", "state/0/0/3.delta", "state/0/1/3.delta"]),
        ("commit", ["commits/2", "offsets/2", "state/0/0/3.delta", "state/0/1/3.delta"]),
    ],
)
@pytest.mark.parametrize("named", ["{}.delta", "{}_0ab1-c2.changelog", "{}.zip"])
def test_what_was_written_before_the_kill_is_left_and_what_came_later_is_not(tmp_path, at, there, named):
    if named.endswith(".zip"):
        there = [name.replace("3.delta", "3.zip") for name in there]
    folder = checkpoint_of(tmp_path, DELTA)
    for path in [*folder.rglob("*.delta"), *folder.rglob("*.delta.crc")]:
        version = path.name.lstrip(".").partition(".")[0]
        _renamed(path, named.format(version))
    killed(folder, at)
    assert left(folder) == [name.replace("3.delta", named.format(3)) for name in there]


def _renamed(path, name):
    path.unlink()
    hidden = path.suffix == ".crc"
    path = path.with_name(f".{name}.crc" if hidden else name)
    _write(path)
    if path.suffix == ".zip":
        _snapshot(path, "none.sst")


def _snapshot(path, *tables):
    told = {"sstFiles": [{"dfsSstFileName": table} for table in tables]}
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("metadata", "v1\n" + json.dumps(told))


@pytest.mark.parametrize(("at", "parts"), [("upload", ["0", "1"]), ("within", ["0"])])
def test_state_that_was_being_written_is_left_half_written_under_another_name(tmp_path, at, parts):
    folder = checkpoint_of(tmp_path, DELTA)
    killed(folder, at)
    halves = [*folder.rglob(".3.delta.*.tmp")]
    assert [half.parent.name for half in sorted(halves)] == parts
    assert {half.read_text() for half in halves} == {"the file 3.delta"[:8]}
    assert left(folder)[0] == "offsets/2"
    assert not [*folder.rglob("*3.delta.crc")]


def test_a_snapshot_that_was_being_written_beside_changes_is_left_half_written(tmp_path):
    folder = checkpoint_of(tmp_path, DELTA, "{}.snapshot")
    assert killed(folder, "maintenance").note == ""
    assert [*folder.rglob("3.delta")]
    assert not [*folder.rglob("3.snapshot")]
    assert len([*folder.rglob(".3.snapshot.*.tmp")]) == len(PARTS)


@pytest.mark.parametrize("stored", ["{}.zip", "{}.delta"])
def test_a_kill_at_maintenance_tells_that_no_snapshot_was_being_written(tmp_path, stored):
    """As where a store has a snapshot for each micro-batch."""
    folder = checkpoint_of(tmp_path, stored)
    for path in folder.rglob("*.zip"):
        _snapshot(path, "none.sst")
    assert killed(folder, "maintenance").note == "killed: maintenance: no snapshot was being written beside the state"
    files = [f"state/0/{part}/{stored.format(3)}" for part in PARTS]
    assert left(folder) == ["commits/2", "offsets/2", *files]


@pytest.mark.parametrize("stored", ["{}.zip", "{}_0ab1.delta", "{}.changelog"])
def test_state_in_another_store_than_the_one_asked_for_is_an_error(tmp_path, stored):
    folder = checkpoint_of(tmp_path, stored)
    session = {f"{STORE}.providerClass": "HDFS"}
    with pytest.raises(NotDriven, match=r"was to be in files \.delta of format 1"):
        Killed(folder, KILLED_IN, Crash(0, "state"), folder / "no-sink", session.get)


def test_tables_of_a_snapshot_go_with_it_if_no_other_one_has_them(tmp_path):
    folder = checkpoint_of(tmp_path, "{}.zip")
    for part in PARTS:
        for version in range(1, 5):
            _snapshot(folder / "state" / "0" / str(part) / f"{version}.zip", *(f"{n}.sst" for n in range(version)))
        for table in range(4):
            _write(folder / "state" / "0" / str(part) / "SSTs" / f"{table}.sst")
    killed(folder, "offsets")
    for part in PARTS:
        tables = {path.name for path in (folder / "state" / "0" / str(part) / "SSTs").iterdir()}
        assert tables == {"0.sst", "1.sst"}


def test_what_an_operator_says_of_itself_comes_after_the_offsets(tmp_path):
    folder = checkpoint_of(tmp_path, DELTA)
    told = folder / "state" / "0" / "_metadata" / "v2" / "2"
    killed(folder, "partition")
    assert told.exists()
    _write(folder / "commits" / "2")
    for part in PARTS:
        _write(folder / "state" / "0" / str(part) / "3.delta")
    killed(folder, "offsets")
    assert not told.exists()


@pytest.mark.parametrize("lost", ["commits/2", "offsets/2", "state/0/1/3.delta"])
def test_a_query_that_did_not_come_to_the_point_is_an_error(tmp_path, lost):
    folder = checkpoint_of(tmp_path, DELTA)
    (folder / lost).unlink()
    (folder / lost).with_name(f".{(folder / lost).name}.crc").unlink()
    with pytest.raises(NotDriven, match="was to be killed in"):
        killed(folder, "state")


def test_the_next_query_does_what_the_killed_one_had_planned(tmp_path):
    folder = checkpoint_of(tmp_path, DELTA)
    found = killed(folder, "state")
    with pytest.raises(NotDriven, match="not done as it was planned"):
        found.prove()
    _write(folder / "commits" / "2")
    found.prove()
    (folder / "offsets" / "2").write_text("something else")
    with pytest.raises(NotDriven, match="not done as it was planned"):
        found.prove()


def planned(*steps):
    return micro_batches.plan(renumbered([Advance(0, 10), Deliver(0), *steps, Deliver(0), Advance(0, 90)]).timeline)


def test_each_kill_is_a_query_of_its_own():
    batches = planned(Crash(0, "partition"), Crash(0, "state"))
    [killed_in] = [batch for batch in batches if batch.crashes]
    assert (killed_in.begun, killed_in.query) == (0, 2)
    assert [killed_in.killed(query) for query in range(3)] == [Crash(2, "partition"), Crash(3, "state"), None]
    assert killed_in.moves_to == 90, "the next advance is in the bundle's micro-batch"


def test_a_query_that_is_killed_behind_a_bundle_ends_with_it():
    batches = planned(Crash(0, "state"), Crash(0, "commit"))
    place = next(number for number, batch in enumerate(batches) if batch.crashes)
    assert (batches[place].begun, batches[place].query, batches[place + 1].query) == (0, 1, 2)
    assert batches[place].moves_to == 10
    assert micro_batches.crash_in(batches, 1) == (place, Crash(3, "commit"))
    assert micro_batches.crash_in(batches, 2) == (-1, None)


def test_queries_are_numbered_as_restarts_are():
    batches = planned(Restart(0), Crash(0, "offsets"))
    assert [batch.query for batch in batches if batch.bundle] == [0, 2]


def test_each_damage_can_be_done_and_one_that_finds_nothing_says_so(tmp_path):
    assert damages.HOW.keys() == DAMAGES.keys()
    (tmp_path / "metadata").write_text('{"id":"a"}')
    damages.inflict(tmp_path, "identity cut short", 1)
    assert (tmp_path / "metadata").read_text() == '{"id"'
    with pytest.raises(NotDriven, match="nothing to damage: last plan gone"):
        damages.inflict(tmp_path, "last plan gone", 1)

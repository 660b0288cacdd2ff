"""A job that is killed at a point of a micro-batch: the query stops behind the micro-batch, and its checkpoint becomes
what it was at that point. What the engine wrote later is taken away, and what it was writing then is left half written,
under the name that Spark gives a file until it is whole (Spark 4.3.0).

The checkpoint itself says that the point was reached: the engine had noted the micro-batch as planned and as done, and
each partition had stored its state. When the next query has ended, the engine has noted as done what it had planned
before the kill.
"""

import json
import re
import uuid
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from conformance.engines.spark.plans.settings import STORE
from conformance.engines.spark.runtime.releases import released
from conformance.model.engine import NotDriven
from conformance.model.runs import Pack
from conformance.model.schedule import Crash

OFFSETS, COMMITS = "offsets", "commits"
"""The logs of a checkpoint: what a micro-batch has, and that it is done."""

STORED = re.compile(r"\.?(?P<version>\d+)(?:_[0-9a-f-]+)?\.(?P<kind>delta|changelog|snapshot|zip)(?:\.crc)*")
"""A file of a version of the state, or its checksum. Format 2 of checkpoints puts an id behind the version."""

NOTED = re.compile(r"\.?(?P<version>\d+)(?:_[0-9a-f-]+)?(?:\.compact)?(?:\.crc)?")
"""A file of a log, or of what an operator says of itself, by micro-batch."""

WHOLE = ("snapshot", "zip")
"""Kinds of files that have the whole state, not what a micro-batch changed."""

SNAPSHOTS = {f"{STORE}.minDeltasForSnapshot": "0", f"{STORE}.unloadOnCommit": "true"}
"""Settings under which maintenance writes a snapshot behind each micro-batch, before the micro-batch is done (Spark
4.3.0): not of a stream-stream join. Releases before 4.1 do not know the second one."""


def settings_for(pack: Pack) -> Mapping[str, str]:
    """What a session needs so that each crash of a pack can come to its point."""
    return SNAPSHOTS if any(isinstance(s, Crash) and s.at == "maintenance" for s in pack.timeline) else {}


class Killed:
    """A micro-batch in which a query was killed, by its number. ``checkpoint`` is that of the query, ``sink`` the log
    of a file sink, ``asked`` what the session says of a setting or of its default. ``note`` says that nothing was being
    written at the point, "" if something was.

    Raises:
        NotDriven: the checkpoint does not say that the query came to this point, with its state in the store asked for.
    """

    def __init__(
        self, checkpoint: Path, number: int, crash: Crash, sink: Path, asked: Callable[[str, str], str]
    ) -> None:
        self._checkpoint, self._number = checkpoint, number
        stored = {folder: [*files_of(folder, STORED, number + 1)] for folder in checkpoint.glob("state/*/[0-9]*")}
        noted = [log for log in (OFFSETS, COMMITS) if (checkpoint / log / str(number)).exists()]
        if noted != [OFFSETS, COMMITS] or not stored or not all(stored.values()):
            there = ", ".join([*noted, *(str(f.relative_to(checkpoint)) for f, files in stored.items() if files)])
            raise NotDriven(
                f"micro-batch {number} was to be killed in; of it, the checkpoint has no more than: {there}"
            )
        _prove_store([file for files in stored.values() for file in files], asked)
        self._planned = self._offsets.read_bytes()
        self._take_away_later(sink)
        if crash.again:
            self._take_away(checkpoint / COMMITS)
        if crash.again and crash.at != "sink":
            self._take_away(sink)
        snapshots = [file for files in stored.values() for file in _snapshots(files)]
        vain = crash.at == "maintenance" and not snapshots
        self.note = f"{crash.circumstance}: no snapshot was being written beside the state" if vain else ""
        kept = [*stored][number % len(stored)] if crash.at in ("within", "partition") else None
        for folder, files in stored.items():
            if crash.at == "offsets" or (kept and folder != kept):
                _remove(files)
            elif crash.at in ("within", "upload"):
                _leave_half(files)
            elif crash.at == "maintenance":
                _leave_half(_snapshots(files))
        if crash.at == "offsets":
            for told in ("_metadata/v2", "_stateSchema/*"):
                for place in checkpoint.glob(f"state/*/{told}"):
                    self._take_away(place)
        if crash.at == "commit":
            (checkpoint / OFFSETS / f".{number + 1}.{uuid.uuid4()}.tmp").write_bytes(
                self._planned[: len(self._planned) // 2]
            )

    def prove(self) -> None:
        """Raises NotDriven if the query that went on has not done what the killed one had planned."""
        if self._offsets.read_bytes() != self._planned or not (self._checkpoint / COMMITS / str(self._number)).exists():
            raise NotDriven(f"micro-batch {self._number}, which was killed in, is not done as it was planned")

    @property
    def _offsets(self) -> Path:
        return self._checkpoint / OFFSETS / str(self._number)

    def _take_away(self, log: Path) -> None:
        _remove(files_of(log, NOTED, self._number))

    def _take_away_later(self, sink: Path) -> None:
        """What a micro-batch without rows that came behind it wrote."""
        later = self._number + 1
        for log in (self._checkpoint / OFFSETS, self._checkpoint / COMMITS, sink):
            _remove(files_of(log, NOTED, later))
        for folder in self._checkpoint.glob("state/*/[0-9]*"):
            _remove(files_of(folder, STORED, later + 1))


def files_of(folder: Path, names: re.Pattern[str], version: int) -> Iterator[Path]:
    """The files of a version in a folder and those below it."""
    for path in sorted(folder.rglob("*")) if folder.exists() else ():
        found = names.fullmatch(path.name)
        if found and path.is_file() and int(found["version"]) == version:
            yield path


def _prove_store(files: Iterable[Path], asked: Callable[[str, str], str]) -> None:
    """Raises NotDriven if the files are of another store than the one asked for. RocksDB has no changelog before 3.5,
    and checkpoints have one format before 4.0."""
    rocksdb = "RocksDB" in asked(f"{STORE}.providerClass", "")
    logged = asked(f"{STORE}.rocksdb.changelogCheckpointing.enabled", "false") == "true" and released() >= (3, 5)
    second = asked(f"{STORE}.checkpointFormatVersion", "1") == "2" and released() >= (4, 0)
    wanted = ("changelog" if logged else "zip") if rocksdb else "delta"
    found = {(_kind(file), "_" in file.name) for file in files}
    others = {("snapshot", False)} if wanted == "delta" else {("zip", second)}
    if (wanted, second) not in found or found - {(wanted, second)} - others:
        names = ", ".join(sorted({file.name for file in files}))
        raise NotDriven(f"state was to be in files .{wanted} of format {1 + second}, and is in: {names}")


def _snapshots(files: Sequence[Path]) -> list[Path]:
    """The files that maintenance wrote: none where each micro-batch stores a snapshot itself."""
    whole = [file for file in files if _kind(file) in WHOLE]
    return whole if len(whole) < len(files) else []


def _kind(file: Path) -> str:
    found = STORED.fullmatch(file.name)
    return found["kind"] if found else ""


def _remove(files: Iterable[Path]) -> None:
    """Files, and the tables of RocksDB that only a snapshot among them has."""
    gone = [*files]
    for file in gone:
        if file.suffix == ".zip" and (mine := _tables(file)):
            others = (_tables(other) for other in file.parent.glob("*.zip") if other not in gone)
            for table in mine.difference(*others):
                for path in (file.parent / "SSTs" / table, file.parent / "SSTs" / f".{table}.crc"):
                    path.unlink(missing_ok=True)
    for file in gone:
        file.unlink()


def _tables(snapshot: Path) -> set[str]:
    """The names of the tables (SST files) of a snapshot of RocksDB."""
    with zipfile.ZipFile(snapshot) as file:
        told = json.loads(file.read("metadata").decode().partition("\n")[2])
    return {table["dfsSstFileName"] for table in told["sstFiles"]}


def _leave_half(files: Iterable[Path]) -> None:
    """Half of each file, under a name of its own; its checksums are not there yet. The tables of a snapshot are written
    before it."""
    for file in files:
        if file.suffix != ".crc":
            written = file.read_bytes()
            file.with_name(f".{file.name}.{uuid.uuid4()}.tmp").write_bytes(written[: len(written) // 2])
        file.unlink()

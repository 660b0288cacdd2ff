"""Kept traces: what engines answered in earlier runs, in a folder, an answer a file.

A file's name identifies all that the answer depends on, so a file is never out of date. Runs may share a folder at the
same time: a file is written under another name and then renamed. A file that cannot be read is reported in one line,
removed, and asked again.
"""

import contextlib
import datetime
import hashlib
import json
import os
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from conformance.execution.environments import cache_folder
from conformance.model.runs import Pack, PackRun
from conformance.model.values import Json
from conformance.results import tables

FOLDER = "CONFORMANCE_TRACES"
"""The environment variable with the folder of kept traces, if they are not kept beside the environments."""

DAYS, MEGABYTES = 60, 4_096
"""A run removes answers that no run has used for so many days, and then the longest unused ones above this size."""

ABOUT = b"conformance.kept"
"""The metadata of a table with an answer: when it was made."""

BROKEN = (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, zipfile.BadZipFile, pa.ArrowException)
"""What reading a file that was cut off or altered may raise."""


def traces_folder() -> Path:
    """The folder of kept traces."""
    return Path(os.environ.get(FOLDER) or cache_folder() / "traces")


def now() -> str:
    """The time in UTC, as YYYY-MM-DDTHH:MM:SSZ."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Answer(NamedTuple):
    """An engine's answer to a pack, and when it was made (UTC)."""

    run: PackRun
    made: str


class Kept:
    """The files of a folder.

    Args:
        folder: where files are written, and read first.
        beside: other folders to read from.
        out: a folder that gets a copy of each file that is read or written.
        report: gets a line for each file that cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        beside: Sequence[Path] = (),
        out: Path | None = None,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.folder, self._beside, self._out, self._report = folder, tuple(beside), out, report
        self._refused: set[tuple[Path, int | None]] = set()

    def answer(self, name: str, pack: Pack) -> Answer | None:
        """The kept answer to a pack."""

        def read(content: bytes) -> Answer:
            table = tables.unpacked(content)
            return Answer(tables.pack_run_of(table, pack), table.schema.metadata[ABOUT].decode())

        found: Answer | None = self._read(f"{name}.arrow", read)
        return found

    def keep(self, name: str, pack: Pack, run: PackRun) -> None:
        """Keeps an answer that an engine has just given."""
        table = tables.pack_run_table(pack, run)
        metadata = {**(table.schema.metadata or {}), ABOUT: now().encode()}
        self._write(f"{name}.arrow", tables.packed(table.replace_schema_metadata(metadata), "zstd"))

    def data(self, name: str) -> Json | None:
        """Kept JSON, None if there is none."""
        return self._read(f"{name}.json", json.loads)

    def keep_data(self, name: str, data: Json) -> None:
        self._write(f"{name}.json", json.dumps(data, indent=1).encode())

    def prune(self, days: float = DAYS, megabytes: float = MEGABYTES) -> int:
        """Removes files that were not used for so many days, then the longest unused ones until the others take no more
        than ``megabytes``. Returns how many files were removed. Names of files that are being written do not count."""
        oldest, room = time.time() - days * 86_400, megabytes * 2**20
        removed = 0
        for used, size, path in sorted(self.files(), reverse=True):
            room -= size
            if used < oldest or room < 0:
                with contextlib.suppress(OSError):
                    path.unlink()
                    removed += 1
        return removed

    def files(self) -> Iterator[tuple[float, int, Path]]:
        """(time of last use in s since the epoch, bytes, file) of all files here."""
        for path in self.folder.rglob("*"):
            with contextlib.suppress(OSError):
                if path.is_file():
                    found = path.stat()
                    yield found.st_mtime, found.st_size, path

    def _read(self, file: str, read: Callable[[bytes], Any]) -> Any:
        for folder in (self.folder, *self._beside):
            path = folder / file
            try:
                digest, content = path.read_bytes().split(b"\n", 1)
                if digest != _digest(content):
                    raise ValueError("its content was altered or cut off")
                found = read(content)
            except FileNotFoundError:
                continue
            except BROKEN as error:
                self._report(f"kept traces: {path} is left out: {error}".splitlines()[0][:300])
                if folder == self.folder:
                    with contextlib.suppress(OSError):
                        path.unlink()
                continue
            with contextlib.suppress(OSError):
                os.utime(path)  # the time of last use
            if self._out and not (self._out / file).exists():
                self._write_to(self._out, file, content)
            return found
        return None

    def _write(self, file: str, content: bytes) -> None:
        """Writes a file that appears under its name once it is whole. A full disk, or a folder that may not be written
        to, loses the file alone: nothing else depends on it."""
        for folder in filter(None, (self.folder, self._out)):
            self._write_to(folder, file, content)

    def _write_to(self, folder: Path, file: str, content: bytes) -> None:
        target = folder / file
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            number, part = tempfile.mkstemp(dir=target.parent, prefix="part-")
            try:
                with os.fdopen(number, "wb") as out:
                    out.write(_digest(content) + b"\n" + content)
                os.replace(part, target)
            finally:
                Path(part).unlink(missing_ok=True)
        except OSError as error:
            if (folder, error.errno) not in self._refused:  # a full disk takes no other file either
                self._refused.add((folder, error.errno))
                self._report(f"kept traces: {target} cannot be written, nor perhaps others: {error}"[:300])


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def parts(folder: Path) -> Mapping[str, tuple[int, int, float]]:
    """Kind of kept file -> (number, bytes, time of last use of the oldest)."""
    found: dict[str, tuple[int, int, float]] = {}
    for used, size, path in Kept(folder).files():
        kind = path.relative_to(folder).parts[0]
        number, total, oldest = found.get(kind, (0, 0, used))
        found[kind] = (number + 1, total + size, min(oldest, used))
    return dict(sorted(found.items()))

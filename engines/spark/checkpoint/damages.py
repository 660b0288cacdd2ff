"""Damage to a checkpoint."""

import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance.engines.spark.checkpoint.crashes import COMMITS, OFFSETS, STORED, files_of
from conformance.model.engine import NotDriven


def of_planned(rows: Mapping[int, list[Any]], planned: int) -> dict[int, list[Any]]:
    """The output rows by micro-batch, of which so many were planned. A micro-batch that is done again has another
    number: what comes out behind the planned ones is of the last."""
    found: dict[int, list[Any]] = {}
    for number, out in sorted(rows.items()):
        found.setdefault(min(number, planned - 1), []).extend(out)
    return found


def inflict(checkpoint: Path, damage: str, number: int) -> None:
    """Damage a checkpoint whose last micro-batch was ``number``.

    Raises:
        NotDriven: the checkpoint has nothing that can be damaged so.
    """
    before = _contents(checkpoint)
    HOW[damage](checkpoint, number)
    if _contents(checkpoint) == before:
        raise NotDriven(f"the checkpoint has nothing to damage: {damage}")


def _contents(checkpoint: Path) -> dict[Path, bytes]:
    return {path.relative_to(checkpoint): path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}


def _with_checksum(file: Path) -> list[Path]:
    return [file, file.with_name(f".{file.name}.crc")]


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _halve(files: Iterable[Path]) -> None:
    """Half of each file, as a copy that was broken off leaves it: a checksum beside it would tell."""
    for file in files:
        if file.suffix == ".crc":
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def _partitions(checkpoint: Path) -> list[Path]:
    return sorted(folder for folder in checkpoint.glob("state/0/[0-9]*") if folder.is_dir())


def _last_state(checkpoint: Path, number: int) -> list[Path]:
    return [*files_of(_partitions(checkpoint)[0], STORED, number + 1)]


def _without_form(checkpoint: Path) -> None:
    for name in ("_metadata", "_stateSchema"):
        for place in checkpoint.rglob(name):
            shutil.rmtree(place)


def _exchange(checkpoint: Path) -> None:
    one, other = _partitions(checkpoint)[:2]
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


HOW: dict[str, Callable[[Path, int], None]] = {
    "identity gone": lambda place, number: _remove(_with_checksum(place / "metadata")),
    "identity cut short": lambda place, number: _halve(_with_checksum(place / "metadata")),
    "last plan gone": lambda place, number: _remove(_with_checksum(place / OFFSETS / str(number))),
    "last plan cut short": lambda place, number: _halve(_with_checksum(place / OFFSETS / str(number))),
    "all plans gone": lambda place, number: _empty(place / OFFSETS),
    "last done gone": lambda place, number: _remove(_with_checksum(place / COMMITS / str(number))),
    "last done cut short": lambda place, number: _halve(_with_checksum(place / COMMITS / str(number))),
    "all done gone": lambda place, number: _empty(place / COMMITS),
    "place gone": lambda place, number: _empty(place / "sources"),
    "last state gone": lambda place, number: _remove(_last_state(place, number)),
    "last state cut short": lambda place, number: _halve(_last_state(place, number)),
    "all state gone": lambda place, number: _empty(place / "state"),
    "form gone": lambda place, number: _without_form(place),
    "states exchanged": lambda place, number: _exchange(place),
}

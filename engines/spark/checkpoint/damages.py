"""A restart on a damaged checkpoint: what the last query left is copied once for each kind of damage, damaged, and gone
on with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.engines.spark.checkpoint.crashes import COMMITS, OFFSETS, STORED, files_of
from conformance.engines.spark.operators.operator import NO_EMISSION, emitted
from conformance.model.case import Case
from conformance.model.damage import damage_of
from conformance.model.engine import NotDriven
from conformance.model.runs import Pack, PackRun
from conformance.model.schedule import Restart
from conformance.model.trace import Emission, Trace

GoOn = Callable[[Path], tuple[Mapping[int, list[Any]], str]]
"""A checkpoint -> (what comes out of the query that goes on from it, by micro-batch, why the engine refused to go on or
"")."""


def answers(
    pack: Pack, checkpoint: Path, before: Mapping[int, list[Any]], go_on: GoOn, steps: Sequence[int]
) -> PackRun:
    """Go on once for each damage that the cases name. ``before`` came out of the query that left the checkpoint, by
    micro-batch. ``steps`` are those of the planned micro-batches: what a query puts out behind these is of the last.

    Raises:
        NotDriven: the checkpoint has nothing that can be damaged so.
    """
    restart = next(step.id for step in pack.timeline if isinstance(step, Restart))
    cases: dict[str, list[Case]] = {}
    for case in pack.cases:
        cases.setdefault(damage_of(case), []).append(case)
    traces: dict[str, Trace] = {}
    for copy, (damage, mine) in enumerate(cases.items()):
        damaged = checkpoint.with_name(f"damaged-{copy}")
        shutil.copytree(checkpoint, damaged)
        if damage:
            inflict(damaged, damage, max(before))
        rows, refused = go_on(damaged)
        found: dict[str, list[Emission]] = {case.id: [] for case in mine}
        # A sink that replaces a micro-batch by its id has these.
        for number, row in ((number, row) for number, rows in sorted({**before, **rows}.items()) for row in rows):
            if row["case"] in found and row["value"] != NO_EMISSION:
                step = steps[min(number, len(steps) - 1)] if row["step"] is None else row["step"]
                emission = Emission(row["key"], emitted(row["value"]), step, row["emitted_at"], row["error"])
                found[row["case"]].append(emission)
        for case in mine if refused else ():
            found[case.id].append(Emission(case.schedule.arrivals[0].event.key, {"refused": refused}, restart))
        traces |= {case: Trace.collect(emissions) for case, emissions in found.items()}
    return PackRun(traces)


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

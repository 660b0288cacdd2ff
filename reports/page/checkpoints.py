"""Which release goes on from which: the measured checkpoints, as a table for each engine of a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.version import Version

from conformance.comparison.checkpoints import Resumed, UnreadableCheckpoints, read
from conformance.reports.own import own_baselines

FILE = "checkpoints.json"
"""The file beside the baselines."""


@dataclass(frozen=True)
class Table:
    """The ways of an engine: for each release that jobs began in, those that went on."""

    engine: str
    releases: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Resumed | None, ...]], ...]
    lost: tuple[tuple[str, str, str], ...]
    """(way, program, what is wrong), for each program that does not go on."""


def tables(engines: Iterable[str]) -> list[Table]:
    """Those of these engines (ids without a release), of what was measured."""
    return [*_tables(known_checkpoints(), engines)]


def known_checkpoints() -> list[Resumed]:
    """What was measured; nothing where the project's baselines are not at hand."""
    place = own_baselines()
    try:
        return read(place / FILE) if place and (place / FILE).exists() else []
    except UnreadableCheckpoints:
        return []


def _tables(known: Iterable[Resumed], engines: Iterable[str]) -> Iterator[Table]:
    ways: dict[str, dict[tuple[str, str], Resumed]] = {}
    for row in known:
        if not row.lacks:
            ways.setdefault(row.engine, {})[row.begun, row.resumed] = row
    for engine in dict.fromkeys(engines):
        if mine := ways.get(engine):
            releases = tuple(sorted({release for way in mine for release in way}, key=Version))
            yield Table(
                engine,
                releases,
                tuple((begun, tuple(mine.get((begun, to)) for to in releases)) for begun in releases),
                tuple(
                    (f"{begun} → {to}", program, why)
                    for (begun, to), row in sorted(mine.items(), key=lambda way: [*map(Version, way[0])])
                    for program, why in row.lost.items()
                ),
            )

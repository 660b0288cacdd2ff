"""Which release goes on from which: the measured checkpoints, as a table for each engine of a page."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.version import Version

from conformance.comparison.checkpoints import Resumed
from conformance.reports.own import measured

FILE = "checkpoints.json"
"""The file beside the baselines."""


@dataclass(frozen=True)
class Shown:
    """One way from a release to another one.

    Attributes:
        words: how many programs go on, of how many; and how many where the first release goes on in the end.
        kind: the colour: "holds", "violated", or "" where nothing can be said.
    """

    words: str
    kind: str


@dataclass(frozen=True)
class Table:
    """The ways of an engine: for each release that jobs began in, those that went on."""

    engine: str
    releases: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Shown | None, ...]], ...]
    lost: tuple[tuple[str, str, str], ...]
    """(way, program, what is wrong), for each program that does not go on."""


def tables(engines: Iterable[str]) -> list[Table]:
    """Those of these engines (ids without a release), of what was measured."""
    return [*_tables(known_checkpoints(), engines)]


def known_checkpoints() -> list[Resumed]:
    """What was measured; nothing where the project's baselines are not at hand."""
    return measured(FILE, Resumed)


def _tables(known: Iterable[Resumed], engines: Iterable[str]) -> Iterator[Table]:
    ways: dict[str, dict[tuple[str, ...], Resumed]] = {}
    for row in known:
        if not row.lacks:
            ways.setdefault(row.engine, {})[row.way] = row
    for engine in dict.fromkeys(engines):
        if mine := ways.get(engine):
            releases = tuple(sorted({release for way in mine for release in way}, key=Version))
            yield Table(
                engine,
                releases,
                tuple(
                    (begun, tuple(_shown(mine.get((begun, to)), mine.get((begun, to, begun))) for to in releases))
                    for begun in releases
                ),
                tuple(
                    (" → ".join(way), program, why)
                    for way, row in sorted(mine.items(), key=lambda found: [*map(Version, found[0])])
                    for program, why in row.lost.items()
                ),
            )


def _shown(row: Resumed | None, back: Resumed | None) -> Shown | None:
    if row is None:
        return None
    rows = [row, back] if back else [row]
    kind = "violated" if any(each.lost for each in rows) else "holds" if row.kept else ""
    return Shown(", and back ".join(each.words for each in rows), kind)

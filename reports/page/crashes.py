"""Crash points: what is kept by a job that is killed at each point of a bundle, against the engines that were asked and
the stores that their state was in."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from conformance.comparison.crashes import POINTS, Killed, killed
from conformance.reports.grid import Grid
from conformance.reports.own import measured

FILE = "crashes.json"
"""The file beside the baselines."""

WORDS = tuple((name, words) for name, (_, words) in POINTS.items())


@dataclass(frozen=True)
class Line:
    """An engine with its state in a store.

    Attributes:
        label: where it was asked, "" for the one run of the page.
        points: (how many guarantees were kept, how many violated) in the order of POINTS, None where no case was
            killed.
        broken: (guarantee, what is wrong) of what was measured beside the runs of the page.
    """

    engine: str
    store: str
    label: str
    points: tuple[tuple[int, int] | None, ...]
    broken: tuple[tuple[str, str], ...]


def lines(grid: Grid) -> list[Line]:
    """The engines of the page, in the order of the matrix: each as a run of the page has it, then each store that was
    measured."""
    found = []
    known = measured(FILE, Killed)
    for engine in dict.fromkeys(engine for run in grid.runs for engine in run.engines):
        for run, label in zip(grid.runs, grid.labels, strict=True):
            if engine in run.engines:
                row = killed(run, engine, _set_to(run.environment[engine].versions))
                found.append(_line(replace(row, broken={}), label))  # its cells say more
        found += [_line(row, f"measured in {row.release}") for row in known if row.engine == engine]
    return [line for line in found if any(line.points)]


def _line(row: Killed, label: str) -> Line:
    points = [(row.kept.get(name, 0), row.violated.get(name, 0)) for name in POINTS]
    told = tuple(point if any(point) else None for point in points)
    return Line(row.engine, row.store, label, told, tuple(row.broken.items()))


def _set_to(versions: Mapping[str, str]) -> str:
    """The classes that a framework is set to, such as that of its state store."""
    return ", ".join(value.rpartition(".")[2] for name, value in versions.items() if "." in name and "." in value)

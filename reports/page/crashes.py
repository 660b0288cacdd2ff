"""Crash points: what is kept by a job that is killed at each point of a bundle, against the engines that were asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.judgement.cell import AS_DRAWN, MatrixCell, Verdict
from conformance.model.perturbation import CRASH, factors_of
from conformance.model.steps import CRASH_POINTS, Crash
from conformance.reports.grid import Grid
from conformance.support.grouping import grouped

POINTS = tuple(CRASH_POINTS.items())
"""(name of a point, what is so at that instant), in the order in which a job comes to them."""


@dataclass(frozen=True)
class Killed:
    """How many guarantees were kept, and how many were violated, in cases that were killed at a point."""

    kept: int
    violated: int


@dataclass(frozen=True)
class Line:
    """An engine of a run. ``settings`` are the classes that its framework is set to, such as that of its state store;
    ``points`` are in the order of POINTS, None where no case was killed."""

    engine: str
    label: str
    settings: str
    points: tuple[Killed | None, ...]


def lines(grid: Grid) -> list[Line]:
    """The engines that were asked, in the order of the matrix. What an engine breaks without a kill says nothing of
    kills."""
    found = []
    for run, label in zip(grid.runs, grid.labels, strict=True):
        broken = {
            (cell.engine, cell.row)
            for cell in run.cells
            if cell.perturbation == AS_DRAWN and cell.verdict is Verdict.VIOLATED
        }
        crashed = (cell for cell in run.cells if CRASH.id in factors_of(cell.perturbation))
        cells = grouped((cell.engine, cell) for cell in crashed if (cell.engine, cell.row) not in broken)
        for engine in run.engines:
            points = tuple(_killed(cells.get(engine, ()), name) for name, _ in POINTS)
            if any(points):
                versions = run.environment[engine].versions
                settings = (
                    value.rpartition(".")[2] for name, value in versions.items() if "." in name and "." in value
                )
                found.append(Line(engine, label, ", ".join(settings), points))
    return found


def _killed(cells: Sequence[MatrixCell], point: str) -> Killed | None:
    mine = [cell.verdict for cell in cells if cell.coverage.get(Crash(0, point).circumstance)]
    return Killed(mine.count(Verdict.HOLDS), mine.count(Verdict.VIOLATED)) if mine else None

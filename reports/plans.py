"""The plans view: what each plan around an operator changes on each engine, and the two queries where it changes something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.model.plan import PREFIX, is_plan
from reports.grid import Grid

Place = tuple[int, str]
"""(number of a run, engine)."""


@dataclass(frozen=True)
class Asked:
    """What the programs of an engine say of one plan: how many hold, how many are violated, how many are undecided, and the name of the
    cell, in links, that shows the first of the violated ones, else of those that hold."""

    held: int
    violated: int
    undecided: int
    anchor: str


@dataclass(frozen=True)
class Differing:
    """A plan that changes the output on an engine: the plain query and the plan's as text, and (program, name of the cell in links)."""

    plan: str
    engine: str
    label: str
    plain: str
    text: str
    programs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class View:
    """The plans that were asked, against the engines that were asked one.

    Attributes:
        columns: (place, engine, label of its run).
        rows: (plan, place -> what came of it), those that change something first.
    """

    columns: tuple[tuple[Place, str, str], ...]
    rows: tuple[tuple[str, Mapping[Place, Asked]], ...]
    differing: tuple[Differing, ...]


def view(grid: Grid) -> View | None:
    """The view of all runs, None where no plan was asked."""
    found: dict[str, dict[Place, list[tuple[MatrixCell, str]]]] = {}
    for place, cell, anchor in _asked(grid):
        found.setdefault(cell.perturbation.removeprefix(PREFIX), {}).setdefault(place, []).append((cell, anchor))
    if not found:
        return None
    there = {place for of_plan in found.values() for place in of_plan}
    places = ((number, engine) for number, run in enumerate(grid.runs) for engine in run.engines)
    columns = tuple((place, place[1], grid.labels[place[0]]) for place in places if place in there)
    rows = [(plan, {place: _counted(cells) for place, cells in of_plan.items()}) for plan, of_plan in found.items()]
    rows.sort(key=lambda row: -sum(asked.violated > 0 for asked in row[1].values()))
    differing = [
        _differing(plan, engine, label, cells)
        for plan, _ in rows
        for place, engine, label in columns
        if (cells := [(c, a) for c, a in found[plan].get(place, ()) if c.verdict is Verdict.VIOLATED])
    ]
    return View(columns, tuple(rows), tuple(differing))


def _asked(grid: Grid) -> Iterator[tuple[Place, MatrixCell, str]]:
    """The cells about plans that were run, each with the name of its row's cell in links."""
    for number, groups in enumerate(grid.cells):
        for (row, engine), cells in groups.items():
            for cell in cells:
                if is_plan(cell.perturbation) and (cell.cases or cell.verdict in (Verdict.VIOLATED, Verdict.ERROR)):
                    yield (number, engine), cell, grid.anchor(number, row, engine)


def _counted(cells: list[tuple[MatrixCell, str]]) -> Asked:
    verdicts = [cell.verdict for cell, _ in cells]
    held, violated = verdicts.count(Verdict.HOLDS), verdicts.count(Verdict.VIOLATED)
    (_, anchor), *_ = sorted(
        cells, key=lambda one: (one[0].verdict is not Verdict.VIOLATED, one[0].verdict is not Verdict.HOLDS)
    )
    return Asked(held, violated, len(cells) - held - violated, anchor)


def _differing(plan: str, engine: str, label: str, cells: list[tuple[MatrixCell, str]]) -> Differing:
    notes = [note for cell, _ in cells for note in cell.notes]

    def query(name: str) -> str:
        return next((note.removeprefix(f"{name}: ") for note in notes if note.startswith(f"{name}: ")), "")

    programs = tuple((f"{cell.scenario}/{cell.program}", anchor) for cell, anchor in cells)
    return Differing(plan, engine, label, query("plain"), query(plan), programs)

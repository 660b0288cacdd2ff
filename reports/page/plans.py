"""The plans view: what each plan around an operator changes on each engine, and the two queries where it changes
something."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.judgement.cell import MatrixCell, Verdict
from conformance.model.plan import PREFIX, is_plan
from conformance.reports.grid import Column, Grid
from conformance.support.grouping import grouped


@dataclass(frozen=True)
class Asked:
    """How many programs of a column's engines hold under one plan, are violated, and are undecided. ``anchor`` is the
    name in links of the first violated cell, else of the first that holds."""

    held: int
    violated: int
    undecided: int
    anchor: str


@dataclass(frozen=True)
class Differing:
    """A plan that changes the output on an engine: the plain query and the plan's as text, and (program, name of the
    cell in links)."""

    plan: str
    engine: str
    label: str
    plain: str
    text: str
    programs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class View:
    """The plans that were asked, against the columns of the matrix with an engine that was asked one.

    Attributes:
        rows: (plan, column -> what came of it), those that change something first.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, Mapping[Column, Asked]], ...]
    differing: tuple[Differing, ...]


def view(grid: Grid) -> View | None:
    """The view of all runs, None where no plan was asked."""
    found = {
        plan: grouped(asked)
        for plan, asked in grouped(
            (cell.perturbation.removeprefix(PREFIX), (column, (cell, anchor))) for column, cell, anchor in _asked(grid)
        ).items()
    }
    if not found:
        return None
    columns = tuple(column for column in grid.columns if any(column in of_plan for of_plan in found.values()))
    rows = [(plan, {column: _counted(cells) for column, cells in of_plan.items()}) for plan, of_plan in found.items()]
    rows.sort(key=lambda row: -sum(asked.violated > 0 for asked in row[1].values()))
    differing = [
        _differing(plan, engine, column.label, cells)
        for plan, _ in rows
        for column in columns
        for engine in column.engines
        if (cells := [(c, a) for c, a in found[plan].get(column, ()) if _violates(c, engine)])
    ]
    return View(columns, tuple(rows), tuple(differing))


def _asked(grid: Grid) -> Iterator[tuple[Column, MatrixCell, str]]:
    """The cells about plans that were run, each with the name of its row's cell in links."""
    columns = {(column.run, engine): column for column in grid.columns for engine in column.engines}
    for number, groups in enumerate(grid.cells):
        for (row, engine), cells in groups.items():
            for cell in cells:
                if is_plan(cell.perturbation) and (cell.cases or cell.verdict in (Verdict.VIOLATED, Verdict.ERROR)):
                    yield columns[number, engine], cell, grid.anchor(number, row, engine)


def _violates(cell: MatrixCell, engine: str) -> bool:
    return cell.verdict is Verdict.VIOLATED and cell.engine == engine


def _counted(cells: list[tuple[MatrixCell, str]]) -> Asked:
    verdicts = [cell.verdict for cell, _ in cells]
    held, violated = verdicts.count(Verdict.HOLDS), verdicts.count(Verdict.VIOLATED)
    shown = next((v for v in (Verdict.VIOLATED, Verdict.HOLDS) if v in verdicts), verdicts[0])
    _, anchor = cells[verdicts.index(shown)]
    return Asked(held, violated, len(cells) - held - violated, anchor)


def _differing(plan: str, engine: str, label: str, cells: list[tuple[MatrixCell, str]]) -> Differing:
    notes = [note for cell, _ in cells for note in cell.notes]

    def query(name: str) -> str:
        return next((note.removeprefix(f"{name}: ") for note in notes if note.startswith(f"{name}: ")), "")

    programs = tuple((f"{cell.scenario}/{cell.program}", anchor) for cell, anchor in cells)
    return Differing(plan, engine, label, query("plain"), query(plan), programs)

"""Runs side by side: the columns of the matrix, their cells, and the names of these in links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from conformance.judgement.cell import Folded, MatrixCell
from conformance.judgement.verdict import fold
from conformance.model.scenario import slug
from conformance.results.baseline import Baseline
from conformance.results.changes import Changes, successive
from conformance.results.record import ScenarioRecord
from conformance.results.results import Results
from reports.words import change_in_words, labels

Row = tuple[str, str]
"""(scenario, guarantee), by their ids."""


@dataclass(frozen=True)
class Column:
    """A column of the matrix: one engine, or all native operators of a framework, in one run. ``label`` tells runs apart."""

    name: str
    family: str
    run: int
    label: str
    engines: tuple[str, ...]


class Grid:
    """Some runs, oldest first, with their cells by place.

    Attributes:
        labels: what tells the runs apart, "" for one alone.
        cells: for each run, (row, engine) -> its cells, one for each perturbation.
        folded: for each run, (row, engine) -> one cell over all perturbations.
        changes: (number of a run, the changes since the runs before it).
    """

    def __init__(self, runs: Sequence[Results]) -> None:
        self.runs = runs
        self.labels = labels(runs) if len(runs) > 1 else [""]
        self.columns = list(_columns(runs))
        self.cells: list[dict[tuple[Row, str], list[MatrixCell]]] = []
        for run in runs:
            groups: dict[tuple[Row, str], list[MatrixCell]] = {}
            for cell in run.cells:
                groups.setdefault((cell.row, cell.engine), []).append(cell)
            self.cells.append(groups)
        self.folded = [{place: fold(cells) for place, cells in groups.items()} for groups in self.cells]
        self.changes: list[tuple[int, Changes]] = list(enumerate(successive([Baseline.of(run) for run in runs]), 1))
        self._engines = [frozenset(run.engines) for run in runs]
        self._anchors = _Anchors()

    @property
    def families(self) -> list[tuple[str, int]]:
        """Family -> how many columns it has, in order."""
        return list(Counter(column.family for column in self.columns).items())

    @cached_property
    def perturbations(self) -> list[str]:
        return list(dict.fromkeys(cell.perturbation for run in self.runs for cell in run.cells))

    @cached_property
    def texts(self) -> dict[str, ScenarioRecord]:
        """The texts of every scenario and of every guarantee that a run has, in the words of the last one."""
        found: dict[str, ScenarioRecord] = {}
        for run in self.runs:
            for scenario, texts in run.scenarios.items():
                older = found[scenario].guarantees if scenario in found else {}
                found[scenario] = replace(texts, guarantees={**older, **texts.guarantees})
        return found

    @cached_property
    def rows(self) -> dict[Row, None]:
        """The guarantees that have cells, in order."""
        return dict.fromkeys(cell.row for run in self.runs for cell in run.cells)

    def rows_of(self, run: int, engine: str) -> list[Folded]:
        """The rows of an engine in a run."""
        return [row for (_, name), row in self.folded[run].items() if name == engine]

    def row_anchor(self, row: Row) -> str:
        """The name of a row in links."""
        return self._anchors.of(f"row-{slug(row[0])}-{slug(row[1])}", row)

    def anchor(self, run: int, row: Row, engine: str) -> str:
        """The name of a cell in links; of several runs the last has the plain one."""
        named = "-".join(["cell", *(slug(part) for part in (engine, *row))])
        return self._anchors.of(named if run == len(self.runs) - 1 else f"{named}@{run + 1}", (run, row, engine))

    def engine_anchor(self, run: int, engine: str) -> str:
        """The name of an engine's part of the page in links."""
        return self._anchors.of(f"engine-{slug(engine)}-{run + 1}", (run, engine))

    def before(self, run: int, row: Row, engine: str) -> tuple[Folded | None, list[str]]:
        """The cell in the latest earlier run that has the engine; and what changed since, in words."""
        earlier = next((n for n in range(run - 1, -1, -1) if engine in self._engines[n]), None)
        if earlier is None:
            return None, []
        return self.folded[earlier].get((row, engine)), self._flips[run - 1].get((row, engine), [])

    @cached_property
    def _flips(self) -> list[dict[tuple[Row, str], list[str]]]:
        """For each run but the first, what changed in its cells."""
        found: list[dict[tuple[Row, str], list[str]]] = []
        for _, between in self.changes:
            flips: dict[tuple[Row, str], list[str]] = {}
            for change in between:
                if not change.of_program:
                    place = (change.scenario, change.about), change.engine
                    flips.setdefault(place, []).append(change_in_words(change))
            found.append(flips)
        return found


class _Anchors:
    """Names for links. A name that is taken gets a number."""

    def __init__(self) -> None:
        self._given: dict[object, str] = {}
        self._used: Counter[str] = Counter()

    def of(self, name: str, thing: object) -> str:
        if thing not in self._given:
            self._used[name] += 1
            self._given[thing] = name if self._used[name] == 1 else f"{name}~{self._used[name]}"
        return self._given[thing]


def _columns(runs: Sequence[Results]) -> Iterator[Column]:
    """All columns. The columns of an engine stand beside each other, as do the engines of a family."""
    names = dict.fromkeys(name for run in runs for name in run.columns)
    for family in dict.fromkeys(map(_family, names)):
        for name in (name for name in names if _family(name) == family):
            there = [number for number, run in enumerate(runs) if name in run.columns]
            own = [(runs[n].environment[runs[n].columns[name][0]].framework or ("", ""))[1] for n in there]
            for number, mine in zip(there, own, strict=True):
                label = mine if mine and own.count(mine) == 1 else f"{mine} run {number + 1}".strip()
                yield Column(name, family, number, label if len(runs) > 1 else "", tuple(runs[number].columns[name]))


def _family(column: str) -> str:
    return column.partition(":")[0].partition("-")[0]

"""What a reader came for, first: what differs for whoever ports, upgrades or tests, and where each scenario stands."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.judgement.agreement import REFERENCE
from conformance.judgement.cell import Folded, Verdict
from conformance.model.engine import bare
from conformance.reports.advice import Advice
from conformance.reports.grid import FRAMEWORKS, Column, Grid, Row
from conformance.reports.words import amount, change_in_words, changed_claim
from conformance.results.record import EngineRecord
from conformance.support.grouping import grouped

SHOWN = 10
"""How many differences the overview tells."""

TESTER = "-tester"
"""The end of the name of an engine that is there to test programs of another one: NAME-tester of NAME."""

Cells = Mapping[Row, Mapping[str, Folded]]


@dataclass(frozen=True)
class Link:
    """Something on the page, with its name in links."""

    title: str
    anchor: str


@dataclass(frozen=True)
class Difference:
    """Guarantees that are violated for one reason.

    Attributes:
        cause: the reason in words, or the guarantee itself.
        engines: those that violate one of them, each with a cell that shows it.
        rest: how many more guarantees there are, in words.
        guarantee: one of them, the cell of which shows most; named by its scenario where ``cause`` has its words.
    """

    cause: str
    engines: tuple[Link, ...]
    guarantee: Link
    rest: str
    weight: tuple[int, int]


@dataclass(frozen=True)
class Doing:
    """What a reader does, the differences that matter then, and how many more there are."""

    title: str
    differences: tuple[Difference, ...]
    more: int


@dataclass(frozen=True)
class Square:
    """A scenario on the engines of a column.

    Attributes:
        level: 0 where nothing is violated, to 4 where more than half of the guarantees that were asked are; "" where
            none was asked.
        shown: how many are violated, else the mark of what holds, or of what is not decided.
        asked: how many were asked.
        in_part: nothing is violated, and at least half of what holds does so in part.
        told: all of it in words.
    """

    level: str
    shown: str
    asked: int
    in_part: bool
    told: str


@dataclass(frozen=True)
class MapLine:
    scenario: str
    name: str
    squares: tuple[Square, ...]


def doings(grid: Grid, advice: Sequence[Advice]) -> list[Doing]:
    """What differs, by what a reader does: port from one framework to another, upgrade, test. Each engine is that of
    the last run that has it. At most ``SHOWN`` differences, from each group in turn; the weightiest of a group come
    first."""
    lasts = _lasts(grid)
    run = {engine: grid.runs[number].environment[engine] for engine, number in lasts.items()}
    cells: dict[Row, dict[str, Folded]] = {}
    for number, folded in enumerate(grid.folded):
        for (row, engine), cell in folded.items():
            if lasts.get(engine) == number:
                cells.setdefault(row, {})[engine] = cell
    groups = {
        title: _differences(grid, advice, rows, lasts)
        for title, rows in itertools.chain(_ports(run, cells), _upgrades(run, cells), _tests(run, cells))
    }
    groups |= dict(_changes(grid))
    groups = {title: found for title, found in groups.items() if found}
    if not groups:
        alone = {row: {e: c for e, c in found.items() if c.verdict is Verdict.VIOLATED} for row, found in cells.items()}
        groups = {"Use": found} if (found := _differences(grid, advice, alone, lasts)) else {}
    shown = dict.fromkeys(groups, 0)
    for _ in range(SHOWN):
        if left := [title for title in groups if shown[title] < len(groups[title])]:
            shown[min(left, key=lambda title: shown[title])] += 1
    return [
        Doing(title, tuple(found[: shown[title]]), len(found) - shown[title])
        for title, found in groups.items()
        if shown[title]
    ]


def _lasts(grid: Grid) -> dict[str, int]:
    """Engine -> the number of the last run that has it, in whatever release; an engine that a later run has in another
    release is left out."""
    runs: dict[str, int] = {bare(engine): number for number, run in enumerate(grid.runs) for engine in run.engines}
    return {e: n for n, run in enumerate(grid.runs) for e in run.engines if runs[bare(e)] == n}


def _apis(run: Mapping[str, EngineRecord]) -> dict[str, list[str]]:
    """Framework -> the engines that run users' programs in production on it."""
    found: dict[str, list[str]] = {name: [] for name in FRAMEWORKS}
    for engine, record in run.items():
        if record.framework and not (record.native_operator or bare(engine).endswith(TESTER) or "+" in engine):
            found.setdefault(record.framework[0], []).append(engine)
    return {framework: engines for framework, engines in found.items() if engines}


def _ports(run: Mapping[str, EngineRecord], cells: Cells) -> Iterator[tuple[str, Cells]]:
    """What holds on some engine of one framework, and is violated on engines of another one."""
    apis = _apis(run)
    for target, source in itertools.permutations(apis, 2):
        rows = {
            row: {e: found[e] for e in apis[target] if e in found and found[e].verdict is Verdict.VIOLATED}
            for row, found in cells.items()
            if any(e in found and found[e].verdict is Verdict.HOLDS for e in apis[source])
        }
        yield f"Port {source.capitalize()} → {target.capitalize()}", rows


def _upgrades(run: Mapping[str, EngineRecord], cells: Cells) -> Iterator[tuple[str, Cells]]:
    """What is violated by jobs that went from one release to another (ID@OLD+NEW)."""
    carried = [engine for engine in run if "+" in engine.partition("@")[2]]
    for versions in dict.fromkeys(engine.partition("@")[2] for engine in carried):
        mine = [engine for engine in carried if engine.endswith(f"@{versions}")]
        rows = {
            row: {e: found[e] for e in mine if e in found and found[e].verdict is Verdict.VIOLATED}
            for row, found in cells.items()
        }
        yield f"Upgrade {versions.replace('+', ' → ')} with its checkpoints", rows


def _tests(run: Mapping[str, EngineRecord], cells: Cells) -> Iterator[tuple[str, Cells]]:
    """What an engine for tests answers otherwise than the engine that it stands for."""
    by_name = {bare(engine): engine for engine in run}
    for name, tester in by_name.items():
        real = by_name.get(name.removesuffix(TESTER))
        if not name.endswith(TESTER) or real is None:
            continue
        decided = {Verdict.HOLDS, Verdict.VIOLATED}
        rows = {
            row: {e: found[e] for e in (tester, real) if found[e].verdict is Verdict.VIOLATED}
            for row, found in cells.items()
            if tester in found and real in found and {found[tester].verdict, found[real].verdict} == decided
        }
        yield f"Test with {tester}", rows


def _changes(grid: Grid) -> Iterator[tuple[str, list[Difference]]]:
    """What changed between the runs of a page, of several versions: an upgrade. What one of the runs did not decide is
    no change that a user meets, nor is one of an engine without a framework."""
    real = {bare(name) for run in grid.runs for name, record in run.environment.items() if record.framework}
    for number, between in grid.changes:
        found = []
        for change in between:
            if Verdict.UNKNOWN.value in (change.before, change.after) or bare(change.engine) not in real:
                continue
            anchor = grid.change_anchor(number, change)
            if anchor and not change.of_program:
                link = Link(change.engine, anchor)
                claim = Link(change_in_words(change), link.anchor)
                found.append(Difference(changed_claim(grid.runs, change), (link,), claim, "", (1, 1)))
        yield f"Upgrade {grid.labels[number - 1]} → {grid.labels[number]}", found


def _differences(grid: Grid, advice: Sequence[Advice], rows: Cells, lasts: Mapping[str, int]) -> list[Difference]:
    """Violated rows by their cause, which the advice tells; what has no advice is a difference of its own."""

    def cause(row: Row, engine: str) -> str:
        told = (one.cause for one in advice if one.about(row, engine))
        return next(told, grid.texts[row[0]].guarantees[row[1]].claim)

    groups = grouped((cause(row, engine), (row, cell)) for row, found in rows.items() for engine, cell in found.items())
    made = [_difference(grid, cause, found, lasts) for cause, found in groups.items()]
    return sorted(made, key=lambda difference: difference.weight, reverse=True)


def _difference(grid: Grid, cause: str, found: Iterable[tuple[Row, Folded]], lasts: Mapping[str, int]) -> Difference:
    first: dict[str, Link] = {}
    most: dict[Row, Folded] = {}
    for row, cell in found:
        first.setdefault(cell.engine, Link(cell.engine, grid.anchor(lasts[cell.engine], row, cell.engine)))
        most[row] = max(most.get(row, cell), cell, key=lambda cell: cell.violations)
    row = max(most, key=lambda row: most[row].violations)
    claim = grid.texts[row[0]].guarantees[row[1]].claim
    rest = f" and {amount(len(most) - 1, 'other')}" if len(most) > 1 else ""
    return Difference(
        cause if cause != claim else f"not so: {claim}",
        tuple(first.values()),
        Link(
            grid.texts[row[0]].name if cause == claim else claim,
            grid.anchor(lasts[most[row].engine], row, most[row].engine),
        ),
        rest,
        (len(first), len(most)),
    )


def mapped(grid: Grid) -> list[Column]:
    """The columns of the map: those that run users' programs."""
    return [column for column in grid.columns if not column.native and column.name != REFERENCE]


def squares(grid: Grid) -> list[MapLine]:
    """A line for each scenario that one of the map's columns was asked about, a square for each column."""
    lines = [
        MapLine(scenario, grid.texts[scenario].name, tuple(_square(grid, scenario, column) for column in mapped(grid)))
        for scenario in dict.fromkeys(row[0] for row in grid.rows)
    ]
    return [line for line in lines if any(square.level for square in line.squares)]


LEVELS = (0.0, 0.1, 0.25, 0.5)
"""The greatest share of violated guarantees at each level of a square but the last."""


def _square(grid: Grid, scenario: str, column: Column) -> Square:
    rows = [grid.folded[column.run].get((row, e)) for row in grid.rows if row[0] == scenario for e in column.engines]
    found = [row for row in rows if row and row.verdict is not Verdict.UNSUPPORTED]
    name = f"{grid.texts[scenario].name} on {column.name}{f' {column.label}' if column.label else ''}"
    if not found:
        return Square("", "", 0, False, f"{name}: not asked")
    holding = [row for row in found if row.verdict is Verdict.HOLDS]
    violated = sum(row.verdict is Verdict.VIOLATED for row in found)
    parts = sum(row.in_part for row in holding)
    words = [f"{len(holding)} of {len(found)} hold", f"{parts} of them in part" * bool(parts)]
    words += [f"{violated} violated" * bool(violated)]
    told = f"{name}: {', '.join(filter(None, words))}"
    if violated:
        level = sum(violated / len(found) > most for most in LEVELS)
        return Square(str(level), str(violated), len(found), False, told)
    return Square("0", "✓" if holding else "?", len(found), 2 * parts >= max(1, len(holding)), told)

"""What changes for whoever moves from one API in one release to another: what the chooser of the page knows.

A side is an engine in a release, of a run of the page or of a baseline. The script compares two sides under the
perturbations that both decided. Baselines are those that ``conformance.reports.page.leads`` finds.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from packaging.version import Version

from conformance.judgement.agreement import REFERENCE
from conformance.model.engine import CannotRun, Engine, bare
from conformance.plugins.registry import UnknownName, load_engine, load_scenarios
from conformance.reports.advice import Advice
from conformance.reports.grid import FRAMEWORKS, Grid, Row
from conformance.reports.page.cells import LETTERS
from conformance.reports.page.leads import measured, paragraphs
from conformance.reports.page.pages import in_base_85
from conformance.results.baseline import Baseline, Standing
from conformance.support.release import version_in


@dataclass(frozen=True)
class Side:
    """An engine in a release.

    Attributes:
        key: its name in the address of a page, "spark-tws@4.3.0".
        engine: its id without a release.
        release: the release and where it was measured, in words.
        cells: row -> perturbation -> standing.
        anchors: row -> the name of its cell in links; empty for a baseline.
        whole: it is of a run that was asked everything.
    """

    key: str
    engine: str
    framework: str
    release: str
    cells: Mapping[Row, Mapping[str, Standing]]
    anchors: Mapping[Row, str]
    whole: bool = True


class Moves:
    """The sides of a page.

    Attributes:
        apis: (heading, the ids of engines with the names that people know), in the order of the chooser.
        packed: the sides for the script: JSON as ``in_base_85`` has it.
    """

    def __init__(self, grid: Grid, advice: Iterable[Advice]) -> None:
        self.sides = sorted(_sides(grid), key=_order, reverse=True)
        self.apis = _apis(grid, self.sides)
        self.packed = in_base_85(zlib.compress(json.dumps(_data(grid, self.sides, tuple(advice))).encode(), 9))


def _order(side: Side) -> tuple[bool, Version, bool, bool]:
    """What an engine's newest release is told by comes last: a run of the page, if that is whole, else a baseline."""
    version = version_in(side.key.partition("@")[2].partition("+")[0].removesuffix(".measured").partition(".run")[0])
    return version is None, version or Version("0"), side.whole, bool(side.anchors)


def _sides(grid: Grid) -> Iterator[Side]:
    """Those of the page's runs, the last run first, then those that were measured."""
    keys: set[str] = set()
    for number in range(len(grid.runs) - 1, -1, -1):
        run, where = grid.runs[number], f"run {number + 1}" if len(grid.runs) > 1 else "this run"
        where += ", not a full one" * bool(run.shortened)
        found = _cells(Baseline.of(run))
        for engine in run.engines:
            if (framework := run.environment[engine].framework) and engine in found:
                release = engine.partition("@")[2] or framework[1]
                key = f"{bare(engine)}@{release}"
                key = key if key not in keys else f"{key}.run{number + 1}"
                keys.add(key)
                anchors = {row: grid.anchor(number, row, engine) for row in found[engine]}
                told = f"{release}, {where}"
                whole = not run.shortened
                yield Side(key, bare(engine), framework[0], told, found[engine], anchors, whole)
    for version, baseline, found in _releases():
        for engine, cells in found.items():
            name = next(iter(baseline.engines[engine]))
            if baseline.version(engine) == str(version) and name in FRAMEWORKS:
                key = f"{bare(engine)}@{version}" + ".measured" * (f"{bare(engine)}@{version}" in keys)
                told = f"{version}, measured {baseline.measured}".removesuffix(" ")
                yield Side(key, bare(engine), name, told, cells, {})


Cells = Mapping[str, Mapping[Row, Mapping[str, Standing]]]
"""Engine -> row -> perturbation -> standing."""


@cache
def _releases() -> list[tuple[Version, Baseline, Cells]]:
    """The measured releases: each with its baseline, and the cells of that."""
    releases = []
    for baseline in measured().values():
        cells = _cells(baseline)
        numbers = {baseline.version(engine) for engine in baseline.engines} - {""}
        releases += [(version, baseline, cells) for number in numbers if (version := version_in(number))]
    return releases


def _cells(baseline: Baseline) -> Cells:
    """Those of the engines that can be asked anything but the reference."""
    found: dict[str, dict[Row, dict[str, Standing]]] = {}
    asked = {engine for engine in baseline.able if bare(engine) != REFERENCE}
    for (engine, scenario, guarantee, perturbation), standing in baseline.cells.items():
        if engine in asked:
            found.setdefault(engine, {}).setdefault((scenario, guarantee), {})[perturbation] = standing
    return found


def _apis(grid: Grid, sides: Iterable[Side]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The engines of the sides, programs' APIs before native operators."""
    titles = {bare(name): record.title for run in grid.runs for name, record in run.environment.items()}
    natives = {bare(name) for run in grid.runs for name, record in run.environment.items() if record.native_operator}
    groups: dict[tuple[bool, int, str], dict[str, str]] = {}
    for side in sides:
        known = _engine(side.engine)
        native = side.engine in natives or bool(known and known.capabilities.native_operator)
        title = titles.get(side.engine) or (known.title if known else side.engine)
        place = FRAMEWORKS.index(side.framework) if side.framework in FRAMEWORKS else len(FRAMEWORKS)
        groups.setdefault((native, place, side.framework), {})[side.engine] = known_as(title, side.framework)
    return [
        (f"{framework.capitalize()}, {'its own operators' if native else 'programs on it'}", list(found.items()))
        for (native, _, framework), found in sorted(groups.items())
    ]


def known_as(title: str, framework: str) -> str:
    """The name that people know an engine by: its title, without the framework that stands above it."""
    own = title.removeprefix(f"{framework.capitalize()} ")
    return own.replace("(Python", "(PySpark") if framework == "spark" else own


@cache
def _engine(name: str) -> Engine | None:
    try:
        return load_engine(name)
    except (UnknownName, CannotRun):
        return None


def _data(grid: Grid, sides: list[Side], advice: tuple[Advice, ...]) -> dict[str, object]:
    """What the script knows of the sides.

    ``rows``: [scenario, claim, name of the row in links, or ""]. Of a side, ``cells`` has for each row its place in
    ``letters``, or -1; ``how`` has for a row that is violated the places in ``ways`` of how, under each perturbation
    where it is; ``advice`` has the place of the advice on it.
    """
    rows = dict.fromkeys(row for side in sides for row in side.cells)
    perturbations = list(dict.fromkeys(p for side in sides for cells in side.cells.values() for p in cells))
    column = {perturbation: number for number, perturbation in enumerate(perturbations)}
    places = {row: number for number, row in enumerate(rows)}
    letters: dict[str, int] = {}
    ways: dict[str, int] = {}
    shown: dict[Advice, int] = {}
    known: dict[tuple[Row, str], Advice | None] = {}
    packed = []
    for side in sides:
        own: dict[str, object] = {"key": side.key, "engine": side.engine, "release": side.release}
        cells = [-1] * len(rows)
        how: dict[int, list[int]] = {}
        advised: dict[int, int] = {}
        for row, under in side.cells.items():
            at = places[row]
            by_column = ["-"] * len(perturbations)
            for perturbation, standing in under.items():
                by_column[column[perturbation]] = LETTERS[standing.verdict]
            told = "".join(by_column).rstrip("-")
            cells[at] = letters.setdefault(told, len(letters))
            if "v" in told:
                failed = [under[p].signature for p in perturbations if p in under and under[p].signature]
                how[at] = [ways.setdefault(way, len(ways)) for way in failed]
                if (row, side.engine) not in known:
                    known[row, side.engine] = next((a for a in advice if a.about(row, side.engine)), None)
                if found := known[row, side.engine]:
                    advised[at] = shown.setdefault(found, len(shown))
        links = {places[row]: anchor for row, anchor in side.anchors.items()}
        packed.append(own | {"cells": cells, "how": how, "advice": advised, "links": links})
    return {
        "perturbations": perturbations,
        "rows": [[*_words(grid, row), grid.row_anchor(row) if row in grid.rows else ""] for row in rows],
        "letters": list(letters),
        "ways": list(ways),
        "advice": [[found.cause, " ".join(paragraphs(found.text))] for found in shown],
        "sides": packed,
    }


def _words(grid: Grid, row: Row) -> tuple[str, str]:
    """A guarantee in words: of the page, of the scenarios that are here, else by its ids."""
    if row[0] in grid.texts and row[1] in grid.texts[row[0]].guarantees:
        return grid.texts[row[0]].name, grid.texts[row[0]].guarantees[row[1]].claim
    return _claims().get(row, row)


@cache
def _claims() -> dict[Row, tuple[str, str]]:
    return {(s.id, g.id): (s.name, g.claim) for s in load_scenarios() for g in s.guarantees}

"""The history of guarantees over releases, from baselines and results: what holds since when, what is broken since
when, what changed.

A release is known by the version of an engine's framework. Engines without a framework, as the reference, have no
history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path

from packaging.version import Version

from conformance.judgement.cell import Verdict
from conformance.judgement.verdict import as_recorded, fold
from conformance.model.engine import bare
from conformance.results.baseline import Baseline, Standing, UnreadableBaseline
from conformance.results.changes import DECIDED
from conformance.results.results import RESULTS
from conformance.results.witness import CONFIRMATIONS
from conformance.support.grouping import grouped
from conformance.support.release import version_in

Row = tuple[str, str, str]
"""(engine, scenario, guarantee), by their ids, the engine without a version."""


@dataclass(frozen=True)
class Point:
    """How a row stands in a release.

    Attributes:
        in_part: whether it holds without each promised perturbation having been exercised.
        cases: number of cases over all perturbations.
        ways: the signatures of its violations, by name.
        witnesses: their witnesses, by id.
    """

    version: str
    verdict: Verdict
    in_part: bool = False
    cases: int = 0
    ways: tuple[str, ...] = ()
    witnesses: tuple[str, ...] = ()

    def alike(self, other: Point) -> bool:
        """Whether verdict and ways to fail are the same."""
        return (self.verdict, self.ways) == (other.verdict, other.ways)


@dataclass(frozen=True)
class Course:
    """A row over the measured releases of its engine, oldest first."""

    engine: str
    framework: str
    scenario: str
    guarantee: str
    points: tuple[Point, ...]

    @property
    def now(self) -> Point:
        """The last point."""
        return self.points[-1]

    @property
    def spans(self) -> list[tuple[Point, ...]]:
        """The points, put together as long as the verdict is the same."""
        return [tuple(found) for _, found in groupby(self.points, key=lambda point: point.verdict)]

    @property
    def since(self) -> str:
        """The first measured release from which on the last verdict stands."""
        return self.spans[-1][0].version

    @property
    def before(self) -> Point | None:
        """The last point with another verdict, None where there is none: then the verdict may be older than the first
        release."""
        return self.spans[-2][-1] if len(self.spans) > 1 else None


@dataclass(frozen=True)
class Turn:
    """A change of a row from one measured release of its engine to the next one."""

    course: Course
    before: Point
    after: Point


@dataclass(frozen=True)
class Measured:
    """A release as it was measured.

    Attributes:
        number: the version.
        engines: its engines that could be asked something, by name.
        cases: the digests of the files of cases.
        flaws: the ways in which its runs fall short of full ones, in words.
        failures: engine -> why it did not run to its end.
        changed: seconds since the epoch at which the newest of its files was measured.
    """

    number: str
    engines: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    flaws: tuple[str, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()
    changed: int = 0


@dataclass(frozen=True)
class Stage:
    """Successive releases of a framework with the same results, oldest first.

    Attributes:
        previous: the release before, "" for none.
        turns: what changed, on engines that could be asked something in both; since an earlier release where a row was
            not asked for in the one before.
        added: engines that could be asked nothing in the release before.
        gone: engines that could be asked something in it, and no longer.
    """

    framework: str
    releases: tuple[Measured, ...]
    turns: tuple[Turn, ...] = ()
    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    previous: str = ""

    @property
    def name(self) -> str:
        first, last = self.releases[0].number, self.releases[-1].number
        return first if first == last else f"{first} to {last}"

    @property
    def broken(self) -> list[Turn]:
        return [turn for turn in self.turns if (turn.before.verdict, turn.after.verdict) == DECIDED]

    @property
    def mended(self) -> list[Turn]:
        return [turn for turn in self.turns if (turn.before.verdict, turn.after.verdict) == DECIDED[::-1]]

    @property
    def otherwise(self) -> list[Turn]:
        """The changes that neither broke nor mended a guarantee."""
        told = (DECIDED, DECIDED[::-1])
        return [turn for turn in self.turns if (turn.before.verdict, turn.after.verdict) not in told]


@dataclass(frozen=True)
class History:
    """The courses of all rows, in order, and the stages of each framework, oldest first."""

    courses: Mapping[Row, Course]
    stages: Mapping[str, tuple[Stage, ...]]

    def of_engine(self, engine: str) -> list[Course]:
        return [course for course in self.courses.values() if course.engine == engine]

    @property
    def engines(self) -> dict[str, str]:
        """Engine -> its framework."""
        return {course.engine: course.framework for course in self.courses.values()}

    def releases(self, framework: str) -> list[Measured]:
        return [release for stage in self.stages[framework] for release in stage.releases]

    def asked_alike(self, framework: str) -> bool:
        """Whether all releases were asked about the same guarantees."""
        asked: dict[str, set[tuple[str, str]]] = {}
        for course in self.courses.values():
            for point in course.points if course.framework == framework else ():
                asked.setdefault(point.version, set()).add((course.scenario, course.guarantee))
        return len({frozenset(rows) for rows in asked.values()}) < 2

    def scores(self, engine: str) -> dict[str, Counter[Verdict]]:
        """Release -> number of the engine's rows by verdict."""
        found: dict[str, Counter[Verdict]] = {}
        for course in self.of_engine(engine):
            for point in course.points:
                found.setdefault(point.version, Counter())[point.verdict] += 1
        return {number: found[number] for number in sorted(found, key=_order)}


def sources(places: Iterable[Path]) -> dict[Path, Baseline]:
    """The baselines and results in some files and folders: FOLDER/*.jsonl, FOLDER/results.json.gz and
    FOLDER/*/results.json.gz.

    Raises:
        UnreadableBaseline: a file is neither, or a folder has none.
    """
    found: dict[Path, Baseline] = {}
    for place in places:
        paths = [place]
        if place.is_dir():
            there = [path for path in place.glob("*.jsonl") if path.name != CONFIRMATIONS]
            paths = sorted([*there, *place.glob(RESULTS), *place.glob(f"*/{RESULTS}")])
            if not paths:
                raise UnreadableBaseline(f"{place} has no baseline (*.jsonl) and no {RESULTS}")
        found |= {path: Baseline.read(path) for path in paths}
    return found


def history(found: Mapping[Path, Baseline], changed: Mapping[Path, int] | None = None) -> History:
    """The history in some baselines. Where two of them have one engine in one release, the later one counts.

    Args:
        changed: when each file was measured, in seconds since the epoch.

    Raises:
        UnreadableBaseline: a version of a framework is none that can be put in order.
    """
    engines, courses = _places(found), courses_in(found)
    stages: dict[str, tuple[Stage, ...]] = {}
    for framework in sorted({framework for framework, _ in engines}):
        numbers = sorted((number for name, number in engines if name == framework), key=_order)
        releases = [_measured(number, engines[framework, number], found, changed or {}) for number in numbers]
        stages[framework] = tuple(_stages(framework, releases, list(courses.values())))
    return History(courses, stages)


def courses_in(found: Mapping[Path, Baseline], rows: Container[Row] | None = None) -> dict[Row, Course]:
    """The courses of these rows, or of all, in some baselines. Raises as ``history``."""
    points: dict[Row, dict[str, Point]] = {}
    engines = _places(found)
    framework_of = {engine: framework for (framework, _), there in engines.items() for engine in there}
    for path, baseline in found.items():
        for (name, scenario, guarantee), under in _rows(baseline).items():
            engine, number = bare(name), baseline.version(name)
            if rows is not None and (engine, scenario, guarantee) not in rows:
                continue
            if number and engines[framework_of[engine], number][engine] == path:
                points.setdefault((engine, scenario, guarantee), {})[number] = _point(number, name, under)
    return {
        row: Course(row[0], framework_of[row[0]], *row[1:], tuple(there[n] for n in sorted(there, key=_order)))
        for row, there in sorted(points.items())
    }


def _places(found: Mapping[Path, Baseline]) -> dict[tuple[str, str], dict[str, Path]]:
    """(framework, version) -> engine -> the last baseline that has it in that version."""
    engines: dict[tuple[str, str], dict[str, Path]] = {}
    for path, baseline in found.items():
        for name, versions in baseline.engines.items():
            if number := baseline.version(name):
                _check(path, name, number)
                engines.setdefault((next(iter(versions)), number), {})[bare(name)] = path
    return engines


def _check(path: Path, engine: str, number: str) -> None:
    if not version_in(number):
        raise UnreadableBaseline(f"{path}: {engine} has the version {number!r}, which has no place in an order")


@cache
def _order(number: str) -> Version:
    return Version(number)


def _rows(baseline: Baseline) -> dict[Row, dict[str, Standing]]:
    found: dict[Row, dict[str, Standing]] = {}
    for (engine, scenario, guarantee, perturbation), standing in baseline.cells.items():
        found.setdefault((engine, scenario, guarantee), {})[perturbation] = standing
    return found


def _point(number: str, engine: str, under: Mapping[str, Standing]) -> Point:
    row = fold(
        as_recorded("", "", perturbation, engine, standing.verdict, standing.signature, standing.cases)
        for perturbation, standing in under.items()
    )
    broken = [standing for standing in under.values() if standing.verdict is Verdict.VIOLATED]
    return Point(
        number,
        row.verdict,
        row.in_part,
        row.cases,
        tuple(sorted({standing.signature for standing in broken} - {""})),
        tuple(sorted({standing.witness for standing in broken} - {""})),
    )


def _measured(
    number: str, there: Mapping[str, Path], found: Mapping[Path, Baseline], changed: Mapping[Path, int]
) -> Measured:
    paths = list(dict.fromkeys(there.values()))
    able = {bare(name) for path in paths for name in found[path].able}
    failures = {bare(n): why for path in paths for n, why in found[path].failures.items() if bare(n) in there}
    return Measured(
        number,
        tuple(sorted(able & {*there})),
        tuple(sorted({found[path].cases_digest for path in paths})),
        tuple(dict.fromkeys(flaw for path in paths for flaw in found[path].scope.flaws)),
        tuple(sorted(failures.items())),
        max((changed.get(path, 0) for path in paths), default=0),
    )


def _stages(framework: str, releases: Sequence[Measured], courses: Sequence[Course]) -> Iterator[Stage]:
    """Releases are put together as long as no row changes and the same engines can be asked something."""
    turns = grouped(
        (two.version, Turn(course, one, two))
        for course in courses
        for one, two in (pairwise(course.points) if course.framework == framework else ())
        if not one.alike(two)
    )
    stage = Stage(framework, (releases[0],))
    for before, release in pairwise(releases):
        both = {*before.engines} & {*release.engines}
        mine = tuple(turn for turn in turns.get(release.number, ()) if turn.course.engine in both)
        added = tuple(name for name in release.engines if name not in before.engines)
        gone = tuple(name for name in before.engines if name not in release.engines)
        if mine or added or gone:
            yield stage
            stage = Stage(framework, (release,), mine, added, gone, before.number)
        else:
            stage = replace(stage, releases=(*stage.releases, release))
    yield stage

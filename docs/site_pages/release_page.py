"""A page for each two neighbouring releases of a package: what changed between them, for who decides on an upgrade."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from packaging.version import Version

from conformance.comparison.checkpoints import Resumed
from conformance.comparison.recall import Change as Known
from conformance.model.scenario import Scenario
from conformance.plugins.registry import package_of
from conformance.reports.words import some
from conformance.results.baseline import Baseline
from conformance.results.changes import Change, Kind, changes
from site_pages.rendering import rendered

TOLD = {
    Kind.REGRESSION: "Held, and is broken now",
    Kind.FIX: "Was broken, and holds now",
    Kind.OTHER_WITNESS: "Is broken in another way",
}
"""The changes that a page tells, with their headings."""


@dataclass(frozen=True)
class Told:
    """A guarantee that changed: its sentence, the engines on which it did, and under which perturbations, in words."""

    scenario: str
    claim: str
    engines: tuple[str, ...]
    under: str


def release_pages(
    scenarios: Sequence[Scenario],
    baselines: Mapping[str, Baseline],
    known: Sequence[Known],
    resumed: Sequence[Resumed],
) -> dict[str, str]:
    """Place in the site -> text, for each two neighbours among the releases that there are baselines of, and for the
    index."""
    pages, rows = {}, []
    for (package, old), (_, new) in neighbours(baselines):
        at = f"releases/{package}-{old}-{new}.md"
        found = changes(baselines[f"{package}-{old}"], baselines[f"{package}-{new}"])
        told = {title: by_guarantee(found.found.get(kind, ()), scenarios) for kind, title in TOLD.items()}
        between = [change for change in known if is_between(change, package, old, new)]
        ways = [way for way in resumed if package_of(way.engine) == package and {way.begun, way.resumed} == {old, new}]
        asked = {scenario for _, scenario, _, _ in baselines[f"{package}-{new}"].cells}
        pages[at] = rendered(
            "release", package=package, old=old, new=new, told=told, known=between, ways=ways, found=found, asked=asked
        )
        rows.append((package, old, new, at, {title: len(mine) for title, mine in told.items()}, len(between)))
    pages["releases/index.md"] = rendered("releases", rows=rows[::-1], titles=list(TOLD.values()))
    return pages


def neighbours(baselines: Iterable[str]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Two releases that follow each other, as (package, version) each, of names such as "pyspark-4.3.0", oldest
    first."""
    releases = ((package, number) for package, _, number in (name.rpartition("-") for name in baselines))
    return (pair for pair in pairwise(releases) if pair[0][0] == pair[1][0])


def is_between(change: Known, package: str, old: str, new: str) -> bool:
    """Whether a known change was seen between two releases of a package."""
    mine = package_of(change.engine) == package and not change.quiet
    return mine and Version(old) <= Version(change.bad) < Version(change.good) <= Version(new)


def by_guarantee(found: Iterable[Change], scenarios: Sequence[Scenario]) -> list[Told]:
    """The guarantees of some changes, each with the engines on which it changed, those of most engines first. What a
    program's twins have in common is no guarantee, and is left out."""
    there = {scenario.id: scenario for scenario in scenarios}
    changed: dict[tuple[str, str], list[Change]] = {}
    for change in found:
        if not change.of_program and change.about in getattr(there.get(change.scenario), "askable", {}):
            changed.setdefault((change.scenario, change.about), []).append(change)
    told = [
        Told(
            there[scenario].name,
            there[scenario].askable[guarantee].claim,
            tuple(dict.fromkeys(change.engine for change in mine)),
            some([*dict.fromkeys(name or "as drawn" for change in mine for name in change.perturbations)]),
        )
        for (scenario, guarantee), mine in changed.items()
    ]
    return sorted(told, key=lambda one: (-len(one.engines), one.scenario, one.claim))

"""Expectations: known divergences, each with a reason, in ``expectations.toml``, so that a gate blocks only what nobody
accepted.

[[divergence]]
engine = "spark-tws"                # an engine's id, without a version
guarantee = "event-time-timers/a-timer-cleared-from-a-timer-does-not-fire"
kind = "engine"                     # "ours" to do, the "engine"'s to mend, or "never" to be mended
reason = "a timer that another timer's callback deletes fires all the same where one advance makes both due"
signature = "the timer for # that a timer of # cleared fired all the same"
# and, where they help:
perturbation = "restart"            # else all
versions = ">=4.0,<4.4"             # of the engine's framework (PEP 440), else all
witness = "45bff12a76ef"
issue = "https://issues.apache.org/jira/browse/SPARK-1"
expires = 2027-06-30                # the last day on which it is accepted
"""

import datetime
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from conformance.judgement.cell import AS_DRAWN
from conformance.model.engine import bare
from conformance.model.perturbation import AND, BY_ID
from conformance.model.plan import is_plan
from conformance.results.baseline import Place
from conformance.support.naming import instead, unknown
from conformance.support.reading import BadInput, tables_of, text_of

KINDS = ("ours", "engine", "never")
NEEDED = ("engine", "guarantee", "kind", "reason", "signature")
OPTIONAL = ("perturbation", "versions", "witness", "issue", "expires")


class UnusableExpectations(BadInput):
    """An unusable file of expectations. The message names the divergence and its defect."""


@dataclass(frozen=True)
class Divergence:
    """A known violation. ``scenario`` and ``guarantee`` are ids. ``signature`` says how the guarantee fails."""

    engine: str
    scenario: str
    guarantee: str
    kind: str
    reason: str
    signature: str
    perturbation: str = ""
    versions: SpecifierSet = field(default_factory=SpecifierSet)
    witness: str = ""
    issue: str = ""
    expires: datetime.date | None = None

    def covers(self, place: Place) -> bool:
        """Whether the divergence matches a cell, whatever the version."""
        engine, scenario, guarantee, perturbation = place
        same = (bare(engine), scenario, guarantee) == (self.engine, self.scenario, self.guarantee)
        return same and self.perturbation in ("", perturbation)

    def of_version(self, version: str) -> bool:
        return not version or self.versions.contains(version, prereleases=True)

    def expired(self, today: datetime.date) -> bool:
        return self.expires is not None and today > self.expires

    @property
    def name(self) -> str:
        under = f" under {self.perturbation}" if self.perturbation else ""
        return f"{self.engine}/{self.scenario}/{self.guarantee}{under}"


def read(path: Path) -> list[Divergence]:
    """The divergences of a file.

    Raises:
        UnusableExpectations: it cannot be used.
    """
    data = tables_of(text_of(path, UnusableExpectations), path, UnusableExpectations)
    if extra := set(data) - {"divergence"}:
        raise UnusableExpectations(f"{path}: unknown table {min(extra)!r}; there is [[divergence]]")
    entries = data.get("divergence", [])
    if not isinstance(entries, list):
        raise UnusableExpectations(f"{path}: write [[divergence]], with two brackets, for each")
    return [_divergence(entry, f"{path}: divergence {number}") for number, entry in enumerate(entries, 1)]


def _divergence(entry: Any, where: str) -> Divergence:
    if missing := [name for name in NEEDED if not entry.get(name)]:
        raise UnusableExpectations(f"{where} has no {missing[0]}")
    if extra := sorted(set(entry) - {*NEEDED, *OPTIONAL}):
        raise UnusableExpectations(f"{where}: {unknown('key', extra[0], (*NEEDED, *OPTIONAL))}")
    if wrong := [
        name for name in (*NEEDED, *OPTIONAL) if name != "expires" and not isinstance(entry.get(name, ""), str)
    ]:
        raise UnusableExpectations(f"{where}: {wrong[0]} is no text")
    scenario, slash, guarantee = entry["guarantee"].partition("/")
    if not slash:
        raise UnusableExpectations(
            f"{where}: guarantee is {entry['guarantee']!r}; write SCENARIO/GUARANTEE, by their ids"
        )
    if entry["kind"] not in KINDS:
        raise UnusableExpectations(
            f"{where}: kind is {entry['kind']!r}; {instead(entry['kind'], KINDS, 'it is one of')}"
        )
    under = entry.get("perturbation", "")
    strange = [name for name in under.split(AND) if name and not is_plan(name) and name not in (AS_DRAWN, *BY_ID)]
    if strange:
        raise UnusableExpectations(f"{where}: {unknown('perturbation', strange[0], [AS_DRAWN, *BY_ID])}")
    expires = entry.get("expires")
    if expires is not None and type(expires) is not datetime.date:
        raise UnusableExpectations(f"{where}: expires is no date; write 2027-06-30, without quotes")
    try:
        versions = SpecifierSet(entry.get("versions", ""))
    except InvalidSpecifier as error:
        raise UnusableExpectations(f"{where}: versions: {error}") from None
    given = entry | {"scenario": scenario, "guarantee": guarantee, "versions": versions}
    return Divergence(**given)


def unmatched(
    divergences: Iterable[Divergence], places: Iterable[Place], engines: Container[str], scenarios: Container[str]
) -> list[str]:
    """The complaints about divergences that match no cell. A divergence of a known engine or scenario (``engines``,
    ``scenarios``) that took no part causes no complaint."""
    places = list(places)
    took_part, asked = {bare(place[0]) for place in places}, {place[1] for place in places}
    wrong = []
    for divergence in divergences:
        if divergence.engine not in took_part and divergence.engine not in engines:
            wrong.append(f"{divergence.name} is of an engine that nobody knows")
        elif divergence.scenario not in asked and divergence.scenario not in scenarios:
            wrong.append(f"{divergence.name} is of a scenario that nobody knows")
        elif (
            divergence.engine in took_part and divergence.scenario in asked and not any(map(divergence.covers, places))
        ):
            wrong.append(f"{divergence.name} is about no cell")
    return wrong

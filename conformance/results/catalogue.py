"""The catalogue of claims: sentences of documents and tutorials about stateful processing, and what decides each.

The claims stand in ``claims.toml`` beside this module, each with a quote and what decides it:

- ``decided_by``: guarantees. All must hold; a violated one contradicts the claim. "not SCENARIO/GUARANTEE" marks a
  claim that says the opposite of a guarantee: if the guarantee holds, it contradicts the claim. This is sound only if
  the claim speaks of every case that tests the guarantee.
- ``shown_by``: guarantees too, for a claim that something *may* happen. A violated guarantee shows the claim; nothing
  contradicts the claim.
- ``refused``: queries that the document says are refused, by the names that engines know them by (``Questioned``). An
  engine that accepts one contradicts the claim.
- ``probe``: the name of a script outside the harness. The result of the probe is recorded in ``claims_probed.json``,
  with the version.
- ``not_decidable``: why the harness cannot decide it.

A guarantee is named SCENARIO/GUARANTEE by its ids; SCENARIO/GUARANTEE@PERTURBATION names the guarantee under that
perturbation alone.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from conformance.model.engine import bare
from conformance.support.reading import tables_of

WAYS = ("decided_by", "shown_by", "refused", "probe", "not_decidable")
TEXT = {"id", "quote", "document", "probe", "not_decidable", "note", "finding"}
LISTS = {"engines", "decided_by", "shown_by", "refused"}


class UnusableClaims(ValueError):
    """An unusable catalogue. The message names the claim and its defect."""


@dataclass(frozen=True)
class Document:
    """The document of a claim.

    Attributes:
        version: the release that its text is of, or when it was read.
        framework: what it is about, "spark" or "beam"; "" where nobody knows.
        official: whether the framework's own project, or its vendor, publishes it.
    """

    title: str
    url: str = ""
    version: str = ""
    framework: str = ""
    official: bool = False


@dataclass(frozen=True)
class Condition:
    """A guarantee that bears on a claim, under one perturbation or, with "", under all. ``stands`` is True if the claim
    says the same as the guarantee, and False if the claim says the opposite."""

    scenario: str
    guarantee: str
    perturbation: str = ""
    stands: bool = True

    @property
    def row(self) -> tuple[str, str]:
        return self.scenario, self.guarantee

    def __str__(self) -> str:
        under = f"@{self.perturbation}" if self.perturbation else ""
        return f"{'' if self.stands else 'not '}{self.scenario}/{self.guarantee}{under}"


@dataclass(frozen=True)
class Claim:
    """A sentence of a document, and what decides it.

    Attributes:
        engines: of which engines it speaks: ids, each with its variants; () for a probe or one that is not decidable.
        refused: the queries (names) that it says are refused.
        probe: the name of the script that decides it, "" where guarantees do.
        note: how the sentence was read, where that is not plain.
        finding: the number in docs/findings.toml of what contradicts it, with a script outside the harness; "" where
            nothing does.
    """

    id: str
    quote: str
    document: Document
    engines: tuple[str, ...] = ()
    decided_by: tuple[Condition, ...] = ()
    shown_by: tuple[Condition, ...] = ()
    refused: tuple[str, ...] = ()
    probe: str = ""
    not_decidable: str = ""
    note: str = ""
    finding: str = ""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.decided_by + self.shown_by

    def speaks_of(self, engine: str) -> bool:
        return any(bare(engine) == name or bare(engine).startswith(f"{name}:") for name in self.engines)


@cache
def catalogue() -> tuple[Claim, ...]:
    """The claims that come with the harness."""
    return read(files("conformance.results").joinpath("claims.toml").read_text(encoding="utf-8"))


def read(text: str) -> tuple[Claim, ...]:
    """The claims of a catalogue.

    Raises:
        UnusableClaims: it cannot be used.
    """
    data = tables_of(text, "the catalogue of claims", UnusableClaims)
    try:
        documents = {name: Document(**entry) for name, entry in data["documents"].items()}
        groups: dict[str, list[str]] = data["engines"]
        found = [_claim(entry, documents, groups) for entry in data["claim"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise UnusableClaims(f"the claims have not the form that they should have: {error}") from None
    for name, times in Counter(claim.id for claim in found).items():
        if times > 1:
            raise UnusableClaims(f"there are two claims {name!r}")
    return tuple(found)


def _claim(entry: Mapping[str, Any], documents: Mapping[str, Document], groups: Mapping[str, list[str]]) -> Claim:
    where = f"claim {entry.get('id', entry.get('quote'))!r}"
    if extra := set(entry) - TEXT - LISTS:
        raise UnusableClaims(f"{where}: unknown key {min(extra)!r}")
    wrong = [k for k, v in entry.items() if not isinstance(v, list if k in LISTS else str) or not v]
    if missing := [*({"id", "quote", "document"} - set(entry)), *wrong]:
        raise UnusableClaims(f"{where}: {missing[0]} is missing, empty or not of its kind")
    if entry["document"] not in documents:
        raise UnusableClaims(f"{where}: unknown document {entry['document']!r}")
    if sum(way in entry for way in WAYS) != 1:
        raise UnusableClaims(f"{where}: give exactly one of {', '.join(WAYS)}")
    if any(entry.get(way) for way in ("decided_by", "shown_by", "refused")) != bool(entry.get("engines")):
        raise UnusableClaims(
            f"{where}: a claim that guarantees or refusals decide names the engines it speaks of, and no other does"
        )
    engines = [engine for name in entry.get("engines", ()) for engine in groups.get(name, [name])]
    conditions = {
        way: tuple(_condition(text, where) for text in entry.get(way, ())) for way in ("decided_by", "shown_by")
    }
    lists = {"engines": tuple(dict.fromkeys(engines)), "refused": tuple(map(str, entry.get("refused", ())))}
    return Claim(**{**entry, **lists, **conditions, "document": documents[entry["document"]]})


def opposed(engine: str) -> set[tuple[str, str]]:
    """(scenario, guarantee) of each guarantee that contradicts a claim of the catalogue about an engine by holding
    there."""
    about = (claim for claim in catalogue() if claim.speaks_of(engine))
    return {condition.row for claim in about for condition in claim.conditions if not condition.stands}


def _condition(text: str, where: str) -> Condition:
    row, _, perturbation = text.removeprefix("not ").partition("@")
    scenario, slash, guarantee = row.partition("/")
    if not slash:
        raise UnusableClaims(f"{where}: {text!r} is not SCENARIO/GUARANTEE")
    return Condition(scenario, guarantee, perturbation, stands=not text.startswith("not "))

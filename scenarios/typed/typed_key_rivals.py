"""Keys that an operator might take for one another, and which keys of a case to ask about, for the scenario about typed
keys of operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from conformance.model.keys import TypedKey
from conformance.model.scenario import Finding, Observation
from conformance.model.types import Int, Long, String
from conformance.scenarios.typed.typed_key_samples import (
    BESIDE_NULLS,
    FORMS,
    KEYS,
    KINDS,
    NULLS,
    OF_OTHER_TYPES,
    Families,
    Keys,
)

BY_HASH: Keys = {
    "int -2": TypedKey(Int(), -2),
    "long 0": TypedKey(Long(), 0),
    "long 1": TypedKey(Long(), 1),
    "Aa": TypedKey(String(), "Aa"),
    "BB": TypedKey(String(), "BB"),
}
HASHED: Families = (("int -1", "int -2"), ("long 0", "long 2**32+1"), ("long 1", "long 2**32"), ("Aa", "BB"))
"""The numbers -1 and -2 have one hash in Python, the others of a family in Java."""

LONG_TEXTS, LONG_BINARIES = KINDS["that are longer than 64 KiB"]

TWO_FORMS: Families = (("double 0.0", "-0.0"), ("1.5", "1.50"))
"""Keys that are equal numbers, which an operator may take for one key or for two."""

WITHOUT_NULLS: Keys = KEYS | BY_HASH | {name: FORMS[name] for name in ("-0.0", "1.5", "1.50")}
ALL = WITHOUT_NULLS | NULLS

APART: dict[str, Families] = {
    "of other types that are equal in Python": OF_OTHER_TYPES,
    "that are numbers": (
        *(family for kind in ("whole numbers", "doubles", "decimals") for family in KINDS[f"that are {kind}"]),
        *HASHED[:3],
    ),
    "that are texts": (
        *KINDS["that differ in upper and lower case, or in Unicode's normal form"],
        *KINDS["that are texts of blanks, NULs, digits or other alphabets"],
        LONG_TEXTS,
        HASHED[3],
    ),
    "that are binaries, dates, timestamps or structs": (
        *(family for kind in ("binaries", "dates", "timestamps", "structs") for family in KINDS[f"that are {kind}"]),
        LONG_BINARIES,
    ),
}
"""Kind of keys -> families of names. The keys of a family are easily taken for one another."""

NULL_KEYS = frozenset(name for name, key in NULLS.items() if key.value is None)

OF_FORMS = tuple(name for family in TWO_FORMS for name in family)
OF_NAN = ("NaN", "double 0.1", "infinity")
OF_ANY: Families = (
    *(family for families in APART.values() for family in families),
    *(OF_NAN, *OF_OTHER_TYPES, OF_FORMS) * 3,
)
OF_ANY_OR_NULL: Families = (*OF_ANY, *BESIDE_NULLS, OF_FORMS, OF_FORMS, *BESIDE_NULLS)

Predicate = Callable[[Observation], Iterator[Finding]]
Asked = Callable[[Observation, str], Finding]
"""What is to be said of one key (name) of a case."""


def forms(name: str) -> tuple[str, ...]:
    """The names of the keys that an engine may take for this one."""
    return next((family for family in TWO_FORMS if name in family), (name,))


def names(run: Observation) -> dict[str, int]:
    """The keys of a case that have no other form in it -> the number of their elements."""
    there = run.arrivals_by_key
    return {name: len(there[name]) for name in there if sum(form in there for form in forms(name)) == 1}


def of_rivals(families: Families, asked: Asked) -> Predicate:
    """Exercised by a key with another key of one of its families in the same case."""

    def predicate(run: Observation) -> Iterator[Finding]:
        for name in names(run):
            if any(name in family and run.arrivals_by_key.keys() & (set(family) - {name}) for family in families):
                yield asked(run, name)

    return predicate


def of_several(asked: Asked, meant: Callable[[str], bool] = lambda name: True) -> Predicate:
    """Exercised by a key with several elements, if it is meant."""

    def predicate(run: Observation) -> Iterator[Finding]:
        for name, elements in names(run).items():
            if elements > 1 and meant(name):
                yield asked(run, name)

    return predicate

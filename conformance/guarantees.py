"""Guarantees: named claims that a user relies on, and the predicates that decide them.

A predicate looks at one run of one case (what went in, what came out) and yields once for every occasion on which
the claim was put to the test: True where it stood, a sentence where it did not. A predicate that yields nothing was
not exercised by the case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from conformance.engine import Feature
from conformance.equivalence import Equivalence
from conformance.model import Arrival, Case, Emission, Json, PackRun, Trace, program_ref
from conformance.perturbation import Perturbation
from conformance.program import Program

Finding = bool | str
"""True: the claim stood. A sentence: it did not, and this is how."""


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class Source:
    """Who makes the claim: a document with a short quote, or this project ("ours")."""

    document: str
    quote: str = ""
    url: str = ""


OURS = Source("ours")


@dataclass(frozen=True)
class Observation:
    """One case and what came out of it, with the views that predicates ask for."""

    case: Case
    trace: Trace

    @property
    def arrivals(self) -> tuple[Arrival, ...]:
        return self.case.schedule.arrivals

    @cached_property
    def on_time(self) -> tuple[Arrival, ...]:
        return tuple(a for a in self.arrivals if a.on_time)

    @cached_property
    def arrivals_by_key(self) -> Mapping[str, list[Arrival]]:
        found: dict[str, list[Arrival]] = {}
        for arrival in self.arrivals:
            found.setdefault(arrival.event.key, []).append(arrival)
        return found

    @cached_property
    def emissions(self) -> tuple[Emission, ...]:
        return self.trace.judged

    @cached_property
    def told(self) -> Mapping[str, tuple[Emission, ...]]:
        """Key -> its emissions, in order, for the keys that tell their whole story: each of their elements, on time all of
        them, is named in the field ``id`` of an emission. Not so where an API puts out one row a call."""
        named = {value["id"] for value in self.values("id")}
        return {
            key: self.of_key(key)
            for key, arrivals in self.arrivals_by_key.items()
            if all(a.on_time and a.event.id in named for a in arrivals)
        }

    def of_key(self, key: str) -> tuple[Emission, ...]:
        return self.trace.by_key.get(key, ())

    def values(self, kind: str) -> list[dict[str, Json]]:
        """The emitted objects that have the field ``kind``, in order."""
        return [e.value for e in self.emissions if isinstance(e.value, dict) and kind in e.value]

    def tagged(self, kind: str) -> list[tuple[Emission, Json]]:
        """(emission, its field ``kind``) of every emitted object that has the field."""
        return [(e, e.value[kind]) for e in self.emissions if isinstance(e.value, dict) and kind in e.value]

    def interval(self, step: int) -> int:
        return self.case.schedule.intervals[step]


@dataclass(frozen=True)
class Guarantee:
    """A claim about one program of a scenario.

    Exactly one of the three decides it:
        check: a predicate of one case and its trace.
        same_under: the case and its twin under each of these perturbations are alike up to ``alike``.
        accounting: a predicate of the engine's own row counts of a whole pack (or of a case run alone).

    Attributes:
        claim: the sentence, in words a user would say.
        program: the name of the scenario's program it speaks of.
        needs: features without which the claim cannot be put to the test.
    """

    claim: str
    program: str
    check: Callable[[Observation], Iterator[Finding]] | None = None
    same_under: tuple[Perturbation, ...] = ()
    alike: Equivalence = Equivalence.IDENTICAL
    accounting: Callable[[PackRun], Iterator[Finding]] | None = None
    source: Source = OURS
    needs: frozenset[Feature] = frozenset()

    def __post_init__(self) -> None:
        if sum(map(bool, (self.check, self.same_under, self.accounting))) != 1:
            raise ValueError(f"guarantee {self.claim!r}: give exactly one of check, same_under and accounting")

    @property
    def id(self) -> str:
        return slug(self.claim)

    @property
    def opposite(self) -> Guarantee:
        """The opposite of a guarantee with a predicate: each occasion on which the claim stood speaks against it. No cell is about
        it; a witness against a claim that says the opposite of a guarantee is."""
        assert self.check
        return replace(self, claim=f"not: {self.claim}", check=partial(_contrary, self.check), source=OURS)


def opposite_of(guarantee: str) -> str:
    """The id of the opposite of a guarantee, by its id."""
    return f"not-{guarantee}"


def _contrary(check: Callable[[Observation], Iterator[Finding]], seen: Observation) -> Iterator[Finding]:
    for finding in check(seen):
        yield "the contrary was put to the test, and stood" if finding is True else True


def promise(perturbations: Iterable[Perturbation], up_to: Equivalence) -> dict[str, Equivalence]:
    """An entry of ``Scenario.survives`` for several perturbations."""
    return {perturbation.id: up_to for perturbation in perturbations}


@dataclass(frozen=True)
class Domain:
    """The inputs of one program.

    Attributes:
        offsets: distances (ms) that matter to the program: an event is drawn at such a distance from the watermark
            or from an earlier event. 0 is at it.
        on_time: keep every event after the watermark, hence on time under every reading.
        keys: how many keys a case may have; a case draws its own number up to that.
        names: families of names for keys, each of at least ``keys`` names; a case takes its keys from one of them.
        values: the event values to draw from.
        events: the most events in a case.
    """

    offsets: tuple[int, ...]
    on_time: bool = True
    keys: int = 3
    names: tuple[tuple[str, ...], ...] = (tuple("abcdefgh"),)
    values: tuple[Json, ...] = (None,)
    events: int = 8

    def __post_init__(self) -> None:
        if few := [family for family in self.names if len(set(family)) < self.keys]:
            raise ValueError(f"a family of {len(set(few[0]))} names cannot name {self.keys} keys")

    def __contains__(self, case: Case) -> bool:
        """Whether a case's events are on time where that is asked for."""
        return not self.on_time or all(arrival.on_time for arrival in case.schedule.arrivals)


@dataclass(frozen=True)
class Scenario:
    """An engine-neutral specification: programs, the inputs to try them on, and what users rely on.

    Attributes:
        name: words; its slug is the scenario's id.
        programs: name -> program. A guarantee names the one that it speaks of.
        domain: name -> the inputs to draw for that program.
        survives: name -> perturbation id -> the equivalence up to which the program promises to survive it (see
            ``promise``). Kept by the reference on every pair; a perturbation that is not named is promised nothing.
    """

    name: str
    summary: str
    programs: Mapping[str, Program]
    domain: Mapping[str, Domain]
    guarantees: tuple[Guarantee, ...]
    survives: Mapping[str, Mapping[str, Equivalence]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for guarantee in self.guarantees:
            if guarantee.program not in self.programs:
                raise ValueError(
                    f"scenario {self.name!r}: {guarantee.claim!r} speaks of {guarantee.program!r}, not a program of it"
                )
        if set(self.domain) != set(self.programs):
            raise ValueError(f"scenario {self.name!r}: every program has a domain of inputs, and only programs have")
        ids = [guarantee.id for guarantee in self.guarantees]
        if len(set(ids)) != len(ids):
            raise ValueError(f"scenario {self.name!r}: two guarantees make the same claim")

    @property
    def id(self) -> str:
        return slug(self.name)

    @property
    def askable(self) -> dict[str, Guarantee]:
        """Id -> guarantee: all that a witness may speak against, the opposites of guarantees with a predicate among them."""
        opposites = [guarantee.opposite for guarantee in self.guarantees if guarantee.check]
        return {guarantee.id: guarantee for guarantee in (*opposites, *self.guarantees)}


def programs_of(scenarios: Iterable[Scenario]) -> dict[str, Program]:
    return {program_ref(s.id, name): program for s in scenarios for name, program in s.programs.items()}


def asked_by(scenarios: Iterable[Scenario]) -> list[frozenset[tuple[str, str, str]]]:
    """For each guarantee the (scenario, program, perturbation) any of which may put it to the test; a case as drawn has the
    perturbation ""."""
    return [
        frozenset((s.id, guarantee.program, perturbation.id) for perturbation in guarantee.same_under)
        or frozenset({(s.id, guarantee.program, "")})
        for s in scenarios
        for guarantee in s.guarantees
    ]

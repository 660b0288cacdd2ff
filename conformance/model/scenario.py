"""Guarantees: named claims that a user relies on, and the predicates that decide them.

A predicate looks at one run of one case (its input and its output) and yields once for every occasion that puts the
claim to the test: True where the claim stood, a sentence where it did not. A case that makes a predicate yield nothing
does not exercise it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from random import Random
from typing import Any, NamedTuple, Protocol, TypeVar

from conformance.model.case import Case, program_ref
from conformance.model.equivalence import IMPLIES, Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import BY_ID, EMPTY_BUNDLE, NO_DATA, Perturbation
from conformance.model.plan import ANY_PLAN, is_plan
from conformance.model.program import JobKind, Program
from conformance.model.runs import PackRun
from conformance.model.schedule import Arrival
from conformance.model.trace import Emission, Trace
from conformance.model.values import Json

T = TypeVar("T")

Finding = bool | str
"""True: the claim stood. A sentence: the claim failed, in this way."""

Predicate = TypeVar("Predicate", bound="Callable[[Observation], Iterator[Finding]]")


@cache
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
    """One case and its output, with the views that predicates ask for."""

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
        """Key -> its emissions, in order, for the keys whose elements are all on time and all named in the field ``id``
        of some emission. An API that puts out one row a call leaves elements out."""
        named = {value["id"] for value in self.values("id")}
        return {
            key: self.of_key(key)
            for key, arrivals in self.arrivals_by_key.items()
            if all(a.on_time and a.event.id in named for a in arrivals)
        }

    def once(self, view: Callable[[Observation], Iterable[T]]) -> tuple[T, ...]:
        """What a view of the scenario's own finds here. It is asked once, whatever the number of guarantees that use
        it."""
        if view not in self._views:
            self._views[view] = tuple(view(self))
        return self._views[view]

    @cached_property
    def _views(self) -> dict[Callable[[Observation], Iterable[Any]], tuple[Any, ...]]:
        return {}

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

    Exactly one of the four decides it:
        predicate: decides it from one case and its trace.
        complete: this program's output is all that the reference puts out on on-time input, once, under its key. Every
            program of a scenario has such a guarantee, which the scenario adds.
        same_under: the case and its twin under each of these perturbations are alike up to ``alike``. What a program
            promises in ``Scenario.stable_under`` is such a guarantee, which the scenario adds.
        accounting: decides it from the engine's own row counts of a whole pack (or of a case that runs alone).

    Attributes:
        claim: the sentence, in words a user would say.
        program: the name of the scenario's program it speaks of.
        needs: features without which the claim cannot be put to the test.
        id: what files call the guarantee. By default made of the claim; an id that is given stays when the claim is
            reworded.
        formerly: ids that the guarantee had. Stored witnesses of these ids are witnesses of it.
        vacuous_under: perturbations under which no occasion for a predicate is left. It is not asked under them.
        promised: whether it is a promise of ``Scenario.stable_under``. No case is drawn for its sake: the twins of the
            other guarantees' cases put it to the test.
        change: the change of the program that it is about, "" for none.
    """

    claim: str
    program: str
    predicate: Callable[[Observation], Iterator[Finding]] | None = None
    same_under: tuple[Perturbation, ...] = ()
    alike: Equivalence = Equivalence.IDENTICAL
    accounting: Callable[[PackRun], Iterator[Finding]] | None = None
    source: Source = OURS
    needs: frozenset[Feature] = frozenset()
    id: str = ""
    formerly: tuple[str, ...] = ()
    complete: Program | None = field(default=None, compare=False, repr=False)
    vacuous_under: tuple[Perturbation, ...] = ()
    promised: bool = False
    change: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.id or slug(self.claim))
        if sum(map(bool, (self.predicate, self.same_under, self.accounting, self.complete))) != 1:
            raise ValueError(f"guarantee {self.claim!r}: give exactly one of predicate, same_under and accounting")

    @property
    def about_plans(self) -> bool:
        """Whether this is a relation under the plans that an engine has."""
        return self.same_under == (ANY_PLAN,)

    @cached_property
    def about(self) -> frozenset[str]:
        """Of a relation, the perturbations (ids) that it is about."""
        return frozenset(perturbation.id for perturbation in self.same_under)

    def is_about(self, factor: str) -> bool:
        """Whether a relation is about a perturbation (an id)."""
        return factor in self.about or (self.about_plans and is_plan(factor))

    @property
    def opposite(self) -> Guarantee:
        """The opposite of a guarantee with a predicate: each occasion on which the claim stood speaks against the
        opposite. The opposite has no cell. It lets a documented claim that this guarantee contradicts have a
        witness."""
        assert self.predicate
        return replace(
            self,
            claim=f"not: {self.claim}",
            predicate=partial(_contrary, self.predicate),
            source=OURS,
            id=opposite_of(self.id),
            formerly=tuple(map(opposite_of, self.formerly)),
        )

    @property
    def is_opposite(self) -> bool:
        """Whether this is the opposite of another guarantee."""
        return isinstance(self.predicate, partial) and self.predicate.func is _contrary


class Guarantees(list[Guarantee]):
    """The guarantees of one program, in the order in which a module states them.

    A claim stands above the predicate that decides it, and a predicate may have several claims::

        of_maximum = Guarantees("maximum")


        @of_maximum("the maximum never falls")
        def never_falls(run: Observation) -> Iterator[Finding]: ...

    ``given`` are fields of a guarantee. What ``Guarantees`` is given goes for each claim that is given nothing else.
    """

    def __init__(self, program: str, **given: Any) -> None:
        super().__init__()
        self._of = partial(Guarantee, program=program, **given)

    def __call__(self, claim: str, **given: Any) -> Callable[[Predicate], Predicate]:
        """Adds the guarantee that has the decorated predicate. The predicate stays as it is."""

        def stated(predicate: Predicate) -> Predicate:
            self.append(self._of(claim=claim, predicate=predicate, **given))
            return predicate

        return stated


def opposite_of(guarantee: str) -> str:
    """The id of the opposite of a guarantee, by its id."""
    return f"not-{guarantee}"


def _contrary(predicate: Callable[[Observation], Iterator[Finding]], seen: Observation) -> Iterator[Finding]:
    for finding in predicate(seen):
        yield "the contrary was put to the test, and stood" if finding is True else True


def promise(perturbations: Iterable[Perturbation], up_to: Equivalence) -> dict[str, Equivalence]:
    """An entry of ``Scenario.stable_under`` for several perturbations. What is stable under an empty bundle is stable
    under one without any element."""
    promised = {perturbation.id: up_to for perturbation in perturbations}
    return promised | ({NO_DATA.id: up_to} if EMPTY_BUNDLE.id in promised else {})


class Language(Protocol):
    """Event values that are made of parts, such as lists of calls. There are too many to name each."""

    @property
    def lists(self) -> Sequence[Json]:
        """Values in which each two parts stand together once, in a fixed order."""

    def drawn(self, random: Random) -> Callable[[], Json]:
        """What draws the values of one case."""

    def traits(self, case: Case) -> Iterable[tuple[object, ...]]:
        """Which parts meet in a case, and how."""

    def simpler(self, value: Json) -> Iterable[Json]:
        """Simpler values, the simplest first."""


@dataclass(frozen=True)
class Domain:
    """The inputs of one program.

    Attributes:
        offsets: distances (ms) that matter to the program: an event is drawn at such a distance from the watermark
            or from an earlier event. 0 is at it.
        on_time: keep every event after the watermark, hence on time under every reading.
        keys: how many keys a case may have; a case draws its own number up to that.
        names: families of names for keys, each of at least ``keys`` names; a case takes its keys from one of them.
        values: the event values to draw from, the simplest first.
        events: the most events in a case.
        language: what event values are made of, in the place of ``values``.
        cases: how many cases a run has of this program where it has one of another.
    """

    offsets: tuple[int, ...]
    on_time: bool = True
    keys: int = 3
    names: tuple[tuple[str, ...], ...] = (tuple("abcdefgh"),)
    values: tuple[Json, ...] = (None,)
    events: int = 8
    language: Language | None = None
    cases: int = 1

    def __post_init__(self) -> None:
        if few := [family for family in self.names if len(set(family)) < self.keys]:
            raise ValueError(f"a family of {len(set(few[0]))} names cannot name {self.keys} keys")

    def __contains__(self, case: Case) -> bool:
        """Whether a case's events are on time where that is asked for."""
        return not self.on_time or all(arrival.on_time for arrival in case.schedule.arrivals)


class PlainProgram(NamedTuple):
    """A program that does no more than a case needs: its instance, the source of its class, and functions that this
    calls."""

    program: Program
    source: str
    uses: tuple[Callable[..., Any], ...] = ()


@dataclass(frozen=True)
class Scenario:
    """An engine-neutral specification: programs, the inputs to try them on, and what users rely on.

    Attributes:
        name: words; its slug is the scenario's id.
        programs: name -> program. A guarantee names the one that it speaks of.
        domain: name -> the inputs to draw for that program.
        stable_under: name -> perturbation id -> the equivalence up to which the program promises to be stable under it
            (see ``promise``). The reference keeps the promise on every pair. A perturbation without an entry has no
            promise. Each promise that no guarantee makes in its own words is a guarantee, see ``promises``.
        complete: each program has the guarantees that follow from its declaration: that its output is complete, and its
            promises.
        planned: each program has a guarantee that its output is the same whichever query runs around it. Programs in
            processing time, and programs that start with state, have none.
        plain: gives a program that does no more than a case needs, for an export; None where a case has none.
    """

    name: str
    summary: str
    programs: Mapping[str, Program]
    domain: Mapping[str, Domain]
    guarantees: tuple[Guarantee, ...]
    stable_under: Mapping[str, Mapping[str, Equivalence]] = field(default_factory=dict)
    complete: bool = True
    planned: bool = True
    plain: Callable[[Program, Case], PlainProgram | None] | None = None

    def __post_init__(self) -> None:
        for guarantee in self.guarantees:
            if guarantee.program not in self.programs:
                raise ValueError(
                    f"scenario {self.name!r}: {guarantee.claim!r} speaks of {guarantee.program!r}, not a program of it"
                )
        if set(self.domain) != set(self.programs):
            raise ValueError(f"scenario {self.name!r}: every program has a domain of inputs, and only programs have")
        for name, program in self.programs.items():
            drawn = self.domain[name].names if program.keys else ()
            strange = {key for family in drawn for key in family if not program.has_key(key)}
            if strange:
                raise ValueError(f"scenario {self.name!r}: {min(strange)!r} is no key of the program {name!r}")
        there = {guarantee.program for guarantee in self.guarantees if guarantee.complete}
        added = [completeness(name, self) for name in self.programs if self.complete and name not in there]
        kept = promises(self) if self.complete else ()
        there = {guarantee.program for guarantee in self.guarantees if guarantee.about_plans}
        added += [under_any_plan(name, self) for name in self.programs if self._plannable(name) and name not in there]
        object.__setattr__(self, "guarantees", (*self.guarantees, *added, *kept))
        ids = [name for guarantee in self.guarantees for name in (guarantee.id, *guarantee.formerly)]
        if len(set(ids)) != len(ids):
            raise ValueError(f"scenario {self.name!r}: two guarantees make the same claim, or have the same id")

    def _plannable(self, program: str) -> bool:
        asked = self.programs[program]
        return self.planned and not (asked.waits or asked.job is JobKind.INITIAL_STATE)

    @property
    def id(self) -> str:
        return slug(self.name)

    @property
    def askable(self) -> dict[str, Guarantee]:
        """Id, of now or formerly -> guarantee that a witness may speak against: each guarantee, and the opposite of
        each one with a predicate."""
        opposites = [guarantee.opposite for guarantee in self.guarantees if guarantee.predicate]
        return {name: asked for asked in (*opposites, *self.guarantees) for name in (*asked.formerly, asked.id)}


def completeness(program: str, scenario: Scenario) -> Guarantee:
    """The guarantee that a program's output is complete: so lost, doubled, foreign and garbled output is minded in
    every program."""
    which = f" ({program})" if len(scenario.programs) > 1 else ""
    claim = f"no output is lost, doubled or under another key{which}"
    return Guarantee(claim, program, complete=scenario.programs[program])


def promises(scenario: Scenario) -> Iterator[Guarantee]:
    """The promises of ``Scenario.stable_under`` as guarantees, one for each program and equivalence. A promise that a
    guarantee of the scenario makes in its own words is left out."""
    for name in scenario.programs:
        mine = [g for g in scenario.guarantees if g.program == name and g.same_under]
        made = {(p.id, e) for g in mine if not g.needs for p in g.same_under for e in (g.alike, *IMPLIES[g.alike])}
        which = f" ({name})" if len(scenario.programs) > 1 else ""
        for up_to in Equivalence:
            under = [p for p, promised in scenario.stable_under.get(name, {}).items() if promised is up_to]
            if kept := tuple(BY_ID[p] for p in under if (p, up_to) not in made):
                claim = f"the output is stable under perturbations: {up_to.value}{which}"
                yield Guarantee(claim, name, same_under=kept, alike=up_to, promised=True)


def speaks_of_all(guarantee: Guarantee, factors: Iterable[str], guarantees: Iterable[Guarantee]) -> bool:
    """Whether a guarantee speaks of each of some perturbations (ids) that are made together.

    A predicate speaks of all. A relation speaks of those that it is about, and of those under which one of
    ``guarantees``, of the same program, promises as much: what keeps the output under each of two changes keeps it
    under both."""
    if not guarantee.same_under:
        return True
    beside = [
        other
        for other in guarantees
        if other.program == guarantee.program and other.same_under and not other.needs
        if other.alike is guarantee.alike or guarantee.alike in IMPLIES[other.alike]
    ]
    return all(any(relation.is_about(factor) for relation in (guarantee, *beside)) for factor in factors)


def under_any_plan(program: str, scenario: Scenario) -> Guarantee:
    """The guarantee that a program's output does not depend on the query around it."""
    which = f" ({program})" if len(scenario.programs) > 1 else ""
    return Guarantee(f"the query around it does not change the output{which}", program, same_under=(ANY_PLAN,))


def programs_of(scenarios: Iterable[Scenario]) -> dict[str, Program]:
    return {program_ref(s.id, name): program for s in scenarios for name, program in s.programs.items()}


def planned(scenarios: Iterable[Scenario]) -> dict[str, Program]:
    """Those of ``programs_of`` that are asked whether the query around them changes their output."""
    scenarios = list(scenarios)
    asked = {program_ref(s.id, g.program) for s in scenarios for g in s.guarantees if g.about_plans}
    return {ref: program for ref, program in programs_of(scenarios).items() if ref in asked}

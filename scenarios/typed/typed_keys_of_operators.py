"""Typed keys of operators: a count, a deduplication and a join by typed keys, the jobs of operators that engines have
of their own.

An engine's own operator compares keys in its own way: by bytes, by a hash, or as its SQL does. No program sees the key
there. So the guarantees ask how often a key is counted, which elements come out, which rows are joined, and under which
key.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import RECOVERIES
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario
from conformance.model.schedule import Event
from conformance.scenarios.shared import named
from conformance.scenarios.stories.stream_join import (
    LEFT,
    RIGHT,
    InnerJoin,
    matching,
    no_pair_comes_out_twice,
    no_pair_outside_of_the_bounds,
    pairs,
)
from conformance.scenarios.typed import typed_key_rivals as rivals
from conformance.scenarios.typed.typed_key_rivals import (
    APART,
    NULL_KEYS,
    TWO_FORMS,
    Asked,
    Predicate,
    forms,
    names,
    of_rivals,
    of_several,
)
from conformance.scenarios.typed.typed_key_samples import BESIDE_NULLS, Families
from conformance.scenarios.typed.typed_keys import mixed

HORIZON = 100 * 86_400_000
"""How long (ms) an operator that forgets keys knows a key: longer than any case lasts, whose watermark may move by 30
days at once."""


class Count(Program):
    keys = rivals.ALL
    cells = {"count": Cell.COMBINING}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.count.add(1)
        emit({"count": state.count.get()})


class Deduplicate(Program):
    """Emits the first element of each key."""

    keys = rivals.ALL
    cells = {"first": Cell.VALUE}
    parameters = {"horizon": HORIZON}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        if state.first.get() is None:
            state.first.set(event.id)
            emit({"accepted": event.id})


class Join(InnerJoin):
    """A null key joins nothing in SQL, and is a key like others here, so there is none."""

    keys = rivals.WITHOUT_NULLS


of_count, of_dedup, of_join = map(Guarantees, ("count", "dedup", "join"))


def counts(run: Observation, name: str) -> list[int]:
    return [emission.value["count"] for form in forms(name) for emission in run.of_key(form)]


def counted_apart(run: Observation, name: str) -> Finding:
    had, highest = len(run.arrivals_by_key[name]), max(counts(run, name), default=0)
    if not highest:
        return f"no count came out under the key {name!r}"
    return highest <= had or f"the key {name!r} had {had} elements, and is counted up to {highest}"


def counted_together(run: Observation, name: str) -> Finding:
    had, found = len(run.arrivals_by_key[name]), counts(run, name)
    return not found or max(found) >= had or f"no count of the key {name!r} reaches its {had} elements: {found}"


def counts_grow(run: Observation, name: str) -> Finding:
    found = counts(run, name)
    return all(one < other for one, other in itertools.pairwise(found)) or f"the counts of the key {name!r} are {found}"


of_count("each further count of a typed key is larger")(of_several(counts_grow))


@of_count("a count comes out under the key that went in")
def counted_under_its_key(run: Observation) -> Iterator[Finding]:
    for emission in run.emissions:
        there = any(form in run.arrivals_by_key for form in forms(emission.key))
        yield there or f"a count came out under the key {emission.key[:80]!r}, which no element has"
    for name in names(run):
        yield counts(run, name) != [] or f"no count came out under the key {name!r}"


@of_count("two forms of one number are counted as one key, or as two")
def counted_as_one_or_two(run: Observation) -> Iterator[Finding]:
    for family in TWO_FORMS:
        had = [len(run.arrivals_by_key.get(form, ())) for form in family]
        if all(had):
            highest = max(counts(run, family[0]), default=0)
            told = f"{family[0]} had {had[0]} elements, {family[1]} had {had[1]}, and the highest count is {highest}"
            yield highest in (sum(had), max(had)) or told


def accepted(run: Observation, name: str) -> list[str]:
    mine = {arrival.event.id for arrival in run.arrivals_by_key.get(name, ())}
    return [element for _, element in run.tagged("accepted") if element in mine]


def not_dropped(run: Observation, name: str) -> Finding:
    return accepted(run, name) != [] or f"no element of the key {name!r} came out"


def dropped(run: Observation, name: str) -> Finding:
    found = accepted(run, name)
    return len(found) < 2 or f"{len(found)} elements of the key {name!r} came out: {', '.join(found)}"


def under_its_key(of: str) -> Predicate:
    """What came out of an element, or of a row and its partner, has the key of the element."""

    def predicate(run: Observation) -> Iterator[Finding]:
        for emission, (arrival,) in named(run, of):
            id, key = arrival.event.id, arrival.event.key
            there = emission.key in forms(key)
            yield there or f"{id} of the key {key!r} came out under the key {emission.key[:80]!r}"

    return predicate


of_dedup("an element comes out under the key that went in")(under_its_key("accepted"))
of_join("a pair comes out under the key that went in")(under_its_key("left"))


@of_dedup("two forms of one number are duplicates always, or never")
def dropped_as_one_or_two(run: Observation) -> Iterator[Finding]:
    """Either the first element of both forms comes out, or the first of each. Which of two elements of a bundle is the
    first is not asked: their keys differ."""
    for family in TWO_FORMS:
        mine = [arrival for arrival in run.arrivals if arrival.event.key in family]
        firsts = {arrival.event.key: arrival.event.id for arrival in reversed(mine)}
        found = [element for _, element in run.tagged("accepted") if element in {a.event.id for a in mine}]
        if len(firsts) == 2:
            one = [[a.event.id] for a in mine if a.step == mine[0].step and firsts[a.event.key] == a.event.id]
            either = found in one or sorted(found) == sorted(firsts.values())
            yield either or f"of {family[0]} and {family[1]} came out {', '.join(found) or 'nothing'}"


def strangers(run: Observation, name: str) -> Finding:
    mine = {arrival.event.id for arrival in run.arrivals_by_key[name]}
    found = [f"{left} and {right}" for left, right in pairs(run) if (left in mine) is not (right in mine)]
    return not found or f"rows of the key {name!r} and of another key are joined: {found[0]}"


def joined(run: Observation, name: str) -> Finding:
    found = pairs(run)
    lost = [pair for pair, (left, _) in matching(run).items() if left.event.key == name and pair not in found]
    return not lost or f"{lost[0][0]} and {lost[0][1]} of the key {name!r} are not joined"


of_join("no pair of rows with a typed key comes out twice")(no_pair_comes_out_twice)
of_join("no pair of rows with a typed key is outside of the time bounds")(no_pair_outside_of_the_bounds)


def _domain(families: Families, *values: str) -> Domain:
    chosen = mixed(families, 3)
    return Domain((1, 500, 6_000), keys=min(map(len, chosen)), names=chosen, events=10, values=values or (None,))


def _about(program: str, apart: str, others: Asked, together: str, equals: Asked, nulls: bool) -> Iterator[Guarantee]:
    """The guarantees of a program about kinds of keys: ``apart`` says what becomes of other keys, ``together`` of equal
    ones."""
    kinds = {**APART, "beside a null": BESIDE_NULLS} if nulls else APART
    for kind, families in kinds.items():
        yield Guarantee(f"keys {kind} are {apart}", program, of_rivals(families, others))
    yield Guarantee(f"elements of equal keys are {together}", program, of_several(equals))
    yield Guarantee(f"elements with the key NaN are {together}", program, of_several(equals, "NaN".__eq__))
    if nulls:
        yield Guarantee(f"elements with a null key are {together}", program, of_several(equals, NULL_KEYS.__contains__))


SCENARIO = Scenario(
    name="typed keys of operators",
    summary="Count, deduplicate and join by typed keys, which an engine's own operators compare.",
    programs={"count": Count(), "dedup": Deduplicate(), "join": Join()},
    domain={
        "count": _domain(rivals.OF_ANY_OR_NULL),
        "dedup": _domain(rivals.OF_ANY_OR_NULL),
        "join": _domain(rivals.OF_ANY, LEFT, RIGHT),
    },
    planned=False,  # keys that an engine takes for one come in another order under some plans
    complete=False,  # an engine may take 0.0 and -0.0 for one key, which the reference does not
    guarantees=(
        *_about("count", "counted apart", counted_apart, "counted together", counted_together, nulls=True),
        *of_count,
        Guarantee("counts of typed keys go on after a restart or a failure", "count", same_under=RECOVERIES),
        *_about("dedup", "no duplicates", not_dropped, "duplicates", dropped, nulls=True),
        *of_dedup,
        Guarantee("duplicates of typed keys are known after a restart or a failure", "dedup", same_under=RECOVERIES),
        *_about("join", "not joined", strangers, "joined", joined, nulls=False),
        *of_join,
        Guarantee(
            "joins of typed keys go on after a restart or a failure",
            "join",
            same_under=RECOVERIES,
            alike=Equivalence.SAME_MULTISET,
        ),
    ),
)

"""Typed keys: equal keys of each type share one state, other keys do not, and a program is handed the key that went in.

Every element adds its id to a bag, and emits all elements of the bag and the key that it was handed. Keys come in
families that an engine might take for one another. The names of keys, in schedules and as keys of the output, are those
of ``typed_key_samples``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from conformance.model.equivalence import Equivalence
from conformance.model.keys import TypedKey
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, WATERMARKINGS
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Guarantees, Observation, Scenario, promise
from conformance.model.schedule import Event
from conformance.model.trace import Emission
from conformance.model.types import (
    Binary,
    Boolean,
    Date,
    Decimal,
    Double,
    Int,
    Long,
    String,
    Struct,
    Timestamp,
    Type,
    shown,
)
from conformance.model.values import canonical
from conformance.scenarios.shared import Predicate, each_once, once
from conformance.scenarios.typed.typed_key_samples import (
    BESIDE_NULLS,
    FORMS,
    KEYS,
    KINDS,
    NULLS,
    OF_FORMS,
    OF_OTHER_TYPES,
    Families,
)

PAUSE = 5_000


class ByKey(Program):
    keys = KEYS
    cells = {"had": Cell.BAG}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        state.had.add(event.id)
        emit({"id": event.id, "key": shown(event.key), "had": state.had.get()})


class WithNulls(ByKey):
    keys = NULLS


class ByForm(ByKey):
    keys = FORMS


class WithTimers(ByKey):
    """Every element sets a timer of its key, tagged with the element's id. The timer emits all elements of the bag,
    too."""

    timers = ("timer",)

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        super().on_event(event, state, timers, emit)
        timers.set("timer", event.event_time + PAUSE, tag=event.id)

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"fired": timer.tag, "key": shown(timer.key), "had": state.had.get()})


Had = tuple[Emission, str, str, list[str]]
"""(emission, the element or the timer's element, its key, the elements that were in the bag)."""


def had(run: Observation, of: str = "id") -> Iterator[Had]:
    owner = owners(run)
    for emission, element in run.tagged(of):
        if element in owner:
            yield emission, element, owner[element], emission.value["had"]


def owners(run: Observation) -> dict[str, str]:
    """The key of each element, by its id."""
    return {arrival.event.id: arrival.event.key for arrival in run.arrivals}


of_values, of_timers, of_nulls, of_forms = map(Guarantees, ("values", "timers", "nulls", "forms"))

ALL = tuple(family for families in KINDS.values() for family in families)
OF_ONE_TYPE = tuple(family for family in ALL if family not in OF_OTHER_TYPES)
ONLY_NULLS = {name: key for name, key in NULLS.items() if key.value is None}


def kept_apart(families: Families, of: str = "id") -> Predicate:
    """Exercised by elements of a key with another key of one of its families in the same case."""

    def predicate(run: Observation) -> Iterator[Finding]:
        owner = owners(run)
        there = set(owner.values())
        for _, element, key, found in had(run, of):
            rivals = {other for family in families if key in family for other in family if other in there} - {key}
            if rivals:
                others = sorted(rivals & {owner.get(other, "") for other in found})
                yield (
                    not others or f"{element} of the key {key!r} found an element of the key {others[0]!r} in its state"
                )

    return predicate


for kind, families in KINDS.items():
    of_values(f"keys {kind} are kept apart")(kept_apart(families))
of_timers("a timer finds the state of its own typed key")(kept_apart(OF_ONE_TYPE, of="fired"))
of_nulls("a null key has a state of its own")(kept_apart(BESIDE_NULLS))


def share(names: Iterable[str] = ()) -> Predicate:
    """Elements of one key find those of earlier bundles, and of several in one bundle one finds all. ``names`` are the
    keys that are meant; none for all."""
    meant = frozenset(names)

    def predicate(run: Observation) -> Iterator[Finding]:
        found = {element: set(seen) for _, element, _, seen in had(run)}
        came: dict[str, list[str]] = {}
        for bundle in run.case.schedule.bundles:
            there = {name: list(ids) for name, ids in came.items()}
            for event in bundle.events:
                came.setdefault(event.key, []).append(event.id)
            for name, ids in came.items():
                new = [element for element in ids[len(there.get(name, ())) :] if element in found]
                if not new or len(ids) < 2 or (meant and name not in meant):
                    continue
                lost = [other for element in new for other in there.get(name, ()) if other not in found[element]]
                seen = set().union(*(found[element] for element in new))
                whole = any(found[element].issuperset(ids) for element in new)
                missing = lost or [other for other in ids if other not in seen] or ([] if whole else ids[:1])
                yield not missing or f"{new[-1]} of the key {name!r} did not find {missing[0]} in its state"

    return predicate


of_values("elements of equal keys share one state")(share())
of_values("elements with the key NaN share one state")(share(["NaN"]))
of_nulls("elements with a null key share one state")(share(ONLY_NULLS))
of_forms("elements whose keys are written alike share one state")(share())


def handed(keys: Mapping[str, TypedKey], of: str = "id", kinds: tuple[type[Type], ...] = (Type,)) -> Predicate:
    """A callback is handed the key that went in, of its type; asked of these keys, if they are of these types."""

    def predicate(run: Observation) -> Iterator[Finding]:
        for emission, element, name, _ in had(run, of):
            if name in keys and isinstance(keys[name].type, kinds):
                told, wanted = emission.value["key"], keys[name].spellings
                yield told in wanted or f"{element} of the key {name!r} was handed {canonical(told)[:80]}"

    return predicate


HANDED: dict[str, tuple[type[Type], ...]] = {
    "a boolean or a whole number": (Boolean, Int, Long),
    "a double or a decimal": (Double, Decimal),
    "a text or a binary": (String, Binary),
    "a date or a timestamp": (Date, Timestamp),
    "a struct": (Struct,),
}
for words, kinds in HANDED.items():
    of_values(f"a program is handed {words} as it went in")(handed(KEYS, kinds=kinds))
of_timers("a timer is handed the typed key that set it")(handed(KEYS, of="fired"))
of_nulls("a null key is handed over as a null")(handed(ONLY_NULLS))


def one_or_two(family: tuple[str, ...]) -> Predicate:
    """Either every element of the one form shares its state with every element of the other, or none does."""

    def predicate(run: Observation) -> Iterator[Finding]:
        found = {element: (name, set(seen)) for _, element, name, seen in had(run)}
        ones, others = ([e for e, (name, _) in found.items() if name == form] for form in family)
        pairs = [(one, other) for one in ones for other in others]
        together = [pair for pair in pairs if pair[0] in found[pair[1]][1] or pair[1] in found[pair[0]][1]]
        if len(pairs) > 1:
            apart = [pair for pair in pairs if pair not in together]
            yield (
                not (together and apart)
                or f"{' and '.join(together[0])} share the state of {family[0]} and {family[1]}, "
                f"{' and '.join(apart[0])} do not"
            )

    return predicate


of_forms("0.0 and -0.0 are one key, or two, throughout a job")(one_or_two(OF_FORMS[0]))
of_forms("1.5 and 1.50 are one key, or two, throughout a job")(one_or_two(OF_FORMS[1]))


@of_forms("a program is handed an equal number")
def a_form_is_handed(run: Observation) -> Iterator[Finding]:
    """A key that is the same number: engines may hand over either form."""
    for emission, element, name, _ in had(run):
        family = next(family for family in OF_FORMS if name in family)
        told, wanted = emission.value["key"], [form for each in family for form in FORMS[each].spellings]
        yield told in wanted or f"{element} of the key {name} was handed {canonical(told)[:80]}"


answered_once = each_once("id", "of the key {key!r} is answered {} times")
of_values("each element of a typed key is answered once")(answered_once)
of_timers("each element of a typed key that sets a timer is answered once")(answered_once)
of_nulls("each element of a null key is answered once")(answered_once)
of_forms("each element of a key of two forms is answered once")(answered_once)


@of_timers("each timer of a typed key fires once")
def fires_once(run: Observation) -> Iterator[Finding]:
    """Exercised by the timer of an element on time whose time the watermark reaches."""
    fired = [element for _, element in run.tagged("fired")]
    for arrival in run.on_time:
        event = arrival.event
        if run.case.schedule.due(event.event_time + PAUSE) is not None:
            yield once(f"the timer that {event.id} of the key {event.key!r} set fired", fired.count(event.id))


def mixed(families: Families, parts: int) -> Families:
    """Families of so many families each, which stand first by turns: a case then asks for several kinds of keys."""
    apart = -(-len(families) // parts)
    groups = [families[place::apart] for place in range(apart)]
    turns = [group[turn:] + group[:turn] for group in groups for turn in range(len(group))]
    return tuple(tuple(dict.fromkeys(name for family in turn for name in family)) for turn in turns)


def _domain(families: Families, parts: int) -> Domain:
    names = mixed(families, parts)
    return Domain(offsets=(1, 500, 6_000), keys=min(map(len, names)), names=names, events=14)


STABLE = promise((INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES), Equivalence.IDENTICAL)
RECOVERED = promise(RECOVERIES, Equivalence.IDENTICAL)

SCENARIO = Scenario(
    name="typed keys",
    summary="Every element emits the elements in the state of its typed key, and the key that it was handed.",
    programs={
        "values": ByKey(),
        "timers": WithTimers(),
        "nulls": WithNulls(),
        "forms": ByForm(),
    },
    domain={
        "values": _domain(ALL, 6),
        "timers": _domain(OF_ONE_TYPE, 6),
        "nulls": _domain(BESIDE_NULLS, 3),
        "forms": _domain(OF_FORMS, 1),
    },
    stable_under={"values": STABLE, "nulls": STABLE, "timers": RECOVERED, "forms": RECOVERED},
    planned=False,  # keys that an engine takes for one come in another order under some plans
    complete=False,  # the output says what became of each key, which the other guarantees tell kind by kind
    guarantees=(
        *of_values,
        Guarantee("typed keys find their state again after a restart or a failure", "values", same_under=RECOVERIES),
        *of_timers,
        *of_nulls,
        *of_forms,
    ),
)

"""Next versions: a job begins again with a changed program, on what the program before it kept.

The value of a case's first element names the change. A program keeps sums: with every element, each field and each
variable grows by an amount of its own, and what was found in it before comes out. So behind the restart the output
tells where each number is from. A job may refuse to go on; if it goes on, what has the same name is kept, and what is
new is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from conformance.model.feature import Feature
from conformance.model.next_version import Versioned
from conformance.model.program import Cell, Emit, Program, State, Timer, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, Source
from conformance.model.schedule import Arrival, Event
from conformance.model.types import Int, Long, Refused, String, Struct, Type, shown
from conformance.model.values import Json, canonical
from conformance.scenarios.documents import SPARK_TWS
from conformance.scenarios.shared import of_change
from conformance.scenarios.state.damaged_checkpoints import RECOVERY
from conformance.scenarios.state.next_kinds import ACROSS, KINDS, TIMEOUT
from conformance.scenarios.state.next_operators import DOMAINS, EXCHANGES, PROGRAMS, of_changes
from conformance.scenarios.state.next_operators import goes_on as answers_anew
from conformance.scenarios.state.next_settings import AROUND


def _says(quote: str, part: str) -> Source:
    return SPARK_TWS.says(quote, part, part.lower().replace(" ", "-"))


WITHIN = _says(
    "it's possible for you to evolve this case class by adding/removing/widening fields",
    "Evolution within a state variable",
)
MAPPING = of_changes("Any change within the user-defined state-mapping function are allowed")
KEY_SIDE = _says("Key side state schema evolution is not supported", "State Schema Evolution")

AMOUNTS = {
    "one": 1,
    "two": 100,
    "small": 10_000,
    "big": 2**33,
    "last": 1_000_000,
    "more": 7,
    "other": 70,
    "latest": 700,
}
"""Field or variable -> how much it grows by with each element."""

FIELDS: dict[str, Type] = {"one": Long(), "two": Long(), "small": Int(), "big": Long(), "text": String()}
"""The fields of the first version's ``sums``."""


def struct(fields: Mapping[str, Type]) -> Struct:
    return Struct(tuple(fields.items()))


def without(*names: str, **changed: Type) -> dict[str, Type]:
    """The first version's fields without some, and with others in the place of their namesakes, or behind."""
    return {name: kind for name, kind in FIELDS.items() if name not in names} | changed


def amount(name: str, kind: Type) -> int:
    """How much a number grows by with each element: a narrow one by what fits."""
    return AMOUNTS[name] if isinstance(kind, Long) or AMOUNTS[name] < 2**31 else 7


class Sums(Versioned):
    """Base of all versions."""

    cells: ClassVar[Mapping[str, Cell]] = {"sums": Cell.VALUE, "last": Cell.VALUE}
    types: ClassVar[Mapping[str, Type]] = {"sums": struct(FIELDS), "last": Long()}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        found = {}
        try:
            for name, kind in self.types.items():
                cell = getattr(state, name)
                before = found[name] = cell.get()
                if self.cells[name] is Cell.BAG:
                    cell.add(amount(name, kind))
                else:
                    cell.set(grown(name, kind, before))
        except Refused as refused:
            emit({"id": event.id, "refused": refused.error})
            return
        if self.timers:
            timers.set("due", event.event_time)
        emit({"id": event.id, "found": {name: told(kind, found[name]) for name, kind in self.types.items()}})

    def on_timer(self, timer: Timer, state: State, timers: Timers, emit: Emit) -> None:
        emit({"fired": timer.name})


def grown(name: str, kind: Type, before: Any) -> Any:
    """What a value is after another element."""
    if isinstance(kind, Struct):
        fields = before if is_row(kind, before) else (None,) * len(kind.fields)
        return tuple(grown(field, each, old) for (field, each), old in zip(kind.fields, fields, strict=True))
    if isinstance(kind, String):
        return f"{before or ''}x"
    return (before if isinstance(before, int) else 0) + amount(name, kind)


def is_row(kind: Struct, found: Any) -> bool:
    """Whether what was found has as many fields as a struct."""
    return isinstance(found, tuple) and len(found) == len(kind.fields)


def told(kind: Type, found: Any) -> Json:
    """What was found, as it comes out: a struct as an object."""
    if isinstance(kind, Struct) and is_row(kind, found):
        return {name: told(each, part) for (name, each), part in zip(kind.fields, found, strict=True)}
    if isinstance(found, list):
        return [told(kind, each) for each in found]
    return found if found is None or type(found) in (int, str) else shown(found)


@dataclass(frozen=True)
class Change:
    """A change of the program.

    Attributes:
        what: the change, in words.
        kept: what a job that goes on goes on with.
        program: the next version.
        source: who speaks of such a change.
        needs: what the next version needs of an engine beside.
        may_refuse: whether a refusal is an answer.
    """

    what: str
    kept: str
    program: Program
    source: Source = WITHIN
    needs: tuple[Feature, ...] = ()
    may_refuse: bool = True

    @property
    def claim(self) -> str:
        refuses = "refuses, or " if self.may_refuse else ""
        return f"where {self.what}, the next version {refuses}goes on with {self.kept}"


NEW_FIELD, NEW_VARIABLE = "the old fields kept and nothing in the new one", "the old kept and nothing in the new one"
THE_OTHERS, ALL, SAME_NUMBER = "the others kept", "all of them kept", "the same number"
SAME = "all that was kept"
NEW_NAME = "the others kept and nothing under the new name"

QUERY = (Feature.NEXT_QUERY,)


class SameSums(Sums):
    """Nothing is changed."""


class FieldAdded(Sums):
    types = {"sums": struct(without(more=Long())), "last": Long()}


class FieldAddedInFront(Sums):
    types = {"sums": struct({"more": Long()} | FIELDS), "last": Long()}


class FieldRemoved(Sums):
    types = {"sums": struct(without("two")), "last": Long()}


class FieldRenamed(Sums):
    types = {
        "sums": struct({"other" if name == "two" else name: kind for name, kind in FIELDS.items()}),
        "last": Long(),
    }


class FieldsOfOneTypeReordered(Sums):
    types = {"sums": struct({"two": Long(), "one": Long()} | without("one", "two")), "last": Long()}


class FieldsOfTwoTypesReordered(Sums):
    types = {"sums": struct({"text": String()} | without("text")), "last": Long()}


class NumberWidened(Sums):
    types = {"sums": struct(FIELDS | {"small": Long()}), "last": Long()}


class NumberNarrowed(Sums):
    types = {"sums": struct(FIELDS | {"one": Int()}), "last": Long()}


class NumberNarrowedTooFar(Sums):
    types = {"sums": struct(FIELDS | {"big": Int()}), "last": Long()}


class NumberMadeAText(Sums):
    types = {"sums": struct(FIELDS | {"two": String()}), "last": Long()}


class VariableAdded(Sums):
    cells = {"sums": Cell.VALUE, "last": Cell.VALUE, "more": Cell.VALUE}
    types = {"sums": struct(FIELDS), "last": Long(), "more": Long()}


class VariableAddedInFront(Sums):
    cells = {"more": Cell.VALUE, "sums": Cell.VALUE, "last": Cell.VALUE}
    types = {"more": Long(), "sums": struct(FIELDS), "last": Long()}


class VariableRemoved(Sums):
    cells = {"sums": Cell.VALUE}
    types = {"sums": struct(FIELDS)}


class VariableRenamed(Sums):
    cells = {"sums": Cell.VALUE, "latest": Cell.VALUE}
    types = {"sums": struct(FIELDS), "latest": Long()}


class VariablesExchanged(Sums):
    cells = {"last": Cell.VALUE, "sums": Cell.VALUE}
    types = {"last": Long(), "sums": struct(FIELDS)}


class ValueMadeAList(Sums):
    cells = {"sums": Cell.VALUE, "last": Cell.BAG}


class TimersAdded(Sums):
    timers = ("due",)


class MovedSums(Sums):
    """Begins with what a reader found of the state that another API kept, in an event for each key."""

    def on_initial(self, event: Event, state: State) -> None:
        for name, kind in self.types.items():
            found = event.value[name]
            fields = dict(kind.fields) if isinstance(kind, Struct) else {}
            getattr(state, name).set(tuple(found[field] for field in fields) if fields else found)


class SumsToMove(Sums):
    next_versions = {"another API": MovedSums()}


CHANGES: dict[str, Change] = {
    "nothing changed": Change("nothing is changed", SAME, SameSums(), RECOVERY, may_refuse=False),
    "field added": Change("a field is added to what a job keeps", NEW_FIELD, FieldAdded()),
    "field added in front": Change("a field is added in front of what a job keeps", NEW_FIELD, FieldAddedInFront()),
    "field removed": Change("a field of what a job keeps is removed", THE_OTHERS, FieldRemoved()),
    "field renamed": Change(
        "a field of what a job keeps is renamed",
        NEW_NAME,
        FieldRenamed(),
    ),
    "fields of one type reordered": Change("two fields of one type change places", ALL, FieldsOfOneTypeReordered()),
    "fields of two types reordered": Change(
        "two fields of different types change places", ALL, FieldsOfTwoTypesReordered()
    ),
    "number widened": Change("a number is widened", SAME_NUMBER, NumberWidened()),
    "number narrowed": Change("a number is narrowed that fits", SAME_NUMBER, NumberNarrowed()),
    "number narrowed too far": Change("a number is narrowed that does not fit", SAME_NUMBER, NumberNarrowedTooFar()),
    "number made a text": Change("a number becomes a text", "its digits", NumberMadeAText()),
    "variable added": Change("a state variable is added", NEW_VARIABLE, VariableAdded(), ACROSS),
    "variable added in front": Change(
        "a state variable is declared before the others",
        NEW_VARIABLE,
        VariableAddedInFront(),
        ACROSS,
    ),
    "variable removed": Change("a state variable is removed", THE_OTHERS, VariableRemoved(), ACROSS),
    "variable renamed": Change("a state variable is renamed", NEW_NAME, VariableRenamed(), ACROSS),
    "variables exchanged": Change("two state variables change places", ALL, VariablesExchanged(), ACROSS),
    "value made a list": Change(
        "a value becomes a list",
        "the value as the first of the list",
        ValueMadeAList(),
        ACROSS,
        (Feature.BAG, Feature.CONTAINERS),
    ),
    "timers added": Change(
        "timers are added",
        "all that was kept, and its timers fire",
        TimersAdded(),
        TIMEOUT,
        (Feature.EVENT_TIMERS,),
    ),
    "key made a number": Change(
        "the keys become numbers and were texts", "what was kept under the same digits", SameSums(), KEY_SIDE, QUERY
    ),
    "key renamed": Change("the column of the keys is renamed", SAME, SameSums(), KEY_SIDE, QUERY),
    "output narrowed": Change("a number of the output is narrowed", SAME, SameSums(), MAPPING, QUERY),
    "source column added": Change("the source has a column more", SAME, SameSums(), RECOVERY, QUERY),
    "source column removed": Change("the source has a column less", SAME, SameSums(), RECOVERY, QUERY),
    **{
        name: Change(around.what, SAME, SameSums(), around.source, (around.needs,), around.may_refuse)
        for name, around in AROUND.items()
    },
}
"""By name."""


class FirstSums(Sums):
    next_versions = {name: change.program for name, change in CHANGES.items()}


SUMS, SUMS_TO_MOVE = FirstSums(), SumsToMove()


def expected(program: Program, before: int, number: int) -> dict[str, Json]:
    """Variable -> what a next version finds in it, with the element ``number`` (from 0) of a key with ``before``
    elements before the restart."""
    later = number - before

    def value(name: str, kind: Type, old: Type | None) -> Json:
        if isinstance(kind, Struct):
            known = dict(old.fields) if isinstance(old, Struct) else {}
            return {field: value(field, each, known.get(field)) for field, each in kind.fields}
        if isinstance(kind, String):
            kept = "" if old is None else "x" * before if isinstance(old, String) else str(amount(name, old) * before)
            return kept + "x" * later
        return amount(name, kind) * later + (amount(name, old) * before if old else 0)

    found = {}
    for name, kind in program.types.items():
        old = Sums.types.get(name)
        if program.cells[name] is Cell.BAG:
            kept = [amount(name, old) * before] if old else []
            found[name] = [*kept, *[amount(name, kind)] * later]
        else:
            found[name] = value(name, kind, old)
    return found


def same(found: Json, wanted: Json) -> bool:
    """Whether what was found is what was wanted. Nothing may be found as a null, a zero or an empty text."""
    if isinstance(wanted, dict):
        there = found if isinstance(found, dict) else dict.fromkeys(wanted) if found is None else {}
        return there.keys() == wanted.keys() and all(same(there[name], each) for name, each in wanted.items())
    return bool(found == wanted) or (found is None and wanted in (0, ""))


def goes_on(change: str, first: Versioned = SUMS) -> Callable[[Observation], Iterator[Finding]]:
    """The predicate of a change of a program. Exercised by a key with elements before and after the restart, and by a
    refusal."""
    program = first.next_versions[change]
    may_refuse = change in CHANGES and CHANGES[change].may_refuse

    def check(run: Observation) -> Iterator[Finding]:
        begun = run.case.schedule.restart
        for key, arrivals in run.arrivals_by_key.items():
            before = sum(arrival.step < begun for arrival in arrivals)
            if 0 < before < len(arrivals):
                yield from _kept(run, key, arrivals, before, program)

    return of_change(first, change, check, may_refuse)


def _kept(run: Observation, key: str, arrivals: list[Arrival], before: int, program: Program) -> Iterator[Finding]:
    """What a key's elements behind the restart found, step by step. An API that puts out one row a call tells of the
    last element of a step."""
    for step in {arrival.step for arrival in arrivals[before:]}:
        numbers = [number for number, arrival in enumerate(arrivals) if arrival.step == step]
        wanted = [expected(program, before, number) for number in numbers]
        found = [e.value["found"] for e in run.of_key(key) if e.step == step and "found" in e.value]
        strange = [each for each in found if not any(same(each, one) for one in wanted)]
        last = any(same(each, wanted[-1]) for each in found)
        seen, meant = (strange or found or [None])[0], wanted[0 if strange and len(found) == len(wanted) else -1]
        yield (not strange and last) or (
            f"the next version went on without a word: key {key} had {before} elements before the restart, and found "
            f"{canonical(seen)} in step {step}, not {canonical(meant)}"
        )
    if program.timers:
        fired = len([e for e in run.of_key(key) if "fired" in e.value])
        yield fired == 1 or f"key {key} has a timer of the next version, which fired {fired} times"


SCENARIO = Scenario(
    name="next versions",
    summary="A job begins again with a changed program: it refuses, or what it kept is kept.",
    programs={
        "sums": SUMS,
        "moved": SUMS_TO_MOVE,
        **PROGRAMS,
        **{name: program for name, (program, *_) in KINDS.items()},
    },
    domain={
        "sums": Domain(offsets=(1, 500), keys=2, names=(tuple("12345678"),), values=tuple(CHANGES), cases=12),
        **DOMAINS,
        **dict.fromkeys(("moved", *KINDS), Domain(offsets=(1, 500), keys=2)),
    },
    complete=False,
    planned=False,
    guarantees=(
        *(
            Guarantee(
                change.claim,
                "sums",
                goes_on(name),
                needs=frozenset({Feature.NEXT_VERSION, *change.needs}),
                source=change.source,
                change=name,
            )
            for name, change in CHANGES.items()
        ),
        Guarantee(
            "what the old API kept, the new one begins with, as a reader of the state finds it",
            "moved",
            goes_on("another API", SUMS_TO_MOVE),
            needs=frozenset({Feature.NEXT_VERSION, Feature.NEXT_API}),
            change="another API",
        ),
        *(
            Guarantee(claim, name, decides, needs=frozenset({Feature.NEXT_VERSION}), source=source, change=change)
            for name, (_, change, claim, decides, source) in KINDS.items()
        ),
        *(
            Guarantee(
                exchange.claim,
                program,
                answers_anew(PROGRAMS[program], name, exchange),
                needs=frozenset({Feature.NEXT_OPERATOR, *exchange.needs}),
                source=exchange.source,
                change=name,
            )
            for program, (_, changes) in EXCHANGES.items()
            for name, exchange in changes.items()
        ),
    ),
)

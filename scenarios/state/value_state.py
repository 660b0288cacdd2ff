"""Value state: a cell holds the value last written, whatever value that is, and only a write or a clear changes it.

Every event carries one operation, and emits what the cell holds before and after the operation. The predicates follow
the operations of a key in the order of its emissions, so they say nothing about the order of delivery.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

from conformance.model.equivalence import Equivalence
from conformance.model.feature import Feature
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, RENAMINGS, WATERMARKINGS
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, Source, promise
from conformance.model.schedule import Event
from conformance.model.trace import Emission
from conformance.model.values import Json, canonical
from conformance.scenarios.documents import BEAM_BLOG

NOTHING = "(nothing)"
"""The default that every read of the cell passes."""

WRITTEN = ["w"]
CHANGE = "changed"

BEAM_VALUE = "https://beam.apache.org/releases/javadoc/2.67.0/org/apache/beam/sdk/state/ValueState.html"
BEAM_EMPTY = Source(
    "Beam Java API, ValueState.read", "null will be returned if the value has never been written", BEAM_VALUE
)
BEAM_INDEPENDENT = Source(
    "Beam Java API, ValueState.read",
    "Any direct modification of the returned object should not modify state without going through the appropriate "
    "state interface",
    BEAM_VALUE,
)
WRITE_BACK = BEAM_BLOG.says("as long as you also remember to write the mutated value")

EMPTY = ('""', "0", "[]", "{}", "false")
"""Values (JSON) that are false in a condition of Python."""

TYPED = ("1", "1.0", '"1"', "true", "9007199254740993")
"""Values (JSON) that have an equal in another type, or that another type rounds."""

PLAIN = ('"a"', '{"b":[1,null]}', canonical("\0é\U0001f600"))


class OneValue(Program):
    """An event's value is "write VALUE" (VALUE is JSON), "clear", or "read"."""

    cells = {"cell": Cell.VALUE}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        before = state.cell.get(NOTHING)
        what, _, value = event.value.partition(" ")
        if what == "write":
            state.cell.set(json.loads(value))
        elif what == "clear":
            state.cell.clear()
        emit({"id": event.id, "did": event.value, "before": before, "after": state.cell.get(NOTHING)})


class ChangedList(Program):
    """The cell holds a list. An event's value is "write", "read", or a change of the list in place.

    "change what was read" and "change what was written" do not write the changed list. "change and write" writes it.
    """

    cells = {"cell": Cell.VALUE}

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        before = list(state.cell.get([]))
        what = event.value
        if what.startswith("write") or what == "change what was written":
            new = list(WRITTEN)
            state.cell.set(new)
            if what != "write":
                new.append(CHANGE)
        elif what.startswith("change"):
            found = state.cell.get([])
            found.append(CHANGE)
            if what == "change and write":
                state.cell.set(found)
        emit({"id": event.id, "did": what, "before": before, "after": list(state.cell.get([]))})


def reads(run: Observation) -> Iterator[tuple[Emission, list[str], Json]]:
    """(emission, the key's operations before one of the emission's two reads, the value that the read gave)."""
    for emissions in run.told.values():
        done: list[str] = []
        for emission in emissions:
            yield emission, done, emission.value["before"]
            if emission.value["did"] != "read":
                done = [*done, emission.value["did"]]
            yield emission, done, emission.value["after"]


def gives(run: Observation, values: tuple[str, ...]) -> Iterator[Finding]:
    """Asks about the reads after a write of one of ``values`` (JSON)."""
    for emission, done, found in reads(run):
        if done and done[-1].startswith("write ") and (value := done[-1].removeprefix("write ")) in values:
            yield (
                canonical(found) == canonical(json.loads(value))
                or f"the cell of key {emission.key} gives {canonical(found)} after {value} was written"
            )


def an_empty_cell_gives_its_default(run: Observation) -> Iterator[Finding]:
    for emission, done, found in reads(run):
        if not done:
            yield found == NOTHING or f"the cell of key {emission.key} gives {canonical(found)}, nothing was written"


def the_value_last_written(run: Observation) -> Iterator[Finding]:
    return gives(run, PLAIN)


def a_cleared_value_is_gone(run: Observation) -> Iterator[Finding]:
    for emission, done, found in reads(run):
        if done and done[-1] == "clear":
            yield found == NOTHING or f"the cell of key {emission.key} gives {canonical(found)} after it was cleared"


def null_is_a_value(run: Observation) -> Iterator[Finding]:
    return gives(run, ("null",))


def empty_values_come_back(run: Observation) -> Iterator[Finding]:
    return gives(run, EMPTY)


def types_are_kept(run: Observation) -> Iterator[Finding]:
    return gives(run, TYPED)


def read_after(run: Observation, did: str) -> Iterator[tuple[Emission, list[str]]]:
    """(emission of an event with this operation, the value of a read after it).

    The read is the event's own second read, or the first read of the key's next event.
    """
    for emissions in run.told.values():
        for emission, after in itertools.zip_longest(emissions, emissions[1:]):
            if emission.value["did"] == did:
                yield emission, emission.value["after"]
                if after:
                    yield emission, after.value["before"]


def a_change_is_not_stored_unless_written(run: Observation) -> Iterator[Finding]:
    for emission, found in read_after(run, "change what was read"):
        if before := emission.value["before"]:
            yield (
                found != [*before, CHANGE]
                or f"the cell of key {emission.key} gives {found}: a list that was read from it was changed, and "
                "not written"
            )


def a_value_is_stored_as_it_was_written(run: Observation) -> Iterator[Finding]:
    for emission, found in read_after(run, "change what was written"):
        yield (
            found == WRITTEN
            or f"the cell of key {emission.key} gives {found}: {WRITTEN} was written, and that list changed afterwards"
        )


def a_change_is_stored_once_written(run: Observation) -> Iterator[Finding]:
    for emission, found in read_after(run, "change and write"):
        wanted = [*emission.value["before"], CHANGE]
        yield found == wanted or f"the cell of key {emission.key} gives {found} after {wanted} was written"


SCENARIO = Scenario(
    name="value state",
    summary="After every operation on a value cell, emit what it held before and holds now.",
    programs={"one value": OneValue(), "changed list": ChangedList()},
    domain={
        "one value": Domain(
            offsets=(1, 500, 20_000),
            keys=2,
            values=("read", "clear", "clear", *(f"write {value}" for value in (*PLAIN, "null", *EMPTY, *TYPED))),
        ),
        "changed list": Domain(
            offsets=(1, 500, 20_000),
            keys=2,
            values=("read", "write", "change what was read", "change what was written", "change and write"),
        ),
    },
    stable_under={
        program: promise((INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)
        for program in ("one value", "changed list")
    },
    guarantees=(
        Guarantee(
            "an empty value cell gives its default", "one value", an_empty_cell_gives_its_default, source=BEAM_EMPTY
        ),
        Guarantee("a value cell gives the value last written", "one value", the_value_last_written),
        Guarantee("a cleared value is gone", "one value", a_cleared_value_is_gone),
        Guarantee(
            "a null that was written is told from nothing written",
            "one value",
            null_is_a_value,
            needs=frozenset({Feature.NULL}),
        ),
        Guarantee("an empty text, list or object, 0 and false are values", "one value", empty_values_come_back),
        Guarantee("a value keeps its type", "one value", types_are_kept),
        Guarantee(
            "a value that is changed after it was read is not stored unless it is written",
            "changed list",
            a_change_is_not_stored_unless_written,
            source=BEAM_INDEPENDENT,
        ),
        Guarantee(
            "a value that is changed after it was written is stored as it was written",
            "changed list",
            a_value_is_stored_as_it_was_written,
        ),
        Guarantee(
            "a value that was read, changed and written is stored with the change",
            "changed list",
            a_change_is_stored_once_written,
            source=WRITE_BACK,
        ),
    ),
)

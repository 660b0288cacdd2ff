"""Typed state: a value of each type comes back equal and of its type, and what does not fit a type is never stored as
something else.

Every event writes one value into the cell of its type, or clears a cell. It emits what the cell held before and holds
after the write, and what the cell holds that the key's event before wrote. The predicates follow the writes of a key in
the order of its emissions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from conformance.model.equivalence import Equivalence
from conformance.model.perturbation import BUNDLINGS, INTERLEAVE, RECOVERIES, RENAMINGS, WATERMARKINGS
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, Scenario, promise
from conformance.model.schedule import Event
from conformance.model.trace import Emission
from conformance.model.types import Refused, shown
from conformance.model.values import Json, canonical
from conformance.scenarios.typed.typed_samples import (
    CONTAINERS,
    KINDS,
    MISFITS,
    PLAIN,
    SAMPLES,
    TYPES,
    WRONG,
    cell_of,
    sample,
    wanted,
)

NOTHING: Json = {"nothing": ""}
"""What an empty cell is shown as."""

EMPTY = ...
"""The default that every read passes."""

ADDED = 99
"""What is added to an array or put into a map that is changed in place."""

MUTABLE = {"array": "array", "map": "map"}
"""Cell -> the sample that is changed in place."""

CHANGES = tuple(f"change {when} {cell}" for cell in MUTABLE for when in ("read", "written"))


def read(cell: Any) -> Json:
    """What a cell holds, as it is shown. A read that is refused is shown as the refusal."""
    try:
        value = cell.get(EMPTY)
    except Refused as refused:
        return {"refused": refused.error}
    return NOTHING if value is EMPTY else shown(value)


def write(cell: Any, value: Any) -> str:
    """The class of the error with which a write is refused, "" where it is not."""
    try:
        cell.set(value)
    except Refused as refused:
        return refused.error
    return ""


def change(value: Any) -> None:
    """Change an array or a map in place."""
    if isinstance(value, dict):
        value["added"] = ADDED
    elif isinstance(value, list):
        value.append(ADDED)


class TypedValues(Program):
    """An event's value is "write SAMPLE", "clear CELL", "change written CELL" (write an array or a map, then change it
    in place), or "change read CELL" (read it, change that in place, and write nothing)."""

    cells = {**dict.fromkeys(PLAIN, Cell.VALUE), "last": Cell.VALUE}
    types = PLAIN

    def on_event(self, event: Event, state: State, timers: Timers, emit: Emit) -> None:
        what, _, name = event.value.partition(" ")
        last = state.last.get()
        told = {"id": event.id, "did": event.value, "last": last}
        if last:
            told["held"] = read(getattr(state, last))
        which, value = sample(name) if what == "write" else (name.split()[-1], None)
        cell = getattr(state, which)
        told["before"] = read(cell)
        if what == "clear":
            cell.clear()
        elif what == "write":
            told["refused"] = write(cell, value)
        elif name.startswith("written"):
            _, value = sample(MUTABLE[which])
            told["refused"] = write(cell, value)
            change(value)
        elif told["before"] != NOTHING and "refused" not in told["before"]:
            change(cell.get(EMPTY))
        told["after"] = read(cell)
        if last != which:
            state.last.set(which)
        emit(told)


class Containers(TypedValues):
    """The same for arrays, maps, and what has one in it."""

    cells = {**dict.fromkeys(CONTAINERS, Cell.VALUE), "last": Cell.VALUE}
    types = CONTAINERS


class Misfits(TypedValues):
    """An event's value is "write SAMPLE", of samples that fit and of samples that do not."""

    cells = {**dict.fromkeys(TYPES, Cell.VALUE), "last": Cell.VALUE}
    types = TYPES
    misfits = True


@cache
def _wanted(name: str) -> str:
    return canonical(wanted(name))


Read = tuple[Emission, str, Json, str]
"""(emission, what was done last to a cell, what a read of that cell gave after it, the error with which it was
refused)."""


def reads(run: Observation) -> Iterator[Read]:
    """The reads of cells that something was done to, and of cells that nothing was done to (with ""). What follows a
    refused write, or a change in place, says nothing, until the next write."""
    for emissions in run.told.values():
        done: dict[str, tuple[str, str] | None] = {}
        for emission in emissions:
            value = emission.value
            what, _, name = value["did"].partition(" ")
            cell = cell_of(name) if what == "write" else name.split()[-1]
            seen = [(cell, value["before"])]
            if value.get("last") and value["last"] != cell:
                seen.append((value["last"], value["held"]))
            for which, found in seen:
                if (before := done.get(which, ("", ""))) is not None:
                    yield emission, *_told(before, found)
            if what != "change" or name.startswith("written"):
                done[cell] = (value["did"], value.get("refused", ""))
            if what == "change" and not name.startswith("written"):
                if value["before"] != NOTHING:
                    yield emission, value["did"], [value["before"], value["after"]], ""
                done[cell] = None
                continue
            yield emission, *_told(done[cell], value["after"])
            if value.get("refused") or what == "change":
                done[cell] = None


def _told(done: tuple[str, str] | None, found: Json) -> tuple[str, Json, str]:
    assert done is not None
    return done[0], found, done[1]


def comes_back(samples: tuple[str, ...]) -> Callable[[Observation], Iterator[Finding]]:
    """The guarantee about some samples: each read after a write of one shows this value."""
    asked = {f"write {name}": name for name in samples}

    def predicate(run: Observation) -> Iterator[Finding]:
        for emission, did, found, refused in run.once(reads):
            name = asked.get(did)
            if name is None:
                continue
            cell = f"the {TYPES[SAMPLES[name][0]]} cell of key {emission.key}"
            if refused:
                yield f"{cell} refuses {name!r}: {refused}"
            elif isinstance(found, dict) and "refused" in found:
                yield f"{cell} cannot be read after {name!r} was written: {found['refused']}"
            else:
                yield (
                    canonical(found) == _wanted(name)
                    or f"{cell} gives {_short(found)} after {_wanted(name)[:80]} was written"
                )

    return predicate


def _short(found: Json) -> str:
    return canonical(found)[:80]


def an_empty_cell(run: Observation) -> Iterator[Finding]:
    for emission, did, found, _ in run.once(reads):
        if not did:
            yield found == NOTHING or f"a cell of key {emission.key} gives {_short(found)}, nothing was written"


def a_cleared_cell(run: Observation) -> Iterator[Finding]:
    for emission, did, found, _ in run.once(reads):
        if did.startswith("clear "):
            yield found == NOTHING or f"a cell of key {emission.key} gives {_short(found)} after {did!r}"


def a_value_that_was_read(run: Observation) -> Iterator[Finding]:
    for emission, did, found, _ in run.once(reads):
        if did.startswith("change read"):
            before, after = found
            yield (
                before == after
                or f"the cell of key {emission.key} gives {_short(after)}: a value that was read was changed"
            )


def a_value_that_was_written(run: Observation) -> Iterator[Finding]:
    for emission, did, found, refused in run.once(reads):
        if did.startswith("change written") and not refused:
            name = MUTABLE[did.split()[-1]]
            yield (
                canonical(found) == _wanted(name)
                or f"the cell of key {emission.key} gives {_short(found)}: the value was changed after it was written"
            )


def misfits(run: Observation, samples: tuple[str, ...]) -> Iterator[tuple[Emission, str, Json, Json]]:
    """(emission, sample, what the cell held before, what it holds after) of the writes of these samples."""
    for emissions in run.told.values():
        for emission in emissions:
            name = emission.value["did"].removeprefix("write ")
            if name in samples:
                yield emission, name, emission.value["before"], emission.value["after"]


def never_something_else(samples: tuple[str, ...]) -> Callable[[Observation], Iterator[Finding]]:
    """The guarantee about some misfits: each is refused, or it comes back as it was written."""

    def predicate(run: Observation) -> Iterator[Finding]:
        for emission, name, _, after in misfits(run, samples):
            kept = canonical(after) == canonical(shown(MISFITS[name][1]))
            yield bool(emission.value["refused"]) or kept or f"{name}: key {emission.key} has {_short(after)} stored"

    return predicate


def refused(run: Observation) -> Iterator[Finding]:
    for emission, name, _, after in misfits(run, tuple(MISFITS)):
        yield (
            bool(emission.value["refused"])
            or f"{name}: it is not refused, and key {emission.key} reads {_short(after)}"
        )


def a_refused_write_changes_nothing(run: Observation) -> Iterator[Finding]:
    for emission, name, before, after in misfits(run, tuple(MISFITS)):
        if emission.value["refused"]:
            yield (
                before == after
                or f"{name}: it is refused, and key {emission.key} reads {_short(after)}, not {_short(before)}"
            )


def every_event_is_answered(run: Observation) -> Iterator[Finding]:
    for arrival in run.on_time:
        event = arrival.event
        keys = [emission.key for emission, told in run.tagged("id") if told == event.id]
        yield keys == [event.key] or f"{event.id} of key {event.key} is answered under {keys}"


def writes(types: Iterable[str]) -> Iterator[str]:
    """What writes each sample of these cells."""
    return (f"write {name}" for name, (cell, _) in SAMPLES.items() if cell in types)


def program_of(samples: tuple[str, ...]) -> str:
    """The program whose cells these samples are for."""
    return "values" if SAMPLES[samples[0]][0] in PLAIN else "containers"


STABLE = promise((INTERLEAVE, *BUNDLINGS, *WATERMARKINGS, *RECOVERIES, *RENAMINGS), Equivalence.IDENTICAL)

BESIDE = ("int 7", "double 0.1", "text", "struct", "decimal 1.500", "array", "map", "bytes", "date of 2026")
"""Samples that fit, which are written beside the misfits."""

SCENARIO = Scenario(
    name="typed state",
    summary="After every write of a typed value, emit what its cell held before and holds now.",
    programs={"values": TypedValues(), "containers": Containers(), "misfits": Misfits()},
    domain={
        "values": Domain(
            offsets=(1, 500, 20_000),
            keys=2,
            values=(*writes(PLAIN), "clear int", "clear string"),
            events=16,
            cases=2,
        ),
        "containers": Domain(
            offsets=(1, 500, 20_000),
            keys=2,
            values=(*writes(CONTAINERS), *CHANGES, *CHANGES, "clear array", "clear map"),
            events=12,
        ),
        "misfits": Domain(
            offsets=(1, 500, 20_000),
            keys=2,
            values=(*(f"write {name}" for name in MISFITS), *(f"write {name}" for name in BESIDE)),
            events=12,
        ),
    },
    stable_under=dict.fromkeys(("values", "containers", "misfits"), STABLE),
    complete=False,  # the output says what became of each value, which the other guarantees tell kind by kind
    guarantees=(
        *(
            Guarantee(f"{kind} comes back equal and of its type", program_of(samples), comes_back(samples))
            for kind, samples in KINDS.items()
        ),
        Guarantee("an empty typed cell gives its default", "values", an_empty_cell),
        Guarantee("an empty typed cell of an array or a map gives its default", "containers", an_empty_cell),
        Guarantee("a cleared typed cell is empty", "values", a_cleared_cell),
        Guarantee("a cleared typed cell of an array or a map is empty", "containers", a_cleared_cell),
        Guarantee(
            "a typed value that is changed after it was read is not changed in the state",
            "containers",
            a_value_that_was_read,
        ),
        Guarantee(
            "a typed value that is changed after it was written is not changed in the state",
            "containers",
            a_value_that_was_written,
        ),
        *(
            Guarantee(f"{kind} is never stored as something else", "misfits", never_something_else(samples))
            for kind, samples in WRONG.items()
        ),
        Guarantee("a value that does not fit its type is refused", "misfits", refused),
        Guarantee("a refused write leaves the cell as it was", "misfits", a_refused_write_changes_nothing),
        Guarantee("each write into a typed cell is answered once, under its key", "values", every_event_is_answered),
        Guarantee(
            "each write of an array or a map is answered once, under its key", "containers", every_event_is_answered
        ),
        Guarantee("each misfit is answered once, under its key", "misfits", every_event_is_answered),
    ),
)

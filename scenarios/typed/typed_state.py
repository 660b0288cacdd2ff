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

from conformance.model.case import Case
from conformance.model.export import literal
from conformance.model.program import Cell, Emit, Program, State, Timers
from conformance.model.scenario import Domain, Finding, Guarantee, Observation, PlainProgram, Scenario
from conformance.model.schedule import Event
from conformance.model.trace import Emission
from conformance.model.types import Refused, shown
from conformance.model.values import Json, canonical
from conformance.scenarios.calls.combined_calls import every_element_is_answered
from conformance.scenarios.calls.named_lists import IDENTICAL
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


# Exports


def told(found: Any) -> Json:
    """What a cell holds, where it is read as None if it holds nothing."""
    return NOTHING if found is None else shown(found)


TYPED = """
class Typed:
    def on_event(self, event, state, timers, emit):
        did = {{'id': event.id, 'did': event.value, 'last': {last}}}{held}{written}
        emit(did)
"""
WRITES = {
    "clear": ["state.{cell}.clear()"],
    "write": ["state.{cell}.set({value})", "did['refused'] = ''"],
    "misfit": [
        "try:",
        "    state.{cell}.set({value})",
        "    did['refused'] = ''",
        "except Exception:  # any refusal will do",
        "    did['refused'] = 'DoesNotFit'",
    ],
    "change written": ["value = {value}", "state.{cell}.set(value)", "did['refused'] = ''", "{changed}"],
    "change read": ["value = state.{cell}.get()", "if value is not None:", "    {changed}"],
}
CHANGED = {"array": f"value.append({ADDED})", "map": f"value['added'] = {ADDED}"}


def plain(program: Program, case: Case) -> PlainProgram:
    """The writes of a case's events, as somebody would write them who needs no others."""
    events = [arrival.event for arrival in case.schedule.arrivals]
    did = {text: _did(text) for text in dict.fromkeys(event.value for event in events)}
    cells = dict.fromkeys(cell for _, cell in did.values())
    again = len({event.key for event in events}) < len(events)
    held = "".join(
        f"\n        if did['last'] == {cell!r}:\n            did['held'] = told(state.{cell}.get())" for cell in cells
    )
    written = ""
    for text, (what, cell) in did.items():
        name = text.partition(" ")[2] if what in ("write", "misfit") else MUTABLE.get(cell, "")
        words = {"cell": cell, "value": literal(sample(name)[1]) if name else "", "changed": CHANGED.get(cell, "")}
        lines = [f"did['before'] = told(state.{cell}.get())", *(line.format(**words) for line in WRITES[what])]
        lines += [f"did['after'] = told(state.{cell}.get())", *[f"state.last.set({cell!r})"] * again]
        written += "\n            ".join([f"\n        if event.value == {text!r}:", *lines])
    source = TYPED.format(last="state.last.get()" if again else None, held=held * again, written=written)
    declared = {"cells": dict.fromkeys([*cells, *["last"] * again], Cell.VALUE), "types": {c: TYPES[c] for c in cells}}
    return PlainProgram(type("Typed", (Program,), declared)(), source.strip(), (told,))


def _did(text: str) -> tuple[str, str]:
    """(what an event does, a key of WRITES, and the cell)."""
    what, _, name = text.partition(" ")
    if what == "write":
        return "misfit" if name in MISFITS else what, cell_of(name)
    return text.rpartition(" ")[0], text.split()[-1]


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
            yield emission, *_told(done[cell] or ("", ""), value["after"])
            if value.get("refused") or what == "change":
                done[cell] = None


def _told(done: tuple[str, str], found: Json) -> tuple[str, Json, str]:
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


def seen_after(what: str, right: Callable[[str, Json], bool]) -> Callable[[Observation], Iterator[Finding]]:
    """The guarantee about the reads after such an operation on the cell, "" for none. A refused write says nothing."""

    def predicate(run: Observation) -> Iterator[Finding]:
        for emission, did, found, refused in run.once(reads):
            if did.rpartition(" ")[0] == what and not refused:
                told = f"a cell of key {emission.key} gives {_short(found)} after {did or 'nothing was written'!r}"
                yield right(did.split()[-1] if did else "", found) or told

    return predicate


def is_nothing(_: str, found: Json) -> bool:
    return bool(found == NOTHING)


def misfits(
    right: Callable[[str, dict[str, Json]], bool], samples: Iterable[str] = MISFITS, refused: bool = False
) -> Callable[[Observation], Iterator[Finding]]:
    """The guarantee about the writes of some misfits, or of those of them that are refused."""

    def predicate(run: Observation) -> Iterator[Finding]:
        for emission in (emission for emissions in run.told.values() for emission in emissions):
            value, name = emission.value, emission.value["did"].removeprefix("write ")
            if name in samples and (value["refused"] or not refused):
                how = f"is refused ({value['refused']})" if value["refused"] else "is not refused"
                now = f"key {emission.key} reads {_short(value['after'])}, and read {_short(value['before'])} before"
                yield right(name, value) or f"{name}: it {how}, and {now}"

    return predicate


def is_kept(name: str, value: dict[str, Json]) -> bool:
    """Whether a misfit is refused, or comes back as it was written."""
    return bool(value["refused"]) or canonical(value["after"]) == canonical(shown(MISFITS[name][1]))


def writes(types: Iterable[str]) -> Iterator[str]:
    """What writes each sample of these cells."""
    return (f"write {name}" for name, (cell, _) in SAMPLES.items() if cell in types)


def program_of(samples: tuple[str, ...]) -> str:
    """The program whose cells these samples are for."""
    return "values" if SAMPLES[samples[0]][0] in PLAIN else "containers"


OFFSETS = (1, 500, 20_000)

BESIDE = ("int 7", "double 0.1", "text", "struct", "decimal 1.500", "array", "map", "bytes", "date of 2026")
"""Samples that fit, which are written beside the misfits."""

ANSWERED = {"values": "write into a typed cell", "containers": "write of an array or a map", "misfits": "misfit"}

VALUES = {
    "values": Domain(OFFSETS, keys=2, values=(*writes(PLAIN), "clear int", "clear string"), events=16, cases=2),
    "containers": Domain(
        OFFSETS, keys=2, values=(*writes(CONTAINERS), *CHANGES, *CHANGES, "clear array", "clear map"), events=12
    ),
    "misfits": Domain(OFFSETS, keys=2, values=tuple(f"write {name}" for name in (*MISFITS, *BESIDE)), events=12),
}

SCENARIO = Scenario(
    plain=plain,
    name="typed state",
    summary="After every write of a typed value, emit what its cell held before and holds now.",
    programs={"values": TypedValues(), "containers": Containers(), "misfits": Misfits()},
    domain=VALUES,
    stable_under=dict.fromkeys(VALUES, IDENTICAL),
    complete=False,  # the output says what became of each value, which the other guarantees tell kind by kind
    guarantees=(
        *(
            Guarantee(f"{kind} comes back equal and of its type", program_of(samples), comes_back(samples))
            for kind, samples in KINDS.items()
        ),
        Guarantee("an empty typed cell gives its default", "values", seen_after("", is_nothing)),
        Guarantee(
            "an empty typed cell of an array or a map gives its default", "containers", seen_after("", is_nothing)
        ),
        Guarantee("a cleared typed cell is empty", "values", seen_after("clear", is_nothing)),
        Guarantee("a cleared typed cell of an array or a map is empty", "containers", seen_after("clear", is_nothing)),
        Guarantee(
            "a typed value that is changed after it was read is not changed in the state",
            "containers",
            seen_after("change read", lambda _, found: bool(found[0] == found[1])),
        ),
        Guarantee(
            "a typed value that is changed after it was written is not changed in the state",
            "containers",
            seen_after("change written", lambda cell, found: canonical(found) == _wanted(MUTABLE[cell])),
        ),
        *(
            Guarantee(f"{kind} is never stored as something else", "misfits", misfits(is_kept, samples))
            for kind, samples in WRONG.items()
        ),
        Guarantee(
            "a value that does not fit its type is refused", "misfits", misfits(lambda _, value: bool(value["refused"]))
        ),
        Guarantee(
            "a refused write leaves the cell as it was",
            "misfits",
            misfits(lambda _, value: bool(value["before"] == value["after"]), refused=True),
        ),
        *(
            Guarantee(f"each {what} is answered once, under its key", program, every_element_is_answered)
            for program, what in ANSWERED.items()
        ),
    ),
)

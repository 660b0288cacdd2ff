"""The program of a case of combined calls as plain code: the calls of its events one after the other, as somebody would
write them who needs no others. An export shows a witness so."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from conformance.model.case import Case
from conformance.model.export import literal
from conformance.model.program import Cell, FixedWindows, Program
from conformance.model.scenario import PlainProgram
from conformance.model.types import shown
from conformance.model.values import Json, canonical
from conformance.scenarios.calls.language import SETTING, Call, Calls, parsed, spelled
from conformance.scenarios.calls.model import FEW, NOTHING, SCRIPTS, folded, slot

LONG = 100
"""A text of more characters is emitted as their number and a digest."""

IN_ORDER = ", key=lambda entry: json.dumps(entry, ensure_ascii=False)"
"""How entries are put in the order of their JSON."""

WRITES = frozenset({"set", "add", "put", "remove", "clear"})

EVENT = """
    def on_event(self, event, state, timers, emit):
        time, window = event.event_time, {window}
{branches}
        emit({{'id': event.id, 'at': time, 'window': window, 'did': event.value, 'gave': gave}})
"""

TIMER = """
    def on_timer(self, timer, state, timers, emit):
        time, name, gave = timer.time, f'{{timer.name}} {{timer.tag}}', []
        window, calls = {script}
{branches}
        emit({{'timer': name, 'fired': time, 'window': window, 'did': calls, 'gave': gave}})
"""


def read(found: Any) -> Json:
    """What a read of a typed cell gave."""
    return NOTHING if found is None else shown(found)


def told(found: Any) -> Json:
    """What was read, with long texts as their length and a digest."""
    if isinstance(found, str) and len(found) > LONG:
        return {"characters": len(found), "digest": sha256(found.encode("utf-8", "surrogatepass")).hexdigest()[:12]}
    return [told(each) for each in found] if isinstance(found, list) else found


def plain(program: Any, case: Case) -> PlainProgram:
    """A program with the cells and timers that a case needs."""
    texts = dict.fromkeys(arrival.event.value for arrival in case.schedule.arrivals)
    scripts = dict.fromkeys(_scripts(texts))
    calls = [call for text in (*texts, *scripts) for call in parsed(text)]
    names = {call[0] for call in calls}
    timers = program.timers if names.intersection(program.timers) else ()  # one that nobody set may be told to fire
    size = program.windowing.size if isinstance(program.windowing, FixedWindows) else 0
    keeps = any(scripts) or (bool(scripts) and size > 0)
    kept = names | ({SCRIPTS} if keeps else set())
    cells = {name: kind for name, kind in program.cells.items() if name in kept}
    types = {name: kind for name, kind in program.types.items() if name in kept}
    branches = _Branches(program, calls, keeps)
    source = "class Calls:" + EVENT.format(
        window=f"event.event_time - event.event_time % {size}" if size else 0,
        branches="\n".join(branches.of("event.value", "event.id", text) for text in texts),
    )
    if timers:
        source += TIMER.format(
            script=f"state.{SCRIPTS}.get(name, [0, ''])" if keeps else "0, ''",
            branches="\n".join(branches.of("calls", "name", text) for text in filter(None, scripts)),
        )
    made: Program = type("Calls", (type(program),), {"cells": cells, "types": types, "timers": timers})()
    uses = (shown, read, told, folded)
    text = "\n".join(line for line in source.splitlines() if line.strip())
    return PlainProgram(made, text, tuple(each for each in uses if f"{each.__name__}(" in text))


def _scripts(texts: Iterable[str]) -> Iterator[str]:
    """The calls of the timers that calls set, as texts, and of those that their callbacks set."""
    for text in texts:
        for call in parsed(text):
            if call[1] in SETTING and call[4:]:
                script = spelled(call[4])
                yield script
                yield from _scripts([script])


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value."""
    if isinstance(value, list):
        yield from itertools.chain.from_iterable(map(_texts, value))
    elif isinstance(value, str):
        yield value


def _in_one_order(calls: Calls) -> bool:
    """Whether texts are in the order of their JSON, as reads of maps and sets are put out."""
    texts = sorted({call[2] for call in calls if len(call) > 2 and isinstance(call[2], str)})
    return texts == sorted(texts, key=canonical)


class _Branches:
    """The source of what a program does for lists of calls. ``keeps`` says whether the calls of timers are kept."""

    def __init__(self, program: Any, calls: Calls, keeps: bool) -> None:
        self._program, self._keeps = program, keeps
        meant = [program.meant(argument) for call in calls if call[0] in program.cells for argument in call[2:]]
        long = any(len(text) > LONG for each in meant for text in _texts(each))
        self._many = any(isinstance(each, list) and len(each) > FEW for each in meant)
        self._show = "shown" if program.types else "told" * long
        self._key = "" if _in_one_order(calls) and not self._show else IN_ORDER

    def of(self, given: str, by: str, text: str) -> str:
        """What is done where ``given`` is this text of calls."""
        says, calls = self._program.says, parsed(text)
        lines = [f"emit({{'said': {call[2]!r}, 'by': {by}, 'at': time}})" for call in calls if call[0] == says]
        lines += [f"gave = [None] * {len(calls)}" if calls else "gave = []"]
        for number, call in enumerate(calls):
            lines += self._lines(f"gave[{number}]", call)
        return "\n            ".join([f"        if {given} == {text!r}:", *lines])

    def _lines(self, gave: str, call: Call) -> list[str]:
        name, what, *arguments = call
        if name == self._program.says:
            return []
        if what in SETTING:
            ms, *tag = arguments[:2]
            time = f"time + {ms}" if what == "in" else f"(time // {ms} + 1) * {ms}"
            put = f"state.{SCRIPTS}.put({slot(name, *tag)!r}, [window, {{!r}}])"
            later = [put.format(spelled(script)) for script in arguments[2:] if self._keeps]
            return [*later, f"timers.set({', '.join([repr(name), time, *map(repr, tag)])})"]
        if what == "off":
            return [f"timers.clear({', '.join(map(repr, [name, *arguments]))})"]
        cell, kind = f"state.{name}", self._program.cells[name]
        values = [literal(self._program.meant(argument)) for argument in arguments]
        if what in WRITES:
            return [f"{cell}.{what}({', '.join(values)})"]
        if what == "drain":
            return [f"for key, _ in {cell}.items():", f"    {cell}.remove(key)"]
        if what in ("change", "extend", "lend"):
            place = values[:1] if kind is Cell.MAP else []
            found = values[-2] if what == "lend" else f"{cell}.get({', '.join([*place, '[]'])})"
            write = f"{cell}.{'put' if kind is Cell.MAP else 'set'}({', '.join([*place, 'found'])})"
            add = f"found.append({values[-1]})"
            lines = {"change": [add], "extend": [add, write], "lend": [write, add]}
            return [f"found = {found}", *lines[what]]
        return [f"{gave} = {self._read(cell, kind, what, values)}"]

    def _read(self, cell: str, kind: Cell, what: str, values: list[str]) -> str:
        """The source of what a read is emitted as."""
        show = f"{self._show}({{}})".format if self._show else "{}".format
        if what == "twice":
            return f"list({cell}.items()) == list({cell}.items())"
        if what == "items":
            return f"sorted([[{show('key')}, {show('value')}] for key, value in {cell}.items()]{self._key})"
        if kind in (Cell.VALUE, Cell.MAP):
            found = f"{cell}.get({', '.join([*values, *([] if self._program.types else [repr(NOTHING)])])})"
            return found.join(["read(", ")"]) if self._program.types else show(found)
        found = f"{cell}.get()"
        if kind is Cell.COMBINING:
            return found
        listed = f"[{show('each')} for each in {found}]" if self._show else found
        return f"sorted({listed}{self._key})" if kind is Cell.SET else f"folded({listed})" if self._many else listed

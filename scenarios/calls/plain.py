"""The program of a case of combined calls as plain code: the calls of its events one after the other, as somebody would
write them who needs no others. An export shows a witness so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from conformance.model.case import Case
from conformance.model.program import Cell, FixedWindows, Program
from conformance.model.values import Json, canonical
from conformance.scenarios.calls.language import SETTING, Call, Calls, parsed, spelled
from conformance.scenarios.calls.model import NOTHING, SCRIPTS, slot

WRITES = frozenset({"set", "add", "put", "remove", "clear"})

EVENT = """
    def on_event(self, event, state, timers, emit):
        time, window, gave = event.event_time, {window}, []
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


def plain(program: Any, case: Case) -> tuple[Program, str] | None:
    """A program with the cells and timers that a case needs, and the source of its class. None where a call of the case
    has no plain form."""
    texts = dict.fromkeys(arrival.event.value for arrival in case.schedule.arrivals)
    scripts = dict.fromkeys(_scripts(texts))
    calls = [call for text in (*texts, *scripts) for call in parsed(text)]
    if program.types or not all(_has_one(program, call) for call in calls) or not _in_one_order(calls):
        return None
    names = {call[0] for call in calls}
    timers = tuple(name for name in program.timers if name in names)
    kept = {name for name in program.cells if name in names} | ({SCRIPTS} if scripts else set())
    cells = {name: kind for name, kind in program.cells.items() if name in kept}
    size = program.windowing.size if isinstance(program.windowing, FixedWindows) else 0
    source = "class Calls:" + EVENT.format(
        window=f"event.event_time - event.event_time % {size}" if size else 0,
        branches="\n".join(_branch(program, "event.value", "event.id", text) for text in texts),
    )
    if timers:
        source += TIMER.format(
            script=f"state.{SCRIPTS}.get(name, [0, ''])" if scripts else "0, ''",
            branches="\n".join(_branch(program, "calls", "name", text) for text in scripts),
        )
    made: Program = type("Calls", (type(program),), {"cells": cells, "timers": timers})()
    return made, "\n".join(line for line in source.splitlines() if line.strip())


def _scripts(texts: Iterable[str]) -> Iterator[str]:
    """The calls of the timers that calls set, as texts, and of those that their callbacks set."""
    for text in texts:
        for call in parsed(text):
            if call[1] in SETTING and call[4:]:
                script = spelled(call[4])
                yield script
                yield from _scripts([script])


def _has_one(program: Any, call: Call) -> bool:
    name, what, *arguments = call
    if name == program.says or name in program.timers:
        return True
    return what != "drain" and not any(map(_stands_for_another, arguments))


def _stands_for_another(argument: Json) -> bool:
    return isinstance(argument, dict) or (isinstance(argument, list) and any(map(_stands_for_another, argument)))


def _in_one_order(calls: Calls) -> bool:
    """Whether texts are in the order of their JSON, as reads of maps and sets are put out."""
    texts = sorted({call[2] for call in calls if len(call) > 2 and isinstance(call[2], str)})
    return texts == sorted(texts, key=canonical)


def _branch(program: Any, given: str, by: str, text: str) -> str:
    calls = parsed(text)
    lines = [f"emit({{'said': {call[2]!r}, 'by': {by}, 'at': time}})" for call in calls if call[0] == program.says]
    lines += [f"gave = [None] * {len(calls)}"]
    for number, call in enumerate(calls):
        lines += _lines(program, number, call)
    return "\n            ".join([f"        if {given} == {text!r}:", *lines])


def _lines(program: Any, number: int, call: Call) -> list[str]:
    name, what, *arguments = call
    if name == program.says:
        return []
    if what in SETTING:
        ms, *tag = arguments[:2]
        time = f"time + {ms}" if what == "in" else f"(time // {ms} + 1) * {ms}"
        later = [f"state.{SCRIPTS}.put({slot(name, *tag)!r}, [window, {spelled(s)!r}])" for s in arguments[2:]]
        return [*later, f"timers.set({', '.join([repr(name), time, *map(repr, tag)])})"]
    if what == "off":
        return [f"timers.clear({', '.join(map(repr, [name, *arguments]))})"]
    cell, kind = f"state.{name}", program.cells[name]
    given = ", ".join(map(repr, arguments))
    if what in WRITES:
        return [f"{cell}.{what}({given})"]
    if what in ("change", "extend", "lend"):
        place = [repr(key) for key in arguments[:1] if kind is Cell.MAP]
        found = repr(arguments[-2]) if what == "lend" else f"{cell}.get({', '.join([*place, '[]'])})"
        write = f"{cell}.{'put' if kind is Cell.MAP else 'set'}({', '.join([*place, 'found'])})"
        add = f"found.append({arguments[-1]!r})"
        lines = {"change": [add], "extend": [add, write], "lend": [write, add]}
        return [f"found = {found}", *lines[what]]
    if what == "twice":
        return [f"gave[{number}] = list({cell}.items()) == list({cell}.items())"]
    if what == "items":
        return [f"gave[{number}] = sorted([key, value] for key, value in {cell}.items())"]
    if kind in (Cell.VALUE, Cell.MAP):
        return [f"gave[{number}] = {cell}.get({', '.join(map(repr, [*arguments, NOTHING]))})"]
    around = {Cell.BAG: "list", Cell.SET: "sorted", Cell.COMBINING: ""}[kind]
    return [f"gave[{number}] = {around}({cell}.get())"]

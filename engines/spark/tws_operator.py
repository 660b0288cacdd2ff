"""Neutral programs on transformWithState, as Python's rows, Python's pandas frames and the JVM's API call it. Imported where
Spark's Python workers run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from conformance.program import Cell, Program, State, Timer
from engines.spark.cells import CELLS, Guarded, Map, NamedTimers
from engines.spark.operator import Failure, In, Key, Operator, Out, faults_of


def variables(programs: Mapping[str, Program]) -> dict[tuple[str, str], tuple[str, Cell]]:
    """(program, cell) -> the name and kind of its state variable, for all programs of a query. The cell "" holds the
    names of a program's timers."""
    found: dict[tuple[str, str], tuple[str, Cell]] = {}
    for number, (name, program) in enumerate(sorted(programs.items())):
        for cell, kind in program.cells.items():
            found[name, cell] = f"p{number}_{cell}", kind
        if program.timers:
            found[name, ""] = f"p{number}__timers", Cell.MAP
    return found


class TwsOperator:
    """Programs on one handle of transformWithState; ``handle`` has the methods of PySpark's StatefulProcessorHandle."""

    def __init__(
        self,
        programs: Mapping[str, Program],
        failure: Failure | None,
        handle: Any,
        attempt: Callable[[], tuple[int, int]],
    ) -> None:
        self._operator = Operator(programs, failure, attempt)
        self._handle = Guarded(handle)
        made = {which: self._variable(*named) for which, named in variables(programs).items()}
        self._states: dict[str, State] = {}
        self._timers: dict[str, NamedTimers] = {}
        for name, program in programs.items():
            self._states[name] = State({c: CELLS[kind](made[name, c]) for c, kind in program.cells.items()})
            times = Map(made.get((name, ""), self._handle))
            self._timers[name] = NamedTimers(self._handle, times, program.timers)

    def _variable(self, name: str, kind: Cell) -> Guarded:
        if kind is Cell.BAG:
            variable = self._handle("getListState", name, "v string")
        elif kind in (Cell.MAP, Cell.SET):
            variable = self._handle("getMapState", name, "k string", "v string")
        else:
            variable = self._handle("getValueState", name, "v string")
        return Guarded(variable, self._operator.wrote)

    def on_rows(self, key: Key, rows: Iterable[In]) -> Iterator[Out]:
        return self._operator.on_rows(key, rows, self._states.get(key[0]), self._timers.get(key[0]))

    def on_timer(self, key: Key, time: int) -> Iterator[Out]:
        """``time`` is ms since the epoch."""
        program, case, user_key, _ = key
        state, timers = self._states[program], self._timers[program]

        def fire(name: str, tag: str) -> Iterator[Out]:
            return self._operator.on_timer(key, Timer(name, tag, user_key, time), state, timers)

        with faults_of(case):
            due = timers.due(time)
        if not due:  # Spark fires what the program cleared: the program gets to see it
            yield from fire(self._operator.programs[program].timers[0], "")
        for name, tag in due:
            if timers.take(name, tag, time):
                yield from fire(name, tag)

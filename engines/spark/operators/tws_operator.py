"""Neutral programs on transformWithState, as Python's rows, Python's pandas frames and the JVM's API call it. Imported
where Spark's Python workers run."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from conformance.engines.spark.operators.operator import Failure, In, Key, Operator, Out, faults_of
from conformance.engines.spark.state.cells import CELLS, Guarded, Map, NamedTimers
from conformance.engines.spark.state.typed_cells import TYPED, columns, parts
from conformance.model.keys import seen
from conformance.model.program import NO_TIME, Cell, JobKind, Program, State, Timer
from conformance.model.schedule import Event
from conformance.model.types import Type
from conformance.model.values import digest


class Variable(NamedTuple):
    """A state variable: its name, whether it is a "value", a "list" or a "map", its TTL in ms of processing time, 0
    where it has none, its schemas, which are those of JSON text where its cell has no type, and the type of each schema
    where the cell has one."""

    name: str
    kind: str
    ttl: int
    schemas: tuple[str, ...]
    types: tuple[Type, ...] = ()


KINDS = {Cell.BAG: "list", Cell.MAP: "map", Cell.SET: "map"}
"""The kind of variable that keeps a cell; the others are values."""

ASKED_FOR = {"value": "getValueState", "list": "getListState", "map": "getMapState"}
"""The method that makes a variable of each kind."""

TEXTS = {"value": ("v string",), "list": ("v string",), "map": ("k string", "v string")}
"""The schemas of variables that keep JSON text."""


def variables(programs: Mapping[str, Program]) -> dict[tuple[str, str], Variable]:
    """(program, cell) -> its state variable, for all programs of a query. The cell "" holds the names of a program's
    timers. Programs share variables, since the grouping key keeps them apart, and every variable of a query costs it
    time in every micro-batch. Those of a program with other versions have the names of its cells."""
    found: dict[tuple[str, str], Variable] = {}
    for name, program in programs.items():
        used: Counter[tuple[str, int, str]] = Counter()
        for cell, declared in [*program.cells.items(), *([("", Cell.MAP)] if program.timers else [])]:
            kind, ttl = KINDS.get(declared, "value"), program.ttl.get(cell, 0)
            of_type = cell in program.types
            types = parts(program.types[cell], declared) if of_type else ()
            asked = tuple(map(columns, types, "kv" if kind == "map" else "v")) if of_type else TEXTS[kind]
            typed = f"{digest(asked)}_" if of_type else ""
            own = (
                cell
                if program.job is JobKind.NEXT_VERSION and cell
                else f"{kind}_{typed}{ttl}_{used[kind, ttl, typed]}"
            )
            found[name, cell] = Variable(own, kind, ttl, asked, types)
            used[kind, ttl, typed] += 1
    return found


def _cell(program: Program, cell: str, variable: Guarded) -> Any:
    kind = program.cells[cell]
    return TYPED[kind](variable, program.types[cell]) if cell in program.types else CELLS[kind](variable)


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
        mine = variables(programs)
        shared = {variable: self._variable(variable) for variable in sorted({*mine.values()})}
        made = {which: shared[variable] for which, variable in mine.items()}
        self._states: dict[str, State] = {}
        self._timers: dict[str, NamedTimers] = {}
        for name, program in programs.items():
            self._states[name] = State({c: _cell(program, c, made[name, c]) for c in program.cells})
            times = Map(made.get((name, ""), self._handle))
            self._timers[name] = NamedTimers(self._handle, times, program.timers)

    def _variable(self, declared: Variable) -> Guarded:
        ttl = (declared.ttl,) if declared.ttl else ()
        made = self._handle(ASKED_FOR[declared.kind], declared.name, *declared.schemas, *ttl)
        return Guarded(made, self._operator.wrote)

    def on_initial(self, key: Key, row: In) -> None:
        """Make the state that a key starts with."""
        program, case, user_key, _ = key
        event = Event(row.id, seen(user_key), json.loads(row.value), row.time)
        with faults_of(case):
            self._operator.programs[program].on_initial(event, self._states[program])

    def on_rows(self, key: Key, rows: Iterable[In], now: int) -> Iterator[Out]:
        """``now`` is the engine's processing time (ms), which timers in processing time go by."""
        timers = self._timers.get(key[0])
        if timers:
            timers.now = now
        return self._operator.on_rows(key, rows, self._states.get(key[0]), timers)

    def on_timer(self, key: Key, time: int, now: int) -> Iterator[Out]:
        """``time`` is ms since the epoch, as is ``now``."""
        program, case, user_key, _ = key
        state, timers = self._states[program], self._timers[program]
        timers.now = now
        told = NO_TIME if self._operator.programs[program].processing_time else time

        def fire(name: str, tag: str) -> Iterator[Out]:
            return self._operator.on_timer(key, Timer(name, tag, seen(user_key), told), state, timers)

        with faults_of(case):
            due = timers.due(time)
        if not due:  # Spark fires what the program cleared: the program gets to see it
            yield from fire(self._operator.programs[program].timers[0], "")
        for name, tag in due:
            if timers.take(name, tag, time):
                yield from fire(name, tag)

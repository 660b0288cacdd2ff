"""Neutral programs on one state and one timeout per key: what applyInPandasWithState and the JVM's mapGroupsWithState
and flatMapGroupsWithState offer. Imported where Spark's Python workers run.

Two emulations, both named in the cells: all cells of a key live in its one state, as JSON; its timers live there too,
and the key's one timeout is armed for the earliest of them whenever the state changed or the function was called, since
a call disarms it. Spark refuses a timeout before the watermark, so one that is overdue is armed for the watermark. When
the key times out, the timers before the watermark fire, in order of their times: Spark's own test for a timeout
(`timeout < watermark`, Spark 4.3.0) says which these are. In processing time the timeout is a duration, and the time of
the micro-batch takes the place of the watermark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from conformance.engines.spark.operators.operator import Failure, In, Key, Operator, Out, faults_of, millis
from conformance.engines.spark.state.cells import CELLS, Guarded
from conformance.engines.spark.state.typed_groups import OWN, TYPED, Columns, columns_of, width
from conformance.model.keys import seen
from conformance.model.program import NO_TIME, Cell, EngineFault, JobKind, Program, State, Timer, check_timer
from conformance.model.schedule import Event


class GroupsOperator:
    """Programs on groups."""

    def __init__(
        self,
        programs: Mapping[str, Program],
        failure: Failure | None,
        attempt: Callable[[], tuple[int, int]],
    ) -> None:
        self._operator = Operator(programs, failure, attempt)
        self._columns = columns_of(programs)
        self._width = width(self._columns)

    def on_call(self, key: Key, rows: Iterable[In], group: Any) -> Iterator[Out]:
        """One call of the state function. ``group`` has the methods of PySpark's GroupState."""
        program = self._operator.programs.get(key[0])
        if program is None:  # a heartbeat or a sentinel
            yield from self._operator.on_rows(key, rows, None, None)
            return
        with faults_of(key[1]):
            kept = _Kept(group, self._operator.wrote, program.processing_time, self._width)
        state = _state_of(program, kept, key[0], self._columns)
        timers = _Timers(kept, program.timers)
        if kept.timed_out:
            while (timer := timers.take_due(seen(key[2]))) is not None:
                yield from self._operator.on_timer(key, timer, state, timers)
        else:
            yield from self._operator.on_rows(key, rows, state, timers)
        with faults_of(key[1]):
            kept.write_back()


def initial_state(programs: Mapping[str, Program], row: Any) -> tuple[Any, ...]:
    """The state, as it is kept, of a key that starts with a row of initial state."""
    program, columns = programs[row.program], columns_of(programs)
    group = _NewGroup(width(columns))
    kept = _Kept(group, lambda: None, program.processing_time, width(columns))
    event = Event(row.id, row.key, json.loads(row.value), millis(row.event_time))
    program.on_initial(event, _state_of(program, kept, row.program, columns))
    kept.write_back()
    return group.get


class _NewGroup:
    """A key without state."""

    hasTimedOut = False

    def __init__(self, width: int) -> None:
        self.get: tuple[Any, ...] = ("{}", *[None] * (width - 1))
        self.exists = False

    def update(self, state: tuple[Any, ...]) -> None:
        self.get, self.exists = state, True


def _state_of(program: Program, kept: _Kept, ref: str, columns: Columns) -> State:
    def cell(name: str, kind: Cell) -> Any:
        if name in program.types:
            return kept.typed(
                (OWN if program.job is JobKind.NEXT_VERSION else TYPED)[kind], name, columns[ref, name][0]
            )
        return CELLS[kind](Guarded(kept.variable(kind, name), kept.changed))

    return State({name: cell(name, kind) for name, kind in program.cells.items()})


class _Kept:
    """The one state of a key: JSON text of its cells and timers."""

    def __init__(self, group: Any, wrote: Callable[[], None], processing_time: bool, width: int = 1) -> None:
        self._group, self._wrote, self._width = group, wrote, width
        self.processing_time = processing_time
        self._before = _guarded(lambda: group.get[0] if group.exists else "{}")
        self._data: dict[str, Any] = json.loads(self._before)
        self.timed_out: bool = group.hasTimedOut
        self.timers: dict[str, int] = self._data.setdefault("timers", {})
        self._there: list[str] = self._data.setdefault("typed", [])

    @property
    def now(self) -> int:
        """What timeouts go by (ms): the watermark, or the time of the micro-batch."""
        return _guarded(
            self._group.getCurrentProcessingTimeMs if self.processing_time else self._group.getCurrentWatermarkMs
        )

    def changed(self) -> None:
        self._wrote()

    def variable(self, kind: Cell, name: str) -> Any:
        made = {Cell.BAG: _List, Cell.MAP: _Map, Cell.SET: _Map}.get(kind, _Value)
        return made(self._data.setdefault("cells", {}), name)

    def typed(self, made: Callable[..., Any], name: str, place: int) -> Any:
        return made(self._group, name, place, self._width, self._there, self.changed)

    def after(self) -> str:
        """What is to be kept."""
        cells = {name: stored for name, stored in self._data.get("cells", {}).items() if stored}
        return json.dumps({k: v for k, v in (("cells", cells), ("timers", self.timers), ("typed", self._there)) if v})

    def write_back(self) -> None:
        after = self.after()
        if after != self._before:
            if after == "{}":
                _guarded(self._group.remove)
            else:
                nothing = (None,) * (self._width - 1)
                typed = _guarded(lambda: tuple(self._group.get)[1:] if self._group.exists else nothing)
                _guarded(lambda: self._group.update((after, *typed)))
        if self.timers:
            earliest = min(self.timers.values())
            if self.processing_time:
                _guarded(lambda: self._group.setTimeoutDuration(max(earliest - self.now, 1)))
            else:
                _guarded(lambda: self._group.setTimeoutTimestamp(max(earliest, self.now)))


def _guarded(method: Callable[[], Any]) -> Any:
    try:
        return method()
    except Exception as error:
        raise EngineFault(f"{type(error).__name__}: {error}") from error


class _Value:
    """A ValueState within the one state."""

    def __init__(self, cells: dict[str, Any], name: str) -> None:
        self._cells, self._name = cells, name

    def get(self) -> tuple[str] | None:
        return self._cells.get(self._name)

    def update(self, value: tuple[str]) -> None:
        self._cells[self._name] = list(value)

    def clear(self) -> None:
        self._cells.pop(self._name, None)


class _List(_Value):
    """A ListState within the one state."""

    def get(self) -> Any:
        return list(self._cells.get(self._name, ()))

    def put(self, values: list[tuple[str]]) -> None:
        self._cells[self._name] = [list(value) for value in values]

    def appendValue(self, value: tuple[str]) -> None:
        self._cells.setdefault(self._name, []).append(list(value))


class _Map(_Value):
    """A MapState within the one state."""

    def _entries(self) -> dict[str, Any]:
        return self._cells.setdefault(self._name, {})

    def getValue(self, key: tuple[str]) -> Any:
        return self._entries().get(key[0])

    def updateValue(self, key: tuple[str], value: tuple[str]) -> None:
        self._entries()[key[0]] = list(value)

    def removeKey(self, key: tuple[str]) -> None:
        self._entries().pop(key[0], None)

    def iterator(self) -> Iterator[tuple[tuple[str], Any]]:
        return iter([((key,), value) for key, value in self._entries().items()])


class _Timers:
    """Named timers in the one state of a key."""

    def __init__(self, kept: _Kept, declared: tuple[str, ...]) -> None:
        self._kept, self._declared = kept, declared

    def set(self, name: str, time: int, tag: str = "") -> None:
        check_timer(self._declared, name)
        if not isinstance(time, int):
            raise EngineFault(f"a timeout is set in ms, not {time!r}")
        self._kept.timers[f"{name}/{tag}"] = time
        self._kept.changed()

    def set_after(self, name: str, ms: int, tag: str = "") -> None:
        self.set(name, self._kept.now + ms, tag)

    def clear(self, name: str, tag: str = "") -> None:
        check_timer(self._declared, name)
        self._kept.timers.pop(f"{name}/{tag}", None)
        self._kept.changed()

    def take_due(self, key: str) -> Timer | None:
        """Unset the earliest timer before the watermark; None where there is none."""
        due = sorted((time, name) for name, time in self._kept.timers.items() if time < self._kept.now)
        if not due:
            return None
        time, full = due[0]
        del self._kept.timers[full]
        name, _, tag = full.partition("/")
        return Timer(name, tag, key, NO_TIME if self._kept.processing_time else time)

"""The export "spark" for applyInPandasWithState: a program on the one state and the one timeout of a key. An export
holds the source of what it needs from here."""

from __future__ import annotations

import json
from typing import Any

from conformance.engines import exporting
from conformance.engines.spelled_out import EngineCalls
from conformance.model.export import CannotExport, Exportable
from conformance.model.program import Cell

Json = Any

GROUPS = "spark-fmgws-pandas"

CALL = """applyInPandasWithState(handled, "row string", "state string", "append", "EventTimeTimeout")"""

CALLS = EngineCalls(
    {
        (Cell.VALUE, "get"): "json.loads(state.get(cell, json.dumps(a)))",
        (Cell.VALUE, "set"): "state.update({cell: json.dumps(a)})",
        (Cell.COMBINING, "get"): "state.get(cell, 0)",
        (Cell.COMBINING, "add"): "state.update({cell: state.get(cell, 0) + a})",
        (Cell.BAG, "get"): "list(state.get(cell, []))",
        (Cell.BAG, "add"): "state.setdefault(cell, []).append(a)",
        (Cell.BAG, "set"): "state.update({cell: list(a)})",
        (Cell.MAP, "get"): "state.get(cell, {}).get(a, b)",
        (Cell.MAP, "put"): "state.setdefault(cell, {}).update({a: b})",
        (Cell.MAP, "remove"): "state.get(cell, {}).pop(a, None)",
        (Cell.MAP, "items"): "list(state.get(cell, {}).items())",
        (Cell.SET, "get"): "list(state.get(cell, {}))",
        (Cell.SET, "add"): "state.setdefault(cell, {}).update({a: None})",
        **{(kind, "clear"): "state.pop(cell, None)" for kind in Cell},
        (None, "set"): "timers.update({f'{a}/{c}': b})",
        (None, "clear"): "timers.pop(f'{a}/{b}', None)",
    }
)
"""What a program's calls are on its cells and on the times of its timers, which are in the state of a group as JSON."""

FUNCTION = """
def handled(key, frames, group):  # cells and timers are in the one state, and the timeout is that of the earliest timer
    kept, times = json.loads(group.get[0]) if group.exists else [dict(), dict()]
    watermark, found = group.getCurrentWatermarkMs(), []
    while group.hasTimedOut and (due := sorted((time, name) for name, time in times.items() if time < watermark)):
        time, name = due[0]
        del times[name]
        timer = SimpleNamespace(name=name.split("/")[0], tag=name.partition("/")[2], key={key}, time=time)
        found += outputs(PROGRAM.on_timer, timer, {given})
    for row in () if group.hasTimedOut else (row for frame in frames for row in frame.itertuples()):
        if row.id:  # the others move the watermark
            event = SimpleNamespace(id=row.id, key={handed}, value=json.loads(row.value), event_time=int(row.ms))
            found += outputs(PROGRAM.on_event, event, {given})
    if any(kept.values()) or times:
        group.update((json.dumps([kept, times]),))
    elif group.exists:
        group.remove()
    if times:  # a timeout before the watermark is refused
        group.setTimeoutTimestamp(max(min(times.values()), watermark))
    yield pd.DataFrame(dict(row=[json.dumps(row) for row in found]))
"""


class KeptValue:
    """A value in the state of a group, as JSON text."""

    def __init__(self, cells: dict[str, Any], name: str) -> None:
        self._cells, self._name = cells, name

    def get(self, default: Json = None) -> Json:
        stored = self._cells.get(self._name)
        return default if stored is None else json.loads(stored)

    def set(self, value: Json) -> None:
        self._cells[self._name] = json.dumps(value)

    def clear(self) -> None:
        self._cells.pop(self._name, None)


class KeptSum(KeptValue):
    """A sum in the state of a group."""

    def add(self, value: int) -> None:
        self.set(self.get() + value)

    def get(self, default: Json = 0) -> Json:
        return super().get(default)


class KeptBag(KeptValue):
    """A list in the state of a group, of JSON texts."""

    def add(self, value: Json) -> None:
        self._cells.setdefault(self._name, []).append(json.dumps(value))

    def set(self, value: list[Json]) -> None:
        self._cells[self._name] = [json.dumps(each) for each in value]

    def get(self, default: Json = None) -> list[Json]:
        return [json.loads(stored) for stored in self._cells.get(self._name, ())]


class KeptMap:
    """A map in the state of a group, from text to JSON text."""

    def __init__(self, cells: dict[str, Any], name: str) -> None:
        self._cells, self._name = cells, name

    def get(self, key: str, default: Json = None) -> Json:
        stored = self._cells.get(self._name, {}).get(key)
        return default if stored is None else json.loads(stored)

    def put(self, key: str, value: Json) -> None:
        self._cells.setdefault(self._name, {})[key] = json.dumps(value)

    def remove(self, key: str) -> None:
        self._cells.get(self._name, {}).pop(key, None)

    def items(self) -> list[tuple[str, Json]]:
        return [(key, json.loads(value)) for key, value in self._cells.get(self._name, {}).items()]

    def clear(self) -> None:
        self._cells.pop(self._name, None)


class KeptSet(KeptMap):
    """The keys of a map in the state of a group."""

    def add(self, value: str) -> None:
        self.put(value, None)

    def get(self) -> list[str]:  # type: ignore[override]
        return [key for key, _ in self.items()]


class KeptTimers:
    """Named timers in the state of a group. Times are ms since the epoch."""

    def __init__(self, times: dict[str, int]) -> None:
        self._times = times

    def set(self, name: str, time: int, tag: str = "") -> None:
        self._times[f"{name}/{tag}"] = time

    def clear(self, name: str, tag: str = "") -> None:
        self._times.pop(f"{name}/{tag}", None)


CELLS = {
    Cell.VALUE: KeptValue,
    Cell.BAG: KeptBag,
    Cell.MAP: KeptMap,
    Cell.SET: KeptSet,
    Cell.COMBINING: KeptSum,
}


def used(asked: Exportable) -> list[type]:
    """The classes that the state function of a program needs. Raises CannotExport for cells of a type."""
    if asked.program.types:
        raise CannotExport(
            f"witness {asked.witness}: its program needs cells of a type, which an export for {GROUPS} does not have"
        )
    in_place = exporting.in_place(asked, CALLS)
    return [] if in_place else [*(CELLS[kind] for kind in asked.program.cells.values()), KeptTimers]


def function(asked: Exportable, key: str, handed: str) -> str:
    """The source of the state function; ``key`` is the source of the key's name, ``handed`` that of a row's key."""
    cells = (f"{name}={CELLS[kind].__name__}(kept, {name!r})" for name, kind in asked.program.cells.items())
    state, timers = f"SimpleNamespace({', '.join(cells)})", "KeptTimers(times)"
    given = "kept, times" if exporting.in_place(asked, CALLS) else f"{state}, {timers}"
    return FUNCTION.format(key=key, handed=handed, given=given)

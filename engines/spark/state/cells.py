"""Neutral state cells and named timers on Spark's state variables (ValueState, ListState, MapState): the same in
Python's API, behind the bridge to the JVM's, and on the one state of a key of the older APIs. Imported where Spark's
Python workers run."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.model.program import Cell, EngineFault, check_timer
from conformance.model.values import Json

READS = frozenset({"get", "exists", "getValue", "containsKey", "iterator", "keys", "values"})
"""The methods of state variables that write nothing."""


class Guarded:
    """A state variable of Spark whose failures are told apart from the program's own exceptions. ``on_write`` is called
    after each write."""

    def __init__(self, variable: Any, on_write: Callable[[], None] = lambda: None) -> None:
        self._variable, self._on_write = variable, on_write

    def __call__(self, method: str, *arguments: Any) -> Any:
        try:
            result = getattr(self._variable, method)(*arguments)
        except Exception as error:
            raise EngineFault(f"{method}: {type(error).__name__}: {error}") from error
        if method not in READS:
            self._on_write()
        return list(result) if isinstance(result, Iterator) else result


class _Stored:
    """A state variable of Spark."""

    def __init__(self, state: Guarded) -> None:
        self._state = state

    def clear(self) -> None:
        self._state("clear")


class Value(_Stored):
    """ValueState of JSON text."""

    def get(self, default: Json = None) -> Json:
        stored = self._state("get")
        return default if stored is None else json.loads(stored[0])

    def set(self, value: Json) -> None:
        self._state("update", (json.dumps(value),))


class Combining(Value):
    """No such state in Spark: a sum kept in a ValueState."""

    def add(self, value: int) -> None:
        self.set(self.get() + value)

    def get(self, default: Json = None) -> Json:
        return super().get(0)


class Bag(_Stored):
    """ListState of JSON texts."""

    def add(self, value: Json) -> None:
        self._state("appendValue", (json.dumps(value),))

    def set(self, values: list[Json]) -> None:
        if values:
            self._state("put", [(json.dumps(value),) for value in values])
        else:  # put refuses an empty list (Spark 4.3.0)
            self.clear()

    def get(self) -> list[Json]:
        return [json.loads(stored[0]) for stored in self._state("get")]


class Map(_Stored):
    """MapState from text to JSON text."""

    def get(self, key: str, default: Json = None) -> Json:
        stored = self._state("getValue", (key,))
        return default if stored is None else json.loads(stored[0])

    def put(self, key: str, value: Json) -> None:
        self._state("updateValue", (key,), (json.dumps(value),))

    def remove(self, key: str) -> None:
        self._state("removeKey", (key,))

    def items(self) -> list[tuple[str, Json]]:
        return [(key[0], json.loads(value[0])) for key, value in self._state("iterator")]


class Set(Map):
    """No such state in Spark: the keys of a MapState."""

    def add(self, value: str) -> None:
        self.put(value, None)

    def get(self) -> list[str]:  # type: ignore[override]
        return [key for key, _ in self.items()]


CELLS: Mapping[Cell, type] = {
    Cell.VALUE: Value,
    Cell.BAG: Bag,
    Cell.MAP: Map,
    Cell.SET: Set,
    Cell.COMBINING: Combining,
}


class NamedTimers:
    """Names for timers, which transformWithState knows by their time alone (Spark 4.3.0).

    A MapState (name and tag -> time) says which timers are set. Two that share an instant share Spark's timer, which
    is deleted when the last of them goes. ``now`` is the processing time (ms) of the call at hand.
    """

    def __init__(self, handle: Guarded, times: Map, declared: tuple[str, ...]) -> None:
        self._handle, self._times, self._declared = handle, times, declared
        self.now = 0

    def set(self, name: str, time: int, tag: str = "") -> None:
        self.clear(name, tag)
        self._times.put(f"{name}/{tag}", time)
        self._handle("registerTimer", time)

    def set_after(self, name: str, ms: int, tag: str = "") -> None:
        self.set(name, self.now + ms, tag)

    def clear(self, name: str, tag: str = "") -> None:
        check_timer(self._declared, name)
        before = self._times.get(f"{name}/{tag}")
        if before is not None:
            self._times.remove(f"{name}/{tag}")
            if all(time != before for _, time in self._times.items()):
                self._handle("deleteTimer", before)

    def due(self, time: int) -> list[tuple[str, str]]:
        """(name, tag) of the timers set for ``time``."""
        found = [name.partition("/") for name, due in self._times.items() if due == time]
        return [(name, tag) for name, _, tag in found]

    def take(self, name: str, tag: str, time: int) -> bool:
        """Unset a timer that is about to fire; False where another's callback has cleared or moved it meanwhile."""
        if self._times.get(f"{name}/{tag}") != time:
            return False
        self._times.remove(f"{name}/{tag}")
        return True

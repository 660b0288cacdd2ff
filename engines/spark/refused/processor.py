"""Processors for ``refusals``. Imported where Spark's Python workers run, and in releases that have transformWithState
alone."""

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle


class SetsATimer(StatefulProcessor):
    """Puts its keys out, and sets a timer if ``times`` says so."""

    def __init__(self, times: bool) -> None:
        self._times = times

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        if self._times:
            self._handle.registerTimer(1_000_000)
        yield Row(key=key[0])

    def close(self) -> None: ...


class KeepsOne(StatefulProcessor):
    """Writes a value into a ValueState of a type, reads it, and puts out nothing. Its frames are pandas'."""

    def __init__(self, of: str, value: Callable[[], Any]) -> None:
        self._type, self._value = of, value

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("v", f"v {self._type}")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        self._state.update((self._value(),))
        self._state.get()
        yield from ()

    def close(self) -> None: ...


class KeepsValues(StatefulProcessor):
    """Writes nulls into value states of these names and schemas, and puts out nothing. Its frames are pandas'."""

    def __init__(self, variables: tuple[tuple[str, str], ...], ttl: int) -> None:
        self._variables, self._ttl = variables, ttl

    def init(self, handle: StatefulProcessorHandle) -> None:
        ttl = (self._ttl,) if self._ttl else ()
        self._states = [handle.getValueState(name, schema, *ttl) for name, schema in self._variables]

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        for state, (_, schema) in zip(self._states, self._variables, strict=True):
            state.get()
            state.update((None,) * len(schema.split(",")))
        yield from ()

    def close(self) -> None: ...

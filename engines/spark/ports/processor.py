"""The StatefulProcessor that holds a user's. Imported where Spark's Python workers run.

Each case has an instance of the user's processor in each task, as its keys would share one if it ran alone: what the
user's code keeps in an attribute from one key to the next is then seen, and no case sees what another one left there.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from conformance.engines.spark.operators.operator import Failure, In, Key, Out, task_attempt
from conformance.engines.spark.operators.row_processor import OUT, as_input
from conformance.engines.spark.ports.operator import PortOperator, Shape
from conformance.engines.spark.ports.side import SparkPort


class PortProcessor(StatefulProcessor):
    """For ``transformWithState``. Without a shape, rows are handed over as the port makes them."""

    def __init__(self, port: SparkPort, shape: Shape | None, failure: Failure | None) -> None:
        self._port, self._shape, self._failure = port, shape, failure

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._operator = PortOperator(self._port, self._shape, self._failure, task_attempt)
        self._handle, self._declared = handle, dict[str, Any]()
        self._users: dict[str, Any] = {}
        self._of("")  # Spark learns of the state in init

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        return (OUT(*out) for out in self._on_rows(key, [list(map(as_input, rows))], timerValues))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        return (OUT(*out) for out in self._on_timer(key, timerValues, expiredTimerInfo))

    def close(self) -> None:
        for user in self._users.values():
            user.close()

    def _on_rows(self, key: Key, parts: list[list[In]], timer_values: Any) -> Iterator[Out]:
        """``parts`` are the rows of a key as they came, in one part or in several."""
        found = [row for part in parts for row in part]
        if not self._operator.is_users(key):
            yield from self._operator.on_rows(key, found, None, None)
            return

        def call() -> Iterable[dict[str, Any]]:
            given = iter(self._given(key, parts))
            return self._out(self._of(key[1]).handleInputRows(self._port.key(key[2]), given, timer_values))

        yield from self._operator.emissions(key, found[-1].step if found else None, call)
        yield from self._operator.receipt(key, found)

    def _on_timer(self, key: Key, timer_values: Any, info: Any) -> Iterator[Out]:
        def call() -> Iterable[dict[str, Any]]:
            user, seen = self._of(key[1]), self._port.key(key[2])
            return self._out(user.handleExpiredTimer(key=seen, timerValues=timer_values, expiredTimerInfo=info))

        return self._operator.emissions(key, None, call)

    def _given(self, key: Key, parts: list[list[In]]) -> list[Any]:
        """What the user's code gets."""
        rows = [row for part in parts for row in self._operator.rows(key, part)]
        given = self._operator.table(rows).to_pylist() if self._shape else rows
        return [Row(*row)(*row.values()) for row in given]

    def _out(self, outputs: Iterable[Any]) -> Iterable[dict[str, Any]]:
        """Rows that the user's code put out, as Spark reads them."""
        rows: list[dict[str, Any]] = [row.asDict(True) for row in outputs]
        return pa.Table.from_pylist(rows, schema=self._shape.output).to_pylist() if self._shape else rows

    def _of(self, case: str) -> Any:
        """The user's processor of a case."""
        if case not in self._users:
            user = self._port.make()
            user.init(_Handle(self._handle, self._declared))
            self._users[case] = user
        return self._users[case]


class _Handle:
    """Spark's handle for one of several processors: a state variable that another one declared is there already, and
    two declarations of one processor both reach Spark."""

    def __init__(self, handle: StatefulProcessorHandle, declared: dict[str, Any]) -> None:
        self._handle, self._declared = handle, declared
        self._mine: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._handle, name)
        if name not in ("getValueState", "getListState", "getMapState"):
            return method

        def declare(*args: Any, **kwargs: Any) -> Any:
            how = repr((name, args, sorted(kwargs.items())))
            if how in self._mine or how not in self._declared:
                self._declared[how] = method(*args, **kwargs)
            self._mine.add(how)
            return self._declared[how]

        return declare

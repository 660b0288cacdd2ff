"""The StatefulProcessor of PySpark that runs neutral programs on rows. Imported where Spark's Python workers run, which is also
once per query on the driver: an import of pandas here would cost each query a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from conformance.model.program import Program
from engines.spark.operator import Failure, In, Out, millis, task_attempt
from engines.spark.tws_operator import TwsOperator
from engines.spark.typed_keys import NONE, Columns, taken

OUT = Row(*Out._fields)


class RowProcessor(StatefulProcessor):
    """For ``transformWithState``."""

    def __init__(
        self,
        programs: Mapping[str, Program],
        failure: Failure | None = None,
        attempt: Callable[[], tuple[int, int]] = task_attempt,
        typed: Columns = NONE,
    ) -> None:
        self._programs, self._failure, self._attempt, self._typed = programs, failure, attempt, typed

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._operator = TwsOperator(self._programs, self._failure, handle, self._attempt)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        self._operator.on_initial(taken(key, self._typed), as_input(initialState))

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        mine = taken(key, self._typed)
        return (OUT(*out) for out in self._operator.on_rows(mine, map(as_input, rows), now(timerValues)))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        mine, time = taken(key, self._typed), expiredTimerInfo.getExpiryTimeInMs()
        return (OUT(*out) for out in self._operator.on_timer(mine, time, now(timerValues)))


def now(times: Any) -> int:
    """The engine's processing time (ms). It is -1 in event time (Spark 4.3.0), where nothing uses it."""
    found: int = times.getCurrentProcessingTimeInMs()
    return found


def as_input(row: Any) -> In:
    return In(row.step, row.id, row.value, millis(row.event_time), row.partition)

"""The StatefulProcessors of PySpark that run neutral programs, on rows and on pandas frames. Imported where Spark's
Python workers run, which is also once per query on the driver: an import of pandas here would cost each query a
second."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from conformance.engines.spark.operators.frames import frames, inputs, plain
from conformance.engines.spark.operators.operator import MORE, Failure, In, Out, batch, millis, task_attempt
from conformance.engines.spark.operators.tws_operator import TwsOperator
from conformance.engines.spark.state.typed_keys import NONE, Columns, taken
from conformance.model.program import Program

OUT = Row(*Out._fields)
TIMED = Row(*Out._fields, "time", "batch")
WIDER = Row(*Out._fields, MORE)


class RowProcessor(StatefulProcessor):
    """For ``transformWithState``."""

    def __init__(
        self,
        programs: Mapping[str, Program],
        failure: Failure | None = None,
        typed: Columns = NONE,
        timed: bool = False,
        more: bool = False,
    ) -> None:
        self._programs, self._failure, self._typed = programs, failure, typed
        self._timed, self._more = timed, more

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._operator = TwsOperator(self._programs, self._failure, handle, task_attempt)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        self._operator.on_initial(taken(key, self._typed), as_input(initialState))

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        mine = taken(key, self._typed)
        return self._rows(self._operator.on_rows(mine, map(as_input, rows), now(timerValues)), timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        mine, time = taken(key, self._typed), expiredTimerInfo.getExpiryTimeInMs()
        return self._rows(self._operator.on_timer(mine, time, now(timerValues)), timerValues)

    def _rows(self, outputs: Iterator[Out], times: Any) -> Iterator[Any]:
        if not self._timed:
            return (WIDER(*out, None) if self._more else OUT(*out) for out in outputs)
        # Spark refuses a row that is not past the watermark (EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED, 4.3.0).
        at = datetime.fromtimestamp((max(times.getCurrentWatermarkInMs(), 0) + 1) / 1000, timezone.utc)
        return (TIMED(*out, at, batch()) for out in outputs)


def now(times: Any) -> int:
    """The engine's processing time (ms). It is -1 in event time (Spark 4.3.0), where nothing uses it."""
    return times.getCurrentProcessingTimeInMs()


def as_input(row: Any) -> In:
    return In(row.step, row.id, row.value, millis(row.event_time), row.partition)


class PandasProcessor(RowProcessor):
    """For ``transformWithStateInPandas``: a call is handed frames, and puts out one."""

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        for row in inputs([initialState]):
            self._operator.on_initial(plain(key, self._typed), row)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        return frames(self._operator.on_rows(plain(key, self._typed), inputs(rows), now(timerValues)), self._more)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        return frames(
            self._operator.on_timer(plain(key, self._typed), expiredTimerInfo.getExpiryTimeInMs(), now(timerValues)),
            self._more,
        )

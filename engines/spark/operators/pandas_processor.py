"""The StatefulProcessor of PySpark that runs neutral programs on pandas frames. Imported where Spark's Python workers
run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.engines.spark.operators.frames import frames, inputs, plain
from conformance.engines.spark.operators.row_processor import RowProcessor, now


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

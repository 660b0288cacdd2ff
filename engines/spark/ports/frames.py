"""Rows of a user's operator as pandas frames; a user's state function for ``applyInPandasWithState`` and a user's
processor for ``transformWithStateInPandas``, each within one that keeps cases apart. Imported where Spark's Python
workers run."""

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa

from conformance.engines.spark.operators.frames import frames, inputs, plain
from conformance.engines.spark.operators.operator import Failure, In, Key, Out, task_attempt
from conformance.engines.spark.ports.operator import PortOperator, Shape
from conformance.engines.spark.ports.processor import PortProcessor
from conformance.engines.spark.ports.side import SparkPort


def state_function(port: SparkPort, shape: Shape, failure: Failure | None) -> Any:
    """The function for Spark. Each task has a copy of it."""
    operator = PortOperator(port, shape, failure, task_attempt)

    def outputs(key: Any, given: Iterable[Any], group: Any) -> Iterator[Out]:
        found = list(inputs(given))
        if not operator.is_users(key):
            yield from operator.on_rows(key, found, None, None)
            return
        assert port.function
        function = port.function

        def call() -> Iterable[dict[str, Any]]:
            mine = iter([frame_of(operator.table(operator.rows(key, found)))] if found else [])
            return rows_of(function(port.key(key[2]), mine, group), shape)

        yield from operator.emissions(key, found[-1].step if found else None, call)
        yield from operator.receipt(key, found)

    def call(key: Any, given: Iterable[Any], group: Any) -> Iterator[Any]:
        yield from frames(outputs(plain(key), given, group))

    return call


class PandasPortProcessor(PortProcessor):
    """For ``transformWithStateInPandas``: a call is handed frames, and puts out frames."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        return frames(self._on_rows(plain(key), [list(inputs([frame])) for frame in rows], timerValues))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        return frames(self._on_timer(plain(key), timerValues, expiredTimerInfo))

    def _given(self, key: Key, parts: list[list[In]]) -> list[Any]:
        return [frame_of(self._operator.table(self._operator.rows(key, part))) for part in parts]

    def _out(self, outputs: Iterable[Any]) -> Iterable[dict[str, Any]]:
        assert self._shape
        return rows_of(outputs, self._shape)


def frame_of(table: pa.Table) -> Any:
    """Rows as Spark hands them over: times without a zone, in the session's, which is UTC."""
    frame = table.to_pandas(date_as_object=True)
    for name, kind in frame.dtypes.items():
        if isinstance(kind, pd.DatetimeTZDtype):
            frame[name] = frame[name].dt.tz_convert("UTC").dt.tz_localize(None)
    return frame


def rows_of(given: Iterable[Any], shape: Shape) -> Iterator[dict[str, Any]]:
    """The rows of frames that the user's code put out, as Spark reads them."""
    for frame in given:
        yield from pa.Table.from_pandas(frame, schema=shape.output, preserve_index=False).to_pylist()

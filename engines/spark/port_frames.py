"""A user's state function for ``applyInPandasWithState``, within one that keeps cases apart. Imported where Spark's Python
workers run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa

from engines.spark.frames import frames, inputs, plain
from engines.spark.operator import Failure, Out, task_attempt
from engines.spark.port_operator import PortOperator, Shape
from engines.spark.port_side import SparkPort


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
            mine = iter([_frame(operator.given(key, found))] if found else [])
            for frame in function(port.key(key[2]), mine, group):
                table = pa.Table.from_pandas(frame, schema=shape.output, preserve_index=False)
                yield from table.to_pylist()

        yield from operator.emissions(key, found[-1].step if found else None, call)
        yield from operator.receipt(key, found)

    def call(key: Any, given: Iterable[Any], group: Any) -> Iterator[Any]:
        yield from frames(outputs(plain(key), given, group))

    return call


def _frame(table: pa.Table) -> Any:
    """As Spark hands it over: times without a zone, in the session's, which is UTC."""
    frame = table.to_pandas(date_as_object=True)
    for name, kind in frame.dtypes.items():
        if isinstance(kind, pd.DatetimeTZDtype):
            frame[name] = frame[name].dt.tz_convert("UTC").dt.tz_localize(None)
    return frame

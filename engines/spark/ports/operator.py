"""What a user's operator gets and what becomes of its output, whichever the API. Imported where Spark's Python workers
run.

Rows go to it and come from it through Arrow with the schemas of the port, as Spark 4.3.0 hands them over itself: a
value that does not fit the output schema fails here as it does there.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from conformance.engines.failing import SENTINEL
from conformance.engines.spark.operators.operator import HEARTBEAT, NO_EMISSION, Failure, In, Key, Operator, Out, nonce
from conformance.engines.spark.ports.side import SparkPort
from conformance.model.schedule import Event


@dataclass(frozen=True)
class Shape:
    """The schemas of a port's rows, as Arrow's."""

    input: pa.Schema
    output: pa.Schema


class PortOperator(Operator):
    """Calls a user's operator. An exception of its code ends its case; one of Spark's state calls cannot be told from
    it."""

    def __init__(
        self, port: SparkPort, shape: Shape | None, failure: Failure | None, attempt: Callable[[], tuple[int, int]]
    ) -> None:
        super().__init__({}, failure, attempt)
        self.port, self.shape = port, shape

    def is_users(self, key: Key) -> bool:
        """Not a heartbeat's key, nor a sentinel's."""
        return key[0] not in (HEARTBEAT, SENTINEL)

    def rows(self, key: Key, rows: Iterable[In]) -> list[dict[str, Any]]:
        """Rows as the port makes them."""
        events = (Event(row.id, key[2], json.loads(row.value), row.time) for row in rows)
        return [self.port.row(event) for event in events]

    def table(self, rows: list[dict[str, Any]]) -> pa.Table:
        """Rows of the port's input schema, as the operator is to get them."""
        assert self.shape
        return pa.Table.from_pylist(rows, schema=self.shape.input)

    def emissions(self, key: Key, step: int | None, call: Callable[[], Iterable[dict[str, Any]]]) -> Iterator[Out]:
        """What a call of the user's code puts out: ``call`` gives the rows. The case has then been touched."""
        program, case, user_key, _ = key
        self._touched.add(case)
        try:
            for row in call():
                value = self.port.emission(row)
                if value is not None:
                    yield Out(json.dumps(value), program, case, user_key, step, nonce=nonce())
        except Exception as error:
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            yield Out("null", program, case, user_key, step, error=said, nonce=nonce())

    def receipt(self, key: Key, rows: list[In]) -> Iterator[Out]:
        """That these rows of one micro-batch were received."""
        program, case, user_key, _ = key
        if rows:
            partitions = json.dumps(sorted({row.partition for row in rows}))
            none = NO_EMISSION, program, case, user_key
            yield Out(*none, rows[-1].step, received=len(rows), partitions=partitions, nonce=nonce())

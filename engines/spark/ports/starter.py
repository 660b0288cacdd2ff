"""starter: a StatefulProcessor in the place of the program of per-key counting. Put your own there, and the scenario
that asks for its job.

    conformance run --load FILE --quick

``conformance list scenarios`` has the scenarios; a scenario of your own (``conformance new scenario``) may stand here,
too.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

from conformance.plugins.port import Port, SparkPort


class CountProcessor(StatefulProcessor):
    def init(self, handle: Any) -> None:
        self.count = handle.getValueState("count", "n long")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        count = self.count.get()[0] if self.count.exists() else 0
        for _ in rows:
            count += 1
            yield Row(user=key[0], count=count)
        self.count.update((count,))

    def close(self) -> None:
        pass


PORT = Port(
    name="starter",
    scenario="per-key-counting",
    spark=SparkPort(
        processor=CountProcessor,
        input="user string, value string",  # the columns of an input row: the key first
        row=lambda event: {"user": event.key, "value": event.id},  # an event of the scenario -> an input row
        output="user string, count long",
        emission=lambda row: {"count": row["count"]},  # an output row -> what the scenario's predicates look at
    ),
)

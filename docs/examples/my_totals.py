"""What a shop has taken, kept by transformWithState; in the next version the state variable has another name."""

from collections.abc import Iterator

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor

from conformance import subject

ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
    "RocksDBStateStoreProvider"
}


class Totals(StatefulProcessor):
    variable = "total"

    def init(self, handle):
        self.total = handle.getValueState(self.variable, "cents long")

    def handleInputRows(self, key, rows, timerValues) -> Iterator[Row]:
        before = self.total.get()[0] if self.total.exists() else 0
        cents = before + sum(row.cents for row in rows)
        self.total.update((cents,))
        yield Row(shop=key[0], cents=cents)


class RenamedTotals(Totals):
    variable = "taken"


def by_shop(sales: DataFrame, processor: StatefulProcessor) -> DataFrame:
    grouped = sales.groupBy("shop")
    return grouped.transformWithState(processor, "shop string, cents long", "Update", "None")


asked = subject(
    schema="shop string, cents long NOT NULL",
    key="shop",
    output_mode="update",
    output_key=["shop"],
    settings=ROCKSDB,
)


@asked
def totals(sales: DataFrame) -> DataFrame:
    """What each shop has taken so far."""
    return by_shop(sales, Totals())


@asked
def totals_renamed(sales: DataFrame) -> DataFrame:
    """The same, with the total under another name."""
    return by_shop(sales, RenamedTotals())

"""What a next version has around the operator that the version before it had otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.engines.spark.operators.operator import KEY, MORE, OUTPUT, WIDER
from conformance.model.types import String, Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SPARE: Mapping[str, Type] = {"spare": String()}
"""The columns of the source of a program with next versions that no version uses: they are null."""

NUMBER = "CASE WHEN program = '' THEN 0 ELSE CAST(key AS BIGINT) END"
"""A key as a whole number. Heartbeats have no key."""


@dataclass(frozen=True)
class Surroundings:
    """What is around the operator of a program with next versions.

    Attributes:
        source: columns of the source that no version uses.
        key: the name of the column with the key.
        as_key: the key, in SQL.
        output: the schema of the output rows.
    """

    source: Mapping[str, Type] = field(default_factory=lambda: SPARE)
    key: str = KEY
    as_key: str = ""
    output: str = OUTPUT

    def keyed(self, stream: DataFrame) -> DataFrame:
        """The rows of the stream with their key in its column."""
        from pyspark.sql.functions import expr

        made = stream.withColumn(KEY, expr(self.as_key)) if self.as_key else stream
        return made if self.key == KEY else made.withColumnRenamed(KEY, self.key)


ANOTHER = {
    "key made a number": Surroundings(as_key=NUMBER),
    "key renamed": Surroundings(key="name"),
    "output narrowed": Surroundings(output=OUTPUT.replace("received long", "received int")),
    "output column added": Surroundings(output=WIDER),
    "source column added": Surroundings(source={**SPARE, MORE: String()}),
    "source column removed": Surroundings(source={}),
}
"""By the change."""

FIRST = Surroundings()

"""Where the rows of a micro-batch lie: in one file of one source, in several files, or in several sources.

The rows of a key stay together and in order, so that a program is handed them as it is from one file. Where a source
has no file for a micro-batch, the source is empty in it. ``availableNow`` would give the source its next file, so such
layouts feed the query: the files of a micro-batch are written at the end of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from conformance.engines.spark.driving import micro_batches
from conformance.engines.spark.driving.micro_batches import MicroBatch, Row
from conformance.engines.spark.operators.operator import HEARTBEAT
from conformance.engines.spark.runtime import functions as f
from conformance.engines.spark.state.typed_keys import NONE, Columns, schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def part_of(row: Row, parts: int) -> int:
    """The part that the rows of a key are in. Heartbeats are in the first."""
    program, case, key = row[:3]
    return 0 if program == HEARTBEAT else crc32(f"{case}/{key}".encode()) % parts


@dataclass(frozen=True)
class Layout:
    """All rows of a micro-batch in one file.

    Attributes:
        files: the number of files of a micro-batch.
        group: the number of rows in a row group; 0 for all of a file.
        sources: the number of sources.
        fed: the query is fed micro-batch by micro-batch.
        settles_without_data: a micro-batch that only lets an advance act has no rows: it is the engine's own empty one.
        later: the second source has no files before the first restart.
        idle: the second source never has files.
        steady: heartbeats are in the first source alone, which so is never empty.
    """

    files: int = 1
    group: int = 0
    sources: int = 1
    fed: bool = False
    settles_without_data: bool = False
    later: bool = False
    idle: bool = False
    steady: bool = False

    @property
    def plain(self) -> bool:
        return self == PLAIN

    def with_group(self, group: int) -> Layout:
        """The layout with so many rows in a row group."""
        return replace(self, group=group)

    def without_data(self, batches: Sequence[MicroBatch], number: int) -> bool:
        """Whether a micro-batch is the engine's own empty one: the one after the micro-batch that moves the
        watermark."""
        if not self.settles_without_data or not number or batches[number].bundle:
            return False
        before = batches[number - 1]
        moved = number < 2 or before.moves_to > batches[number - 2].moves_to
        return moved and before.query == batches[number].query

    def write(self, folder: Path, number: int, batch: MicroBatch, rows: list[Row], typed: Columns = NONE) -> None:
        """The files of one micro-batch. ``typed`` are the columns of typed keys."""
        if self.sources == 1:
            for part in range(self.files):
                mine = [row for row in rows if part_of(row, self.files) == part]
                micro_batches.write_file(folder / "input", number * self.files + part, mine, typed, self.group)
            return
        # A micro-batch that ends a query is begun in it: with a second source it would be read before its turn.
        second = not self.idle and (not self.later or batch.begun > 0)
        mine = [row for row in rows if second and part_of(row, 2)]
        first = [row for row in rows if row not in mine]
        if self.fed and not self.steady and len(first) == 1 and (mine or number % 2):
            # The heartbeat alone is left: it takes turns, so that the first source is empty, too.
            first, mine = [], rows
        if first or not (self.fed and mine):  # a micro-batch without any row is an empty file, too
            micro_batches.write_file(folder / "input", number, first, typed, self.group)
        if mine or (second and not self.fed):
            micro_batches.write_file(folder / "input-2", number, mine, typed, self.group)

    def read(
        self,
        spark: SparkSession,
        folder: Path,
        in_one_partition: bool = True,
        typed: Columns = NONE,
    ) -> DataFrame:
        """The stream of rows, without a watermark, with these columns of typed keys. The column ``partition`` is the
        input partition that a row was read in, so that rows of a step in several partitions are seen; it is 0 where the
        rows of different keys may be in different ones."""
        first, *rest = self._streams(spark, folder, in_one_partition, typed)
        return first.union(rest[0]) if rest else first

    def read_tagged(
        self, spark: SparkSession, folder: Path, delay: str, early: Callable[[DataFrame], DataFrame]
    ) -> DataFrame:
        """The stream of rows with a column ``tag``, which tells the two sources apart. ``early`` is done to each
        source. The first one alone has a watermark, and the tags come behind it: the optimizer takes no literal past a
        watermark, and leaves no source out that has one (Spark 3.5.0)."""
        one, two = map(early, self._streams(spark, folder, False, NONE))
        one = one.withWatermark("event_time", delay)
        return one.withColumn("tag", self._tag(0)).union(two.withColumn("tag", self._tag(1)))

    def _streams(self, spark: SparkSession, folder: Path, in_one_partition: bool, typed: Columns) -> list[DataFrame]:
        """A stream for each source."""
        streams = []
        for number in range(self.sources):
            path = folder / ("input-2" if number else "input")
            path.mkdir(exist_ok=True)
            ddl = micro_batches.DDL + schema(typed)
            stream = spark.readStream.schema(ddl).option("maxFilesPerTrigger", self.files).parquet(str(path))
            partition = f.spark_partition_id() if self.plain and in_one_partition else f.lit(0)
            streams.append(stream.withColumn("partition", partition))
        return streams

    def _tag(self, number: int) -> Column:
        """The tag of a source's rows: a literal. If the second source comes later, the first one also has rows of keys
        that are then in the second: its tag is computed, and cannot be null, that of the second can."""
        literal = f.lit(f"source {number}")
        if not self.later:
            return literal
        return f.when(f.length("key") >= 0, literal) if number else f.coalesce(f.expr(TAG_OF_A_KEY), f.lit(""))


TAG_OF_A_KEY = "concat('source ', pmod(crc32(encode(concat(`case`, '/', `key`), 'UTF-8')), 2))"
"""The tag of a row's source, in SQL: what ``part_of`` says of two parts."""

PLAIN = Layout()

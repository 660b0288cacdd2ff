"""Driving a schedule exactly: one micro-batch per file, and the watermark moved by a heartbeat row alone.

With a watermark delay of DELAY, a heartbeat at W + DELAY moves the watermark to exactly W, and no event of the cases
lies far enough ahead to move it. Measured on Spark 4.3.0: timers of a micro-batch see the watermark that the batch
before it set, its late filter sees the watermark that was in force in the batch before. So a bundle may share its
micro-batch with the heartbeat of the next advance, and after every advance a micro-batch with nothing but a heartbeat
lets both act. A coalesced advance is one without that micro-batch. A step without data is an empty file: a micro-batch
that reads no row.

A bundle's first attempt is made to fail by sentinel rows: their keys sort after all others, so that a partition has
handled every other key when a sentinel raises.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.engines.failing import SENTINEL
from conformance.engines.spark.operators.operator import HEARTBEAT
from conformance.engines.spark.state.typed_keys import NONE, Columns, arrow, filler
from conformance.model.case import Case, program_ref
from conformance.model.schedule import (
    Advance,
    Crash,
    Deliver,
    Event,
    FailOnce,
    NoData,
    Restart,
    SinkFails,
    Step,
    Wait,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DELAY = 86_400_000
"""The declared watermark delay (ms); far more than any event lies ahead of its watermark. An operator that reads the
delay itself has another one, and is not given events further ahead."""

COLUMNS = pa.schema(
    [
        ("program", pa.string()),
        ("case", pa.string()),
        ("key", pa.string()),
        ("window", pa.int64()),
        ("step", pa.int64()),
        ("id", pa.string()),
        ("value", pa.string()),
        ("event_time", pa.timestamp("us", tz="UTC")),
    ]
)
DDL = "program string, case string, key string, window long, step long, id string, value string, event_time timestamp"

Row = tuple[Any, ...]
"""The values of COLUMNS, the event time in ms; in the row of an event with a typed key also those of the columns of
typed keys."""


SENTINELS = 16
"""How many rows make an attempt fail, so that every partition gets some."""


@dataclass(frozen=True)
class MicroBatch:
    """One planned micro-batch.

    Attributes:
        step: what its timers' output belongs to.
        bundle: its rows are those of the bundle ``step``; else there are none but the heartbeat.
        moves_to: where the heartbeat moves the watermark (ms).
        settled: the watermark (ms) that its late filter goes by.
        query: how many queries ended before the one that it succeeds in.
        fails: how its first attempt fails in the operator, if it does.
        sink_fails: whether the sink fails once it has the output of its first attempt.
        crashes: where queries are killed in it, one after the other.
        wait: how long (ms) to wait before the next one.
        without_rows: it has no row at all, not even the heartbeat.
    """

    step: int
    bundle: bool
    moves_to: int
    settled: int = 0
    query: int = 0
    fails: FailOnce | None = None
    sink_fails: bool = False
    crashes: tuple[Crash, ...] = ()
    wait: int = 0
    without_rows: bool = False

    @property
    def begun(self) -> int:
        """How many queries ended before the one of its first attempt."""
        failed = self.sink_fails or (self.fails is not None and self.fails.resume)
        return self.query - failed - sum(crash.again for crash in self.crashes)

    def killed(self, query: int) -> Crash | None:
        """Where this query is killed in it."""
        attempt = query - self.begun
        return self.crashes[attempt] if 0 <= attempt < len(self.crashes) else None


def plan(timeline: Sequence[Step], settling: int = 1) -> list[MicroBatch]:
    """The micro-batches of a timeline; ``settling`` of them follow each advance that is not coalesced, and each wait.
    One follows an advance before which there was no element, since no timer can be set. Those between an
    advance and a step without data have no rows either: the watermark has moved, and Spark fires timers in a
    micro-batch of nothing."""
    batches: list[MicroBatch] = []
    watermark = settled = query = 0
    fails, sink_fails, begun = None, False, False
    crashes: tuple[Crash, ...] = ()
    for step, after in itertools.zip_longest(timeline, timeline[1:]):
        begun = begun or isinstance(step, Deliver)
        if isinstance(step, Restart):
            query += 1
        elif isinstance(step, FailOnce):
            query += step.resume
            fails = step
        elif isinstance(step, SinkFails):
            query += 1
            sink_fails = True
        elif isinstance(step, Crash):
            query += step.again
            crashes += (step,)
        elif isinstance(step, Deliver) and not step.initial:
            batches.append(MicroBatch(step.id, True, watermark, settled, query, fails, sink_fails, crashes))
            query += any(not crash.again for crash in crashes)
            settled, fails, sink_fails, crashes = watermark, None, False, ()
        elif isinstance(step, NoData):
            batches.append(MicroBatch(step.id, False, watermark, settled, query, without_rows=True))
            settled = watermark
        elif isinstance(step, Wait):
            batches[-1] = replace(batches[-1], wait=step.ms)
            batches += [MicroBatch(step.id, False, watermark, settled, query)] * settling
        elif isinstance(step, Advance):
            watermark = step.watermark
            if batches and batches[-1].bundle and batches[-1].query == query:
                batches[-1] = replace(batches[-1], moves_to=watermark)
            else:
                batches.append(MicroBatch(step.id, False, watermark, settled, query))
            if not step.coalesced:
                settled = watermark
                quiet = isinstance(after, NoData)
                batches += [MicroBatch(step.id, False, watermark, settled, query, without_rows=quiet)] * (
                    settling if begun else min(settling, 1)
                )
    return batches


def crash_in(batches: Sequence[MicroBatch], query: int) -> tuple[int, Crash | None]:
    """The micro-batch (its number) that a query is killed in, and where; (-1, None) where it is not."""
    found = ((number, crash) for number, batch in enumerate(batches) if (crash := batch.killed(query)))
    return next(found, (-1, None))


def flush(batches: Sequence[MicroBatch]) -> list[MicroBatch]:
    """Micro-batches behind the last one that move the watermark by two milliseconds: what an operator put out with the
    millisecond after the last watermark comes out of an aggregation behind it. What else fires then stays in the
    aggregation."""
    last = batches[-1]
    moved = replace(
        last,
        bundle=False,
        moves_to=last.moves_to + 2,
        fails=None,
        sink_fails=False,
        crashes=(),
        wait=0,
        without_rows=False,
    )
    return [moved, moved]


def heartbeat(watermark: int, delay: int = DELAY) -> Row:
    """The row that moves the watermark to ``watermark`` (ms)."""
    return HEARTBEAT, "", "", 0, 0, "", "null", watermark + delay


def event_row(case: Case, event: Event, step: int, window: int, key: str | None = None) -> Row:
    """The row of an event. ``key`` takes the place of the key's name."""
    program = program_ref(case.scenario, case.program)
    name = event.key if key is None else key
    return program, case.id, name, window, step, event.id, json.dumps(event.value), event.event_time


def sentinels(batch: MicroBatch, delay: int = DELAY) -> list[Row]:
    """The rows that make the first attempt of a micro-batch fail."""
    at = batch.moves_to + delay
    return [(SENTINEL, "", str(n), 0, batch.step, "", "null", at) for n in range(SENTINELS if batch.fails else 0)]


def rows_of(batch: MicroBatch, events: list[Row], delay: int = DELAY) -> list[Row]:
    """The rows of one micro-batch."""
    beat = [] if batch.without_rows else [heartbeat(batch.moves_to, delay)]
    return [*events, *sentinels(batch, delay), *beat]


def write_file(folder: Path, number: int, rows: list[Row], typed: Columns = NONE, group: int = 0) -> None:
    """A Parquet file; a source reads its files in order of modification time. A file as small as these stays in one
    input partition and in order."""
    path = folder / f"{number:05d}.parquet"
    hidden = path.with_name(f".{path.name}")
    write_rows(hidden, rows, typed, group)
    os.utime(hidden, (1_600_000_000 + number,) * 2)
    hidden.rename(path)  # a running query must not see half a file


def write_rows(path: Path, rows: list[Row], typed: Columns = NONE, group: int = 0) -> None:
    """A Parquet file of row groups of ``group`` rows, by default of one, or of none where there are no rows. Rows
    without typed keys have fillers in their columns."""
    path.parent.mkdir(exist_ok=True)
    schema = COLUMNS
    for name, kind in typed.items():
        schema = schema.append(pa.field(name, arrow(kind)))
    fillers = tuple(map(filler, typed.values()))
    rows = [row if len(row) == len(schema) else row + fillers for row in rows]
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(schema)
    time = COLUMNS.get_field_index("event_time")
    columns[time] = tuple(ms * 1000 for ms in columns[time])
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path, row_group_size=group or len(rows) or 1)


def read_initial(spark: SparkSession, path: Path) -> DataFrame:
    """Initial state that ``write_rows`` wrote, as rows like those of the stream."""
    from pyspark.sql.functions import lit

    return spark.read.schema(DDL).parquet(str(path)).withColumn("partition", lit(0))

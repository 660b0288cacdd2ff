"""The plan in which an operator answers as a batch query: for each micro-batch, one over all rows up to it.

A streaming query says that its output is that of the batch query on the rows so far. In complete mode it puts out all
of that, in the other modes what is new in it. An aggregation in append mode puts out what has ended, so the query of
this plan leaves out what has not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from conformance.engines.native import windows_of
from conformance.engines.spark.driving import micro_batches
from conformance.engines.spark.driving.traces import told, traces_of
from conformance.engines.spark.jobs.job import QueryFailed, event_rows
from conformance.engines.spark.operators.operator import OperatorInput
from conformance.engines.spark.runtime import session
from conformance.engines.spark.state import typed_keys
from conformance.model.program import Program
from conformance.model.runs import PackRun

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from conformance.engines.spark.jobs.job import Job

Rows = list[Mapping[str, Any]]
"""Output rows."""

OWN = ("nonce", "partitions", "received")
"""Columns of an output row that say nothing of what came out."""


def end_of_session(program: Program) -> str:
    """The end (ms) of an output row's session, in SQL."""
    return "CAST(get_json_object(value, '$.end') AS LONG)"


def end_of_window(program: Program) -> str:
    """The end (ms) of an output row's window, in SQL."""
    size = program.parameters.get("size") or windows_of(program).size
    return f"CAST(get_json_object(value, '$.window') AS LONG) + {size}"


def run(job: Job, ends: str) -> PackRun:
    """The run of a job's pack as batch queries, in the job's session and folder. If ``ends`` (ms, in SQL) is given, a
    row comes out when the watermark has reached it. Nothing in a batch query is late.

    Raises:
        QueryFailed: Spark refused a query, or it failed.
    """
    try:
        answers = list(_answers(job, ends))
    except Exception as error:
        raise QueryFailed(session.cause(error)) from error
    rows = dict(enumerate(answers if job.mode == "complete" else new(answers)))
    unreported = [{"batchId": number, "stateOperators": []} for number in rows]
    traces, counts = traces_of(job.pack, job.batches, told(rows, job.batches, job.mode), unreported, ())
    return PackRun(traces, counts)


def new(answers: Iterable[Rows]) -> Iterator[Rows]:
    """What is new in each answer, as against the one before. Of the rows that a program received, those that are new
    are told in one of its new rows."""
    before: Counter[tuple[Any, ...]] = Counter()
    counted: Counter[str] = Counter()
    for rows in answers:
        told = [tuple(value for name, value in row.items() if name not in OWN) for row in rows]
        left, found = before.copy(), []
        received = Counter[str]()
        for row in rows:
            received[row.get("program", "")] += row.get("received") or 0
        more = {program: number - counted[program] for program, number in received.items()}
        for row, mine in zip(rows, told, strict=True):
            left[mine] -= 1
            if left[mine] < 0:
                found.append(
                    row if row.get("received") is None else {**row, "received": more.pop(row["program"], None)}
                )
        yield found
        before, counted = Counter(told), received


def _answers(job: Job, ends: str) -> Iterator[Rows]:
    """What the batch query on all rows up to each micro-batch gives."""
    given: list[micro_batches.Row] = []
    watermark = 0
    found: Rows = []
    for number, batch in enumerate(job.batches):
        events = event_rows(job.pack, batch.step, job.programs, job.typed) if batch.bundle else []
        given += micro_batches.rows_of(batch, events, job.delay)
        if events or ends:  # with no row that is new, the query says again what it said
            output = _output(job, number, given)
            rows = (output.where(f"{ends} <= {watermark}") if ends else output).collect()
            found = [typed_keys.named(row.asDict(), job.typed, job.programs) for row in rows]
        yield found
        watermark = batch.moves_to


def _output(job: Job, number: int, rows: list[micro_batches.Row]) -> DataFrame:
    """The batch query on these rows."""
    from pyspark.sql.functions import lit

    path = job.folder / "so-far" / f"{number:05d}.parquet"
    micro_batches.write_rows(path, rows, job.typed)
    read = job.spark.read.schema(micro_batches.DDL + typed_keys.schema(job.typed)).parquet(str(path))
    return job.apply(OperatorInput(read.withColumn("partition", lit(0)), job.programs, None, None, job.typed))

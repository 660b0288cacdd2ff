"""A job that goes on in another API: it begins, in a checkpoint of its own, with what the state data source finds in
that of the job before, and reads the rows that come behind the restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.engines.spark.checkpoint import copies
from conformance.engines.spark.driving import micro_batches
from conformance.engines.spark.plans.settings import ROCKSDB
from conformance.engines.spark.refused.ended import ended_by
from conformance.engines.spark.runtime import session
from conformance.model.schedule import Event
from conformance.model.values import Json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from conformance.engines.spark.jobs.job import Apply, Job


def go_on(job: Job, apply: Apply, checkpoint: Path) -> tuple[copies.Rows, Json]:
    """What comes out of a job with the operator ``apply``, as ``Job.go_on`` tells. ``checkpoint`` is that of the job
    before."""
    job.folder, job.apply, job.mode = checkpoint.with_name(f"{checkpoint.name}-moved"), apply, "append"
    job.folder.mkdir()
    try:
        job.begins_with = _found(job, checkpoint)
    except Exception as error:
        if session.gone():
            raise
        return {}, ended_by(error)
    first = job.behind.start
    job.write_later()
    with session.changed(job.spark, ROCKSDB):
        rows, ended = job.go_on(job.folder / "checkpoint")
    return {first + number: out for number, out in rows.items()}, ended


def _found(job: Job, checkpoint: Path) -> DataFrame:
    """A row of initial state for each key of a program: the columns of its state, as a user selects them. The JVM's
    engines group by the JSON text of what the others group by."""
    cases = {case.id: case for case in job.pack.cases}
    stored = job.spark.read.format("statestore").load(str(checkpoint)).select("key", "value").collect()
    rows = []
    for key, value in stored:
        group = key.asDict() if len(key) > 1 else json.loads(key[0])
        if group["program"] in job.programs:
            event = Event("", group["key"], value["groupState"].asDict(recursive=True), 0)
            rows.append(micro_batches.event_row(cases[group["case"]], event, 0, group["window"]))
    path = job.folder / "initial.parquet"
    micro_batches.write_rows(path, rows)
    return micro_batches.read_initial(job.spark, path)

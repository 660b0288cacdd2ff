"""What a reader outside the job finds in the checkpoint of a query that has ended, and what the query itself said of
it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from conformance.engines.spark.driving.micro_batches import MicroBatch
from conformance.model.case import program_ref
from conformance.model.program import READ_FROM_OUTSIDE, Program
from conformance.model.runs import Pack
from conformance.model.trace import Emission
from conformance.model.values import Json

LATEST = -1
"""In the place of a micro-batch: the last one."""


class StoredRow(NamedTuple):
    """A row of a state store: its case, its key, and (cell, what is stored there) of each cell that it holds. The rows
    of heartbeats have a case of their own."""

    case: str
    key: str
    cells: tuple[tuple[str, Json], ...]


Read = Callable[[int], Iterable[StoredRow]]
"""All rows that the stores of a query hold after a micro-batch."""


def emissions(
    pack: Pack,
    programs: Mapping[str, Program],
    batches: Sequence[MicroBatch],
    progress: Iterable[Mapping[str, Any]],
    read: Read,
) -> Iterator[tuple[str, Emission]]:
    """(case, emission) of what the programs of a pack ask of its stores. Rows of one key come out in the order in which
    they are read."""
    inspected, counted = (
        {case.id for case in pack.cases if programs[program_ref(case.scenario, case.program)].job is job}
        for job in READ_FROM_OUTSIDE
    )
    if not inspected and not counted:
        return
    end = pack.timeline[-1].id
    rows = list(read(LATEST))
    for row in sorted((row for row in rows if row.case in inspected), key=lambda row: (row.case, row.key)):
        for cell, held in row.cells:
            yield row.case, Emission(row.key, {"cell": cell, "stored": held}, end)
    if counted:
        reported = {p["batchId"]: sum(o["numRowsTotal"] for o in p["stateOperators"]) for p in progress}
        last = max(number for number, batch in enumerate(batches) if batch.bundle)
        then, now = reported[last] - sum(1 for _ in read(last)), reported[max(reported)] - len(rows)
        for case in sorted(counted):
            for step, beyond in ((batches[last].step, then), (end, now)):
                yield case, Emission("", {"surplus": beyond}, step)

"""Cases and traces as Arrow tables, in files and on the way to other processes.

Schedules and emissions are JSON text. All other values are typed fields. A case and its twins are one family. Checks
look at a family together.
"""

import json
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import json as pa_json

from conformance.judgement.batches import Checked
from conformance.judgement.evidence import Runs
from conformance.model.case import Case
from conformance.model.runs import Pack, PackRun, ProgramCount, StepCount
from conformance.model.schedule import Schedule
from conformance.model.trace import Trace
from conformance.model.values import canonical
from conformance.support.writing import naming

TEXT, WHOLE = pa.string(), pa.int64()

CASES = pa.schema(
    [(name, TEXT) for name in ("id", "family", "scenario", "program", "schedule", "perturbation", "base")]
)

TRACES = pa.schema(
    [
        ("case", TEXT),
        ("family", TEXT),
        ("pack", WHOLE),
        ("emissions", TEXT),
        ("untouched", pa.bool_()),
        ("lost", TEXT),
        ("fault", TEXT),
    ]
)
"""An engine's trace of each case that it got. ``emissions`` is null if it gave no answer; then ``lost`` or ``fault``
says why. The metadata of the schema have the row counts of packs, and remarks (``COUNTS``, ``NOTES``)."""

COUNTS, NOTES = b"conformance.counts", b"conformance.notes"

PART = pa.schema([("found", pa.binary())])
"""A part of a check, pickled."""


def family(case: Case) -> str:
    return case.base or case.id


def case_table(cases: Iterable[Case]) -> pa.Table:
    rows = [
        (c.id, family(c), c.scenario, c.program, canonical(c.schedule.to_json()), c.perturbation, c.base) for c in cases
    ]
    return _table(rows, CASES)


def cases_of(table: pa.Table) -> list[Case]:
    """The cases of a table.

    Raises:
        InvalidSchedule: a schedule breaks a rule of the model.
    """
    names = ("scenario", "program", "schedule", "perturbation", "base")
    columns = (table.column(name).to_pylist() for name in names)
    return [Case(s, p, Schedule.from_json(json.loads(text)), *twin) for s, p, text, *twin in zip(*columns, strict=True)]


def run_table(cases: Iterable[Case], runs: Runs) -> pa.Table:
    """The table of an engine's traces of these cases."""
    packs = {case.id: number for number, (pack, _) in enumerate(runs.packs) for case in pack.cases}
    rows = []
    for case in cases:
        trace = runs.traces.get(case.id)
        emissions = None if trace is None else trace.text
        lost, fault = runs.lost.get(case.id), runs.faults.get(case.id)
        touched = case.id not in runs.untouched
        rows.append((case.id, family(case), packs.get(case.id), emissions, not touched, lost, fault))
    counts = [[list(astuple(count)) for count in run.counts] for _, run in runs.packs]
    metadata = {COUNTS: json.dumps(counts), NOTES: json.dumps(dict(sorted(runs.notes.items())))}
    return _table(rows, TRACES.with_metadata(metadata))


def runs_of(table: pa.Table, cases: Mapping[str, Case]) -> Runs:
    """The runs in a table, or in some of its rows. ``cases`` is id -> case."""
    runs = Runs()
    packs: dict[int, list[Case]] = {}
    for row in zip(*(table.column(name).to_pylist() for name in TRACES.names), strict=True):
        case, _, pack, emissions, untouched, lost, fault = row
        if emissions is not None:
            runs.traces[case] = Trace.of_text(emissions)
        if pack is not None:
            packs.setdefault(pack, []).append(cases[case])
        if untouched:
            runs.untouched.add(case)
        if lost is not None:
            runs.lost[case] = lost
        if fault is not None:
            runs.faults[case] = fault
    metadata = table.schema.metadata
    counts = json.loads(metadata[COUNTS])
    for pack, members in sorted(packs.items()):
        run = PackRun({}, tuple(map(_count, counts[pack])))
        runs.packs.append((Pack(tuple(members)), run))
    runs.notes = json.loads(metadata[NOTES])
    return runs


def _count(stored: list[Any]) -> StepCount:
    step, delivered, received, late, parts = stored
    return StepCount(step, delivered, received, late, tuple(ProgramCount(*part) for part in parts))


def pack_run_table(pack: Pack, run: PackRun) -> pa.Table:
    """The table of the run of one pack."""
    runs = Runs()
    runs.add(pack, run)
    return run_table(pack.cases, runs)


def pack_run_of(table: pa.Table, pack: Pack) -> PackRun:
    """The run of one pack."""
    runs = runs_of(table, {case.id: case for case in pack.cases})
    ((_, run),) = runs.packs
    return replace(run, traces=runs.traces, untouched=frozenset(runs.untouched), notes=runs.notes)


def traces_of(table: pa.Table) -> dict[str, Trace]:
    """The traces of a table by case id."""
    given = zip(table.column("case").to_pylist(), table.column("emissions").to_pylist(), strict=True)
    return {case: Trace.of_text(emissions) for case, emissions in given if emissions is not None}


def part_of_check(checked: Checked) -> pa.Table:
    """The check of some families of cases, on its way from another process of this run."""
    return pa.table({"found": [pickle.dumps(checked)]}, PART)


def whole_check(table: pa.Table) -> Checked:
    """The check of all families, from its parts in any order."""
    return sum(map(pickle.loads, table.column("found").to_pylist()), Checked())


def write(path: Path, table: pa.Table) -> None:
    """Write a Parquet file. If there is no folder for it, make one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path):
        pq.write_table(table, path)


def read(path: Path) -> pa.Table:
    """The table in a Parquet file, or in a folder of such files.

    Raises:
        OSError: there is no such file.
        pa.ArrowInvalid: the file is not a Parquet file.
    """
    if path.is_dir():
        return pq.read_table(path)
    with pq.ParquetFile(path) as file:
        return file.read()


def metadata(path: Path) -> dict[bytes, bytes]:
    """The metadata of a Parquet file of traces: row counts of packs, and remarks."""
    found: dict[bytes, bytes] = pq.read_schema(path).metadata
    return {name: found[name] for name in (COUNTS, NOTES)}


def count(path: Path) -> int:
    """The number of rows in a Parquet file."""
    rows: int = pq.read_metadata(path).num_rows
    return rows


def packed(table: pa.Table, compression: str | None = None) -> bytes:
    """An Arrow file. PyArrow's own functions for such files import pandas, which takes longer than to write one."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())


def unpacked(content: bytes) -> pa.Table:
    """The table in an Arrow file.

    Raises:
        pa.ArrowInvalid: it is no such file.
    """
    return pa.ipc.open_file(content).read_all()


def send(path: Path, table: pa.Table) -> None:
    """Write a table for another process of this run."""
    with naming(path):
        path.write_bytes(packed(table))


def receive(path: Path) -> pa.Table:
    return unpacked(path.read_bytes())


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """The table of rows, by way of JSON: to take Python's own values, PyArrow imports pandas."""
    if not rows:
        return schema.empty_table()
    lines = "\n".join(json.dumps(dict(zip(schema.names, row, strict=True))) for row in rows).encode()
    given = {"explicit_schema": schema, "unexpected_field_behavior": "error"}
    whole = pa_json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    table = pa_json.read_json(pa.BufferReader(lines), whole, pa_json.ParseOptions(**given))
    return table.replace_schema_metadata(schema.metadata)

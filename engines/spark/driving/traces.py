"""What came out of a pack's micro-batches, as traces and as counts of rows."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from conformance.engines.spark.driving.micro_batches import MicroBatch
from conformance.engines.spark.operators.operator import HEARTBEAT, NO_EMISSION, emitted
from conformance.model.case import program_ref
from conformance.model.engine import NotDriven
from conformance.model.runs import Pack, ProgramCount, StepCount
from conformance.model.trace import DRAIN, Emission, Trace

TOLD = ("program", "case", "key", "step", "value", "emitted_at", "error")
"""The columns of an output row that traces are made of."""


def told(rows: Mapping[int, list[Any]], batches: list[MicroBatch], mode: str) -> Mapping[int, list[Any]]:
    """The output rows of micro-batches that traces are made of. In complete mode, a micro-batch that puts out the same
    table as the one before it in its step tells nothing new: a step may take several of them."""
    if mode != "complete":
        return rows
    found, before = {}, None
    for number in sorted(rows):
        step = batches[number].step if number < len(batches) else DRAIN
        table = step, Counter(tuple(row[name] for name in TOLD) for row in rows[number] if row["program"] != HEARTBEAT)
        if table != before:
            found[number], before = rows[number], table
    return found


def traces_of(
    pack: Pack,
    batches: list[MicroBatch],
    rows: Mapping[int, Iterable[Any]],
    progress: list[dict[str, Any]],
    found: Iterable[tuple[str, Emission]],
) -> tuple[dict[str, Trace], tuple[StepCount, ...]]:
    """Traces and counts from output rows. An emission's step is that of the micro-batch that it came out in. A row that
    comes out twice, or in a later micro-batch than the row that it carries the step of, does so in the trace. What an
    operator of Spark's own makes of heartbeats is left out.

    Raises:
        NotDriven: a row came out before its own step, or the rows of a step were read in several partitions.
    """
    emissions: dict[str, list[Emission]] = {case.id: [] for case in pack.cases}
    received: Counter[tuple[int, str]] = Counter()
    partitions: dict[int, set[int]] = {}
    seen: set[str] = set()
    bundles = {batch.step: number for number, batch in enumerate(batches) if batch.bundle}
    for number in sorted(rows):
        planned = batches[number].step if number < len(batches) else DRAIN
        for row in rows[number]:
            if row["program"] == HEARTBEAT:
                continue
            own = planned if row["step"] is None else row["step"]
            if number < bundles.get(own, number):
                raise NotDriven(f"a row of step {own} came out in micro-batch {number}, which is step {planned}")
            if row["nonce"] is None or row["nonce"] not in seen:  # a receipt for rows counts once
                seen.add(row["nonce"])
                if row["received"] is not None:
                    received[own, row["program"]] += row["received"]
                if row["partitions"] is not None:
                    partitions.setdefault(own, set()).update(json.loads(row["partitions"]))
            if row["value"] != NO_EMISSION:
                value = emitted(row["value"])
                emissions[row["case"]].append(Emission(row["key"], value, planned, row["emitted_at"], row["error"]))
    for case, emission in found:
        emissions[case].append(emission)
    if scattered := [step for step, found in partitions.items() if len(found) > 1]:
        raise NotDriven(f"the rows of step {scattered[0]} were read in several partitions, which scrambles their order")
    late = {p["batchId"]: sum(o["numRowsDroppedByWatermark"] for o in p["stateOperators"]) for p in progress}
    counts = tuple(
        _count(pack, batch.step, received, late[number])
        for number, batch in enumerate(batches)
        if batch.bundle or late[number]
    )
    return {case: Trace.collect(found) for case, found in emissions.items()}, counts


def _count(pack: Pack, step: int, received: Mapping[tuple[int, str], int], late: int) -> StepCount:
    """The rows of a bundle, by program where that is known: Spark counts late rows for a whole micro-batch (Spark
    4.3.0). ``received`` are rows by step and program."""
    delivered = Counter(program_ref(case.scenario, case.program) for case, _ in pack.bundle(step))
    names = sorted({*delivered, *(program for own, program in received if own == step)})
    parts = tuple(ProgramCount(name, delivered[name], received.get((step, name), 0)) for name in names)
    return StepCount(step, delivered.total(), sum(part.received for part in parts), late, parts)

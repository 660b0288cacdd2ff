"""What a pack on Beam gives: the traces of its cases, and the row counts of its bundles."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.model.program import Output, Program
from conformance.model.runs import Pack, PackRun, StepCount
from conformance.model.schedule import Deliver
from conformance.model.trace import Emission, Trace


def emission(program: Program, key: str, output: Output, step: int, time: int) -> Emission:
    """An output with the ``time`` (ms) that Beam gave it, where the program asks for that."""
    named = time if program.timed and not output.error else output.event_time
    return Emission(key, output.value, step, named, output.error)


def collected(pack: Pack, emissions: Mapping[str, list[Emission]]) -> PackRun:
    """Case id -> its emissions in order, as traces. The adapter has proved that every row was received; Beam Python
    2.77.0 counts none as late."""
    bundles = [step.id for step in pack.timeline if isinstance(step, Deliver)]
    counts = tuple(StepCount(step, n := sum(1 for _ in pack.bundle(step)), n, None) for step in bundles)
    return PackRun({case: Trace.collect(found) for case, found in emissions.items()}, counts)

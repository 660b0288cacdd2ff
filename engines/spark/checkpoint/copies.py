"""A restart in several ways: what the last query left is copied once for each way, and gone on with."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.engines.spark.driving.micro_batches import MicroBatch
from conformance.engines.spark.operators.operator import NO_EMISSION, emitted
from conformance.model.case import Case
from conformance.model.runs import Pack, PackRun
from conformance.model.trace import DRAIN, Emission, Trace
from conformance.model.values import Json

Rows = Mapping[int, list[Any]]
"""Output rows by micro-batch."""

GoOn = Callable[[Path], tuple[Rows, Json]]
"""A checkpoint -> (what comes out of the query that goes on from it, what is told if the query did not, or None)."""


def answers(
    pack: Pack,
    checkpoint: Path,
    batches: Sequence[MicroBatch],
    before: Rows,
    ways: Sequence[tuple[Sequence[Case], GoOn]],
) -> PackRun:
    """Go on once for each of the ways, which have all cases of the pack.

    Args:
        batches: the micro-batches as planned.
        before: what came out of the query that left the checkpoint.

    Raises:
        NotDriven: the checkpoint has nothing that can be changed in one of these ways.
    """
    restart = pack.cases[0].schedule.restart
    traces: dict[str, Trace] = {}
    for number, (cases, go_on) in enumerate(ways):
        place = checkpoint.with_name(f"{checkpoint.name}-{number}")
        shutil.copytree(checkpoint, place)
        rows, ended = go_on(place)
        found: dict[str, list[Emission]] = {case.id: [] for case in cases}
        # A sink that replaces a micro-batch by its id has these.
        for batch, out in sorted({**before, **rows}.items()):
            planned = batches[batch].step if batch < len(batches) else DRAIN
            for row in out:
                if row["case"] in found and row["value"] != NO_EMISSION:
                    step = planned if row["step"] is None else row["step"]
                    emission = Emission(row["key"], emitted(row["value"]), step, row["emitted_at"], row["error"])
                    found[row["case"]].append(emission)
        for case in cases if ended else ():
            found[case.id].append(Emission(case.schedule.arrivals[0].event.key, ended, restart))
        traces |= {case: Trace.collect(emissions) for case, emissions in found.items()}
    return PackRun(traces)

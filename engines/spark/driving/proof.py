"""The proof that a query drove its schedule, from the query's own progress, and what passed beside its waits."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from conformance.engines.spark.driving.micro_batches import MicroBatch, plan, sentinels
from conformance.engines.spark.runtime import session
from conformance.model.engine import NotDriven
from conformance.model.runs import Pack
from conformance.model.schedule import Partitions


def partitions_of(pack: Pack) -> int:
    """How many partitions a pack's state is kept in."""
    return next((step.count for step in pack.timeline if isinstance(step, Partitions)), session.PARTITIONS)


class Reads(NamedTuple):
    """How a query reads its rows: those of a micro-batch lie in ``sources`` sources, the operator reads them ``sides``
    times, and the query ``evaluations`` times; ``without_data`` says which micro-batches are the engine's own empty
    ones."""

    sources: int = 1
    sides: int = 1
    evaluations: int = 1
    without_data: Callable[[int], bool] = lambda number: False


READS_ONCE = Reads()


def prove(
    pack: Pack,
    batches: Sequence[MicroBatch],
    progress: Sequence[dict[str, Any]],
    settling: int = 1,
    reads: Reads = READS_ONCE,
) -> None:
    """Compare the engine's own progress, micro-batch by micro-batch, with what the schedule asks for. If a
    query reads a row several times, the engine may count it as often; 3.5.9 does so with partitions, too.

    Raises:
        NotDriven: a batch is missing or doubled, or had another watermark or another number of rows.
    """
    found = {p["batchId"]: p for p in progress}
    if len(found) != len(progress) or sorted(found)[: len(batches)] != list(range(len(batches))):
        raise NotDriven(
            f"{len(batches)} micro-batches were planned, the engine reports {sorted(p['batchId'] for p in progress)}"
        )
    watermarks = {number: millis(p["eventTime"]["watermark"]) for number, p in found.items()}
    wanted_rows = {batch.step: sum(1 for _ in pack.bundle(batch.step)) for batch in batches if batch.bundle}
    wanted_partitions = partitions_of(pack)
    asked = iter(plan(pack.timeline, settling))
    watermark = 0
    for number, batch in enumerate(batches):
        wanted = next(asked, None)
        if wanted is None or (wanted.step, wanted.query) != (batch.step, batch.query):
            raise NotDriven(
                f"micro-batch {number} was for step {batch.step}, the schedule asks for {wanted and wanted.step}"
            )
        if number and (found[number]["runId"] != found[number - 1]["runId"]) is not (
            batch.query != batches[number - 1].query
        ):
            raise NotDriven(
                f"micro-batch {number} (step {batch.step}) ran in the wrong query: a restart was missed, or made"
            )
        if watermarks[number] != watermark:
            raise NotDriven(
                f"micro-batch {number} (step {batch.step}) ran at watermark {watermarks[number]}, not {watermark}"
            )
        if batch.bundle and watermarks[number - 1] != wanted.settled:
            raise NotDriven(
                f"micro-batch {number} (step {batch.step}) filtered late rows at watermark "
                f"{watermarks[number - 1]}, not {wanted.settled}"
            )
        rows = (not wanted.without_rows) + len(sentinels(wanted)) + (wanted_rows[batch.step] if batch.bundle else 0)
        # Through Spark Connect a progress report has the count of its sources alone; a join reads the stream once for
        # each of its sides, as a source of its own (Spark 4.3.0).
        rows = 0 if reads.without_data(number) else rows
        counted = [source["numInputRows"] for source in found[number]["sources"]]
        # Spark 4.3.0 tells the rows of all sides as those of the first, where the sides have the same columns. With two
        # sources and many plans at once, 4.3.0 was seen to tell the rows of both sides of a join once; of a semi join
        # of rows that are read twice, those of the second side as often again.
        often = {rows * n for n in (1, reads.evaluations, reads.sides, reads.sides * reads.evaluations)}
        of_each = {rows, rows * reads.evaluations} | (often if reads.evaluations > 1 else set())
        each, together = all(read in of_each for read in counted), sum(counted) in often
        # Where the optimizer leaves an empty source out, 3.5.9 reports no rows of any source.
        none = reads.sources > 1 and not any(counted)
        if not (each or together or none):
            told = " + ".join(map(str, counted))
            raise NotDriven(f"micro-batch {number} (step {batch.step}) read {told} rows, not {rows}")
        watermark = wanted.moves_to
        partitions = {operator["numShufflePartitions"] for operator in found[number]["stateOperators"]}
        if not partitions <= {wanted_partitions, wanted_partitions * reads.evaluations}:
            raise NotDriven(
                f"micro-batch {number} (step {batch.step}) kept its state in {partitions} partitions, not "
                f"{wanted_partitions}"
            )
    if next(asked, None) is not None:
        raise NotDriven(f"the schedule asks for more than the {len(batches)} micro-batches that were run")


def drift(batches: Sequence[MicroBatch], checkpoint: Path) -> int:
    """How much more processing time (ms) than was waited for passed from the first bundle on, by the engine's own
    clock: that of the offset log of a checkpoint, which a micro-batch's timers and TTLs go by (Spark 4.3.0). Timers
    fire behind the last bundle, too.

    Raises:
        NotDriven: a wait was too short.
    """
    times = [_batch_time(checkpoint / "offsets" / str(number)) for number in range(len(batches))]
    for number, batch in enumerate(batches[:-1]):
        if times[number + 1] - times[number] < batch.wait:
            raise NotDriven(f"micro-batch {number} (step {batch.step}) was to last {batch.wait} ms at least")
    bundles = [number for number, batch in enumerate(batches) if batch.bundle]
    if not bundles:
        return 0
    first = bundles[0]
    return times[-1] - times[first] - sum(batch.wait for batch in batches[first:-1])


def _batch_time(offsets: Path) -> int:
    """The time of a micro-batch (ms): its offsets are a line with a version, one with this, and one a source."""
    return json.loads(offsets.read_text(encoding="utf-8").splitlines()[1])["batchTimestampMs"]


def millis(text: str) -> int:
    """Milliseconds since the epoch of a progress report's time, such as 1970-01-01T00:16:40.000Z."""
    at = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    return round(at.timestamp() * 1000)

"""What changes around a program that stays the same: settings that a checkpoint may pin, the client, an output column.

Each change is one of programs that keep state, and of operators of an engine's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.model.feature import Feature
from conformance.model.scenario import Source
from conformance.scenarios.documents import SPARK_NOTES
from conformance.scenarios.state.damaged_checkpoints import RECOVERY

NOT_MODIFIABLE = SPARK_NOTES.says(
    "Several configurations are not modifiable after the query has run", "Miscellaneous Notes", "miscellaneous-notes"
)
REPARTITIONED = Source(
    "PySpark, StreamingCheckpointManager.repartition",
    "The next time the streaming query is started, it will pick up from this new batch",
)


@dataclass(frozen=True)
class Around:
    """A change around a program, in words, what it needs of an engine, and who speaks of it."""

    what: str
    needs: Feature
    source: Source = RECOVERY
    may_refuse: bool = True


AROUND: Mapping[str, Around] = {
    "other partitions": Around("another number of partitions is asked for", Feature.NEXT_SETTINGS, NOT_MODIFIABLE),
    "another store": Around("another state store is asked for", Feature.NEXT_SETTINGS, NOT_MODIFIABLE),
    "another encoding": Around("another encoding of state is asked for", Feature.NEXT_SETTINGS),
    "another format": Around("another format of checkpoints is asked for", Feature.NEXT_SETTINGS),
    "changes logged or not": Around(
        "changes of state are logged and were not, or the other way round", Feature.NEXT_SETTINGS
    ),
    "another client": Around("another kind of client begins the job again", Feature.NEXT_CLIENT),
    "begun by another client": Around("another kind of client began the job", Feature.NEXT_CLIENT),
    "partitioned anew": Around(
        "the state is partitioned anew before, or this is refused", Feature.REPARTITION, REPARTITIONED, may_refuse=False
    ),
    "output column added": Around("a column of the output is added", Feature.NEXT_QUERY),
}
"""By name."""

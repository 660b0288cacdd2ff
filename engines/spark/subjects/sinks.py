"""What users' ``foreachBatch`` does with the rows of a micro-batch before it takes them. A script has the source of the
function, which uses nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def itself(frame: DataFrame) -> DataFrame:
    return frame


def cached(frame: DataFrame) -> DataFrame:
    """The rows, computed once and kept."""
    frame = frame.persist()
    frame.count()
    return frame


def asked(frame: DataFrame) -> DataFrame:
    """The rows, computed in part first: whether there are any."""
    frame.isEmpty()
    return frame


PLAIN, CACHES, ASKS = "", "the sink caches its rows", "the sink first asks whether it has any rows"

SINKS: Mapping[str, Callable[[DataFrame], DataFrame]] = {PLAIN: itself, CACHES: cached, ASKS: asked}
"""In words -> what is done to a micro-batch."""

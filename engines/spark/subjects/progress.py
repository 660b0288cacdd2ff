"""What Spark's reports on the progress of a query say."""

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.engines.spark.driving.proof import millis

CLOCKED = ("numRegisteredTimers", "numValuesRemovedDueToTTLExpiry")
"""What Spark counts of operators that may go by the clock and did (4.3.0)."""


def watermark_of(progress: Sequence[Mapping[str, Any]]) -> int | None:
    """That of the last micro-batch (ms); None for a query without one."""
    told = progress[-1].get("eventTime", {}).get("watermark", "") if progress else ""
    return millis(told) if told else None


def clocked_of(operators: Sequence[Mapping[str, Any]]) -> bool:
    """Whether operators that may go by the clock did: they set timers, or state expired; true where nothing tells."""
    told = [operator.get("customMetrics", {}) for operator in operators]
    counted = [metrics[name] for metrics in told for name in CLOCKED if name in metrics]
    return any(counted) or not counted


def operators_of(progress: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The operators that keep state, as the engine's last report of a query names them."""
    return tuple(operator["operatorName"] for operator in progress[-1]["stateOperators"]) if progress else ()

"""What Spark's reports on the progress of a query say, and which errors are those of the machine that it runs on."""

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


WORDS = (
    "Python worker failed to connect back",
    "the client of Spark Connect ended with code -",  # by a signal
    "java.lang.OutOfMemoryError",
    "No space left on device",
    "Cannot allocate memory",
    "Too many open files",
)


def of_the_machine(error: str) -> bool:
    """Whether an error, as a line tells it, is one of the machine."""
    return any(words in error for words in WORDS)

"""How an error ended a query that was to go on from a checkpoint: by a refusal, or by a failure."""

from __future__ import annotations

import re
from typing import Any

from conformance.engines.spark.refused.refusals import kind

BEFORE_CONDITIONS = {
    "Provided schema doesn't match to the schema for existing state": "StateSchemaNotCompatible",
    "The streaming query failed by state format invalidation": "InvalidUnsafeRowException",
}
"""What releases whose errors have no condition say of state that does not fit -> the class of the error (Spark
3.5.9)."""


IN_SINK = "FOREACH_BATCH_USER_FUNCTION_ERROR"
"""The condition of each error in a micro-batch whose output ``foreachBatch`` collects. What it wraps tells more."""


def ended_by(error: Any) -> dict[str, str]:
    """How an error ended a query that was to go on: a refusal names what does not fit, and is no bug of Spark's own."""
    if named := next((name for said, name in BEFORE_CONDITIONS.items() if said in str(error)), ""):
        return {"refused": named}
    named = kind(str(error).replace(f"[{IN_SINK}]", "")) if IN_SINK in str(error) else kind(error)
    is_condition = re.match(r"_?[A-Z][A-Z0-9_.]+\b(?!\w)", named) and not named.startswith("INTERNAL_ERROR")
    return {"refused" if is_condition else "failed": named}

"""What Spark's errors say: their condition, and whether one that ended a query is a refusal or a failure."""

import re
from typing import Any

from conformance.model.engine import SQLSTATE

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


def innermost(error: Exception) -> str:
    """What an error says, without the ids of its query and of objects, which are others in each run."""
    return re.sub(r"\bo\d+\.", "", str(error).rpartition("terminated with exception: ")[2])


def kind(error: Any) -> str:
    """The condition of Spark's error, with its SQLSTATE where the error's text has one."""
    named = condition(error)
    state = re.search(rf"\[{re.escape(named)}\].*?SQLSTATE: (\w{{5}})", str(error), re.DOTALL)
    return named + (SQLSTATE + state[1] if state else "")


def condition(error: Any) -> str:
    """The condition of Spark's error where it names one, else the class of the innermost error."""
    text = str(error)
    named = re.findall(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]", text)
    own = [name for name in named if name not in ("STREAM_FAILED", "PYTHON_EXCEPTION")]
    if own:
        return own[-1]
    for asked in ("getCondition", "getErrorClass"):
        if hasattr(error, asked) and (found := getattr(error, asked)()) and found != "STREAM_FAILED":
            return str(found)
    classes = re.findall(r"\b(\w+(?:Error|Exception))\b", text)
    return classes[-1] if classes else type(error).__name__

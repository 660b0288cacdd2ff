"""What the reference engine gives: the executable specification that engines are held against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.checking import Reference, Traces
from conformance.engine import LatenessProfile
from conformance.model import Case, Pack, Trace
from conformance.registry import load_engine

KEPT = 50_000
"""So many traces are kept for those who ask again: several guarantees and engines do for the same cases."""


def reference_traces(programs: Mapping[str, Any], lateness: LatenessProfile | None = None) -> Reference:
    """A function that runs cases on the reference engine, each alone, reading lateness as ``lateness`` says."""
    engine: Any = load_engine("reference")
    if lateness is not None:
        engine = engine.reading(lateness)
    known: dict[str, Trace] = {}

    def traces(cases: list[Case]) -> Traces:
        if len(known) > KEPT:
            known.clear()
        found: dict[str, Trace] = {}
        for case in cases:
            if case.digest not in known:  # another case may have its id: a candidate of a reduction
                known[case.digest] = engine.run(Pack((case,)), programs).traces[case.id]
            found[case.id] = known[case.digest]
        return found

    return traces

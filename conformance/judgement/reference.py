"""Reference traces: the reference engine is the executable specification, and other engines are compared with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.judgement.evidence import ReferenceTraces, Traces
from conformance.model.case import Case, program_ref
from conformance.model.lateness import LatenessProfile
from conformance.model.trace import Trace
from conformance.plugins.registry import load_engine

KEPT = 50_000
"""Number of traces that are kept, because several guarantees and engines ask for the same cases."""


def reference_traces(programs: Mapping[str, Any], lateness: LatenessProfile | None = None) -> ReferenceTraces:
    """A function that runs each case alone on the reference engine, which reads *late* as ``lateness`` says."""
    engine: Any = load_engine("reference")
    if lateness is not None:
        engine = engine.reading(lateness)
    known: dict[str, Trace] = {}

    def traces(cases: list[Case]) -> Traces:
        if len(known) > KEPT:
            known.clear()
        found: dict[str, Trace] = {}
        for case in cases:
            if case.digest not in known:  # a candidate of a reduction may have the id of another case
                program = programs[program_ref(case.scenario, case.program)]
                known[case.digest], _ = engine.ran(case, program)
            found[case.id] = known[case.digest]
        return found

    return traces

"""Reference traces: the reference engine is the executable specification, and other engines are compared with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.judgement.evidence import ReferenceTraces
from conformance.judgement.known import Known
from conformance.model.case import Case, program_ref
from conformance.model.lateness import LatenessProfile
from conformance.model.program import Program
from conformance.model.trace import Trace
from conformance.plugins.registry import load_engine

KEPT = 100_000
"""Number of traces that are kept for each reading of *late*, because drawing, several guarantees and several engines ask for the same
cases."""

_known: dict[LatenessProfile, Known[tuple[Program, str], Trace]] = {}


def reference_traces(programs: Mapping[str, Program], lateness: LatenessProfile | None = None) -> ReferenceTraces:
    """A function that runs each case alone on the reference engine, which reads *late* as ``lateness`` says."""
    specified: Any = load_engine("reference")
    reading = specified if lateness is None else specified.reading(lateness)

    def trace(case: Case) -> Trace:
        # A case without late events is the same under every reading.
        engine = specified if all(arrival.on_time for arrival in case.schedule.arrivals) else reading
        known = _known.setdefault(engine.capabilities.lateness, Known(KEPT))
        program = programs[program_ref(case.scenario, case.program)]
        # By digest: a candidate of a reduction may have the id of another case.
        return known.of((program, case.digest), lambda: engine.ran(case, program)[0])

    return lambda cases: {case.id: trace(case) for case in cases}

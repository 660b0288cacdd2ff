"""Reference traces: the reference engine is the executable specification, and other engines are compared with it."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from conformance.judgement.known import Known
from conformance.model.case import Case
from conformance.model.lateness import LatenessProfile
from conformance.model.program import Program
from conformance.model.trace import Trace
from conformance.plugins.registry import load_engine

KEPT = 100_000
"""Number of traces that are kept for each reading of *late*, because drawing, several guarantees and several engines
ask for the same cases."""

_known: dict[LatenessProfile, Known[tuple[Program, str], tuple[Trace, bool]]] = {}


@cache
def specified() -> Any:
    """The reference as it is."""
    return load_engine("reference")


def ran(case: Case, program: Program, engine: Any = None) -> tuple[Trace, bool]:
    """A case's trace on the reference, or on a reference that reads *late* otherwise (``engine``), and whether several
    timers were due at one time."""
    engine = engine or specified()
    known = _known.setdefault(engine.capabilities.lateness, Known(KEPT))
    # By digest: a candidate of a reduction may have the id of another case.
    found: tuple[Trace, bool] = known.of((program, case.digest), lambda: engine.ran(case, program))
    return found


def reference_traces(
    programs: Mapping[str, Program], lateness: LatenessProfile | None = None
) -> Callable[[list[Case]], dict[str, Trace]]:
    """A function that runs each case alone on the reference engine, which reads *late* as ``lateness`` says."""
    reading = None if lateness is None else specified().reading(lateness)

    def trace(case: Case) -> Trace:
        # A case without late events is the same under every reading.
        on_time = all(arrival.on_time for arrival in case.schedule.arrivals)
        return ran(case, programs[case.ref], None if on_time else reading)[0]

    return lambda cases: {case.id: trace(case) for case in cases}

"""For tests of adapters: ``check_engine`` certifies one, and the programs and calls that it uses serve other tests too."""

from conformance.testing.calls import (
    CALLS,
    FAILS,
    STATE,
    TIMERS,
    Interpreter,
    T,
    calls_case,
    reference,
    specified,
    traces_of,
)
from conformance.testing.kit import AdapterFault, Report, check_engine

__all__ = [
    "CALLS",
    "FAILS",
    "STATE",
    "TIMERS",
    "AdapterFault",
    "Interpreter",
    "Report",
    "T",
    "calls_case",
    "check_engine",
    "reference",
    "specified",
    "traces_of",
]

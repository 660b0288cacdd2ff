"""The kit for tests of adapters. ``check_engine`` certifies an adapter. Its programs and calls serve other tests,
too."""

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
from conformance.testing.kit import check_engine
from conformance.testing.report import AdapterFault, Report

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

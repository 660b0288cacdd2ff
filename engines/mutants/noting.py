"""Which methods of the reference a case calls: a mutant that has none of them of its own answers the case as the
reference does."""

import inspect
from collections.abc import Callable
from typing import Any

from conformance.engines.case_run import CaseRun
from conformance.judgement.known import Known
from conformance.model.case import Case
from conformance.model.lateness import LatenessProfile
from conformance.model.program import Program

SEAMS = frozenset(name for name, it in vars(CaseRun).items() if inspect.isfunction(it) and not name.startswith("__"))
"""The methods of a run that a mutant may have its own of, and whose calls are noted."""

KEPT = 100_000
"""Number of cases whose calls are kept for each reading of *late*."""

_known: dict[LatenessProfile, Known[tuple[Program, str], frozenset[str]]] = {}


def called(case: Case, program: Program, lateness: LatenessProfile) -> frozenset[str]:
    """The methods (of SEAMS) that the reference calls for a case."""

    def ask() -> frozenset[str]:
        run = _Noting(case, program, lateness)
        run.run()
        return frozenset(run.called)

    return _known.setdefault(lateness, Known(KEPT)).of((program, case.digest), ask)


def _noted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(run: Any, *args: Any, **named: Any) -> Any:
        run.called.add(name)
        return method(run, *args, **named)

    return call


class _Noting(CaseRun):
    """The reference, with its calls in ``called``."""

    def __init__(self, case: Case, program: Program, lateness: LatenessProfile) -> None:
        super().__init__(case, program, lateness)
        self.called: set[str] = set()


for _name in SEAMS:
    setattr(_Noting, _name, _noted(_name, getattr(CaseRun, _name)))

"""The next version of a program: what goes on behind a restart, on what its forerunner kept."""

from __future__ import annotations

from conformance.model.case import Case
from conformance.model.program import Program


def change_of(case: Case, program: Program) -> str:
    """The change that a case is about: of several that a program has, the value of the case's first element. "" where
    the case has no element."""
    if len(program.next_versions) == 1:
        return next(iter(program.next_versions))
    return str(case.schedule.arrivals[0].event.value) if case.schedule.arrivals else ""


def versions(case: Case, program: Program) -> tuple[Program, ...]:
    """The programs that run in a case, one after the other. A change that the program does not have changes nothing."""
    later = program.next_versions.get(change_of(case, program)) if program.next_versions else None
    return (program, later) if later else (program,)

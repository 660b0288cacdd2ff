"""The next version of a program: what goes on behind a restart, on what its forerunner kept."""

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from conformance.model.case import Case
from conformance.model.program import JobKind, Program
from conformance.model.values import Json


class Versioned(Program):
    """Base of the versions of a program. Its ``job`` is NEXT_VERSION or NEXT_OPERATOR, in the later versions, too. A
    job of NEXT_VERSION runs no other program, and stores cells under their own names.

    Attributes:
        next_versions: name of a change -> the program that goes on behind the restart.
        foreign: of a next version: the state before is of an operator of another kind, and a job refuses to go on with
            it.
    """

    job = JobKind.NEXT_VERSION
    next_versions: ClassVar[Mapping[str, Program]] = {}
    foreign: ClassVar[bool] = False


def next_versions(program: Program) -> Mapping[str, Program]:
    """The next versions of a program, by the name of the change; none of one that has no others."""
    return program.next_versions if isinstance(program, Versioned) else {}


def change_of(case: Case, program: Program) -> str:
    """The change that a case is about: of several that a program has, the value of the case's first element. "" where
    the case has no element."""
    changes = next_versions(program)
    if len(changes) == 1:
        return next(iter(changes))
    return str(case.schedule.arrivals[0].event.value) if case.schedule.arrivals else ""


def versions(case: Case, program: Program) -> tuple[Program, ...]:
    """The programs that run in a case, one after the other. A change that the program does not have changes nothing."""
    changes = next_versions(program)
    later = changes.get(change_of(case, program)) if changes else None
    return (program, later) if later else (program,)


def ended_well(ended: Iterable[dict[str, Json]]) -> Iterator[bool | str]:
    """The findings about a next version that did not go on: a refusal is an answer, and a failure is none."""
    for value in ended:
        yield "refused" in value or f"the next version neither refused nor went on: it failed with {value['failed']}"

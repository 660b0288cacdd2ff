"""Packs of cases, and the result of one engine run of a pack."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from conformance.model.case import Case
from conformance.model.schedule import (
    Event,
    InvalidSchedule,
    Step,
)
from conformance.model.trace import Trace


@dataclass(frozen=True, slots=True)
class ProgramCount:
    """Rows of one bundle for one program ("scenario/program"). ``reported_late`` is None where the engine does not
    report by program."""

    program: str
    delivered: int
    received: int
    reported_late: int | None = None


@dataclass(frozen=True, slots=True)
class StepCount:
    """Rows of one bundle over all cases of a pack: handed in, received by programs, reported as late by the engine.

    ``programs`` are the same rows by program, in order of their names, so that a lost row of one program and a doubled
    row of another one do not cancel out. It is empty where the adapter cannot tell the programs apart.
    """

    step: int
    delivered: int
    received: int
    reported_late: int | None
    programs: tuple[ProgramCount, ...] = ()


@dataclass(frozen=True)
class Pack:
    """Cases that share one timeline and one engine run, kept apart by key."""

    cases: tuple[Case, ...]

    def __post_init__(self) -> None:
        if not self.cases or any(case.schedule.timeline != self.timeline for case in self.cases):
            raise InvalidSchedule("the cases of a pack share one timeline")
        if len({case.id for case in self.cases}) != len(self.cases):
            raise InvalidSchedule("the cases of a pack have ids of their own")

    @property
    def timeline(self) -> tuple[Step, ...]:
        return self.cases[0].schedule.timeline

    def bundle(self, step: int) -> Iterator[tuple[Case, Event]]:
        """The rows of one bundle: case after case, each case's events in order."""
        for case in self.cases:
            for bundle in case.schedule.bundles:
                if bundle.id == step:
                    yield from ((case, event) for event in bundle.events)


@dataclass(frozen=True)
class PackRun:
    """The result of one engine run.

    Attributes:
        traces: case id -> trace.
        counts: the engine's row counts, one per bundle.
        untouched: cases (ids) that say nothing. Either a failed attempt did not reach them: none of their keys had
            written state in it. Or two releases answer them differently without any restart.
        notes: "scenario/program", or "scenario/program: change" with a change of the program or a perturbation (id) ->
            remark on how the program was run, or what became of the change, for the cells. One of a kill begins with
            its circumstance and a colon: nothing was being written there.
    """

    traces: Mapping[str, Trace] = field(default_factory=dict)
    counts: tuple[StepCount, ...] = ()
    untouched: frozenset[str] = frozenset()
    notes: Mapping[str, str] = field(default_factory=dict)


def of_program(count: StepCount, program: str) -> StepCount:
    """A row count of one case, told of its program."""
    return replace(count, programs=(ProgramCount(program, count.delivered, count.received, count.reported_late),))


def added(counts: Iterable[StepCount]) -> tuple[StepCount, ...]:
    """Row counts of several cases added up by step, and by program within a step."""
    found: dict[int, list[int]] = {}
    programs: dict[tuple[int, str], list[int]] = {}
    for count in counts:
        _add(found.setdefault(count.step, [0, 0, 0]), count)
        for part in count.programs:
            _add(programs.setdefault((count.step, part.program), [0, 0, 0]), part)
    parts = [(step, ProgramCount(program, *sums)) for (step, program), sums in sorted(programs.items())]
    return tuple(
        StepCount(step, a, b, c, tuple(part for at, part in parts if at == step))
        for step, (a, b, c) in sorted(found.items())
    )


def _add(sums: list[int], count: StepCount | ProgramCount) -> None:
    for number, more in enumerate((count.delivered, count.received, count.reported_late or 0)):
        sums[number] += more

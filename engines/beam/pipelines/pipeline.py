"""What the pipelines of the Beam adapters have in common: elements, one branch per windowing, and the sink."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.transforms import trigger, window
from apache_beam.utils.timestamp import Duration, Timestamp

from conformance.engines.beam.pipelines import dofn
from conformance.engines.beam.pipelines.inspected import Each, Only
from conformance.engines.beam.pipelines.typed_keys import Typed, kinds_of
from conformance.engines.failing import SENTINEL
from conformance.model.case import Case, program_ref
from conformance.model.program import FixedWindows, Program, Windowing
from conformance.model.runs import Pack
from conformance.model.schedule import Event
from conformance.model.types import Type

ELEMENT = tuple[tuple[str, str, str], typing.Any]


def element(case: Case, event: Event, step: int) -> window.TimestampedValue:
    key = (program_ref(case.scenario, case.program), case.id, event.key)
    return window.TimestampedValue((key, (step, event.id, event.value)), Timestamp(micros=event.event_time * 1000))


def sentinel(step: int, watermark: int) -> window.TimestampedValue:
    """The element that makes the first attempt at the bundle ``step`` fail."""
    return window.TimestampedValue(((SENTINEL, "", ""), (step, "", None)), Timestamp(micros=watermark * 1000))


def typed() -> Any:
    """Elements with the key's type declared, so that state is kept by a key of a deterministic coder."""
    return beam.ParDo(Each(_same)).with_output_types(ELEMENT)


def _same(element: Any) -> Any:
    return element


def window_into(windowing: Windowing) -> Any:
    """The WindowInto of a program's windowing."""
    if not isinstance(windowing, FixedWindows):
        return beam.WindowInto(window.GlobalWindows())
    return beam.WindowInto(
        window.FixedWindows(windowing.size / 1000),
        trigger=trigger.AfterWatermark(late=trigger.AfterCount(1)),
        accumulation_mode=trigger.AccumulationMode.DISCARDING,
        allowed_lateness=Duration(micros=windowing.allowed_lateness * 1000),
    )


def programs_of(pack: Pack, programs: Mapping[str, Program]) -> dict[str, Program]:
    """Those of the programs that a pack has cases of, in order of their names."""
    return {name: programs[name] for name in sorted({program_ref(c.scenario, c.program) for c in pack.cases})}


def by_windowing(programs: Mapping[str, Program]) -> dict[Windowing, dict[str, Program]]:
    """Windowing -> its programs by name."""
    found: dict[Windowing, dict[str, Program]] = {}
    for name, program in programs.items():
        found.setdefault(program.windowing, {})[name] = program
    return found


def by_key(programs: Mapping[str, Program], types: Iterable[Type]) -> list[tuple[Mapping[str, Program], Typed | None]]:
    """The programs with texts as keys, and those with typed keys for each of these types that they have."""
    plain = {name: program for name, program in programs.items() if not program.keys}
    typed = {name: program for name, program in programs.items() if program.keys}
    found: list[tuple[Mapping[str, Program], Typed | None]] = [(plain, None)] if plain else []
    return found + [(typed, Typed(kind, typed)) for kind in types if kind in kinds_of(typed)]


@dataclass(frozen=True)
class Branch:
    """The part of a pipeline that runs the programs of one windowing.

    Attributes:
        elements: the collection of the elements of all programs.
        windowing: that of these programs.
        programs: "scenario/program" -> the program.
        typed: the type of the keys that this branch is for; None for programs with texts as keys.
        apart: whether each program has a branch of its own.
    """

    elements: Any
    windowing: Windowing
    programs: Mapping[str, Program]
    typed: Typed | None = None
    apart: bool = False

    @property
    def name(self) -> str:
        """What tells the branch from the others in labels."""
        if self.apart:
            return ", ".join(self.programs)
        return f"{self.windowing} {self.typed.kind}" if self.typed else f"{self.windowing}"

    @property
    def own(self) -> Any:
        """Those of the elements that are for these programs, and for keys of this type."""
        among = beam.ParDo(Only(_among(frozenset(self.programs)))).with_output_types(ELEMENT)
        mine = self.elements | f"for {self.name}" >> among
        if not self.typed:
            return mine
        of_type = mine | f"with keys of {self.name}" >> beam.ParDo(Only(self.typed.has)).with_output_types(ELEMENT)
        return of_type | f"keys of {self.name}" >> beam.ParDo(Each(self.typed.put)).with_output_types(
            self.typed.element
        )

    def run_programs(self) -> Any:
        """The emissions of the programs."""
        return self.run(dofn.build(self.programs, self.typed))

    def run(self, stateful: Any) -> Any:
        """What a DoFn in the place of the programs puts out."""
        windowed = self.own | f"into {self.name}" >> window_into(self.windowing)
        return windowed | f"programs of {self.name}" >> beam.ParDo(stateful).with_output_types(typing.Any)


def branches(
    elements: Any, programs: Mapping[str, Program], types: Iterable[Type] = (), apart: bool = False
) -> list[Branch]:
    """A branch for each windowing of the programs, and for each of these types of their keys; for each program, if they
    are ``apart``."""
    if apart:
        return [Branch(elements, each.windowing, {name: each}, apart=True) for name, each in programs.items()]
    return [
        Branch(elements, windowing, own, typed)
        for windowing, mine in by_windowing(programs).items()
        for own, typed in by_key(mine, types)
    ]


def _among(programs: frozenset[str]) -> Callable[[Any], bool]:
    """Whether an element is for one of some programs, or makes any of them fail."""

    def among(element: Any) -> bool:
        return element[0][0] in programs or element[0][0] == SENTINEL

    return among

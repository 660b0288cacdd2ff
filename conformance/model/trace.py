"""Emissions and traces: the output of one case."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from conformance.model.values import Json, canonical

DRAIN = -1
"""The step of emissions after the last step of a schedule (Beam's end of stream). They are recorded and never
judged."""


@dataclass(frozen=True, slots=True)
class Emission:
    """One output of a program. ``step`` is the id of the step that it came out in. Within a key, a trace has the order
    of output. ``error`` is the exception that stopped the program, in one line."""

    key: str
    value: Json
    step: int
    event_time: int | None = None
    error: str | None = None

    def to_json(self) -> Json:
        return [self.key, self.value, self.step, self.event_time, self.error]


@dataclass(frozen=True)
class Trace:
    """The emissions of one case, in order of step and, within a key and step, in order of output."""

    emissions: tuple[Emission, ...]

    @classmethod
    def collect(cls, emissions: Iterable[Emission]) -> Trace:
        """Order by step and key. One key in one step keeps its order of output. A program's exception ends its case."""
        ordered = sorted(emissions, key=lambda e: (e.step == DRAIN, e.step, e.key))
        stopped = next((i for i, e in enumerate(ordered) if e.error), None)
        return cls(tuple(ordered if stopped is None else ordered[: stopped + 1]))

    @cached_property
    def judged(self) -> tuple[Emission, ...]:
        """The emissions of the schedule's own steps, without those of DRAIN."""
        return tuple(e for e in self.emissions if e.step != DRAIN)

    @cached_property
    def text(self) -> str:
        """One spelling of everything in the trace: traces of the same text are judged alike."""
        return canonical(self.to_json())

    @cached_property
    def known(self) -> dict[int, tuple[Any, ...]]:
        """What judges have found in the trace: the identity (``id``) of what was asked -> what was asked, and the
        answer. Most traces of an engine are those of the reference, so most questions have been asked before."""
        return {}

    @property
    def error(self) -> str | None:
        if str(self.__dict__.get("text", "")).endswith(("[]", ",null]]")):  # the last emission is spelled without one
            return None
        return self.emissions[-1].error if self.emissions else None

    @cached_property
    def by_key(self) -> Mapping[str, tuple[Emission, ...]]:
        found: dict[str, list[Emission]] = {}
        for emission in self.judged:
            found.setdefault(emission.key, []).append(emission)
        return {key: tuple(emissions) for key, emissions in found.items()}

    def to_json(self) -> Json:
        return [e.to_json() for e in self.emissions]

    @classmethod
    def from_json(cls, data: Json) -> Trace:
        return cls(tuple(Emission(*emission) for emission in data))

    @classmethod
    def of_text(cls, text: str) -> Trace:
        """The trace of a ``text``. Its emissions are read once they are asked for: most traces of a run are only
        compared by their texts."""
        found = object.__new__(cls)
        found.__dict__["text"] = text
        return found

    def __getattr__(self, name: str) -> Any:
        """The emissions of a trace that was made of its text. Python asks here for what an object does not have."""
        if name != "emissions" or "text" not in self.__dict__:
            raise AttributeError(f"a trace has no {name!r}")
        found = self.from_json(json.loads(self.text)).emissions
        self.__dict__["emissions"] = found
        return found

    @property
    def spelling(self) -> str | None:
        """The text, if it is known already."""
        return self.__dict__.get("text")

    def spelled_as(self, other: Trace) -> bool:
        """Whether both have one text; False if the text of one is not known yet."""
        return self.spelling is not None and self.spelling == other.spelling

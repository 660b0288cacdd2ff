"""A record of what the DoFns of a pipeline saw, in one order. All DoFns run in this process (on Prism with the
environment LOOPBACK, Beam 2.77.0). A separate DoFn behind the stateful one gets committed bundles only on the
bundle-based runner; one pipeline runs at a time in a process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import apache_beam as beam

from conformance.engines.beam.pipelines.inspected import inspected


class Kind(Enum):
    """What was seen."""

    INPUT = "an element before it reached any program"
    HANDED = "an element that a stateful DoFn was handed"
    TIMER_SET = "the key that a stateful DoFn set a timer for"
    OUTPUT = "an emission, and its event time (ms)"
    HEARTBEAT = "a step's last element"
    WATERMARK = "a time (ms) that the watermark has reached"


class Handed(NamedTuple):
    """``bundle`` is a number that no other bundle of the process has; ``step`` is the one that delivered the event."""

    dofn: int
    bundle: int
    key: tuple[str, str, str]
    step: int
    event: str


@dataclass
class Collected:
    """Everything in the order in which it was seen."""

    seen: list[tuple[Kind, Any]] = field(default_factory=list)

    def of(self, kind: Kind) -> list[Any]:
        return [what for seen, what in self.seen if seen is kind]


_current = Collected()


@contextmanager
def collecting(into: Collected) -> Iterator[None]:
    """Within this context, the sinks below fill ``into``."""
    global _current
    _current = into
    try:
        yield
    finally:
        _current = Collected()


def note(kind: Kind, what: Any) -> None:
    _current.seen.append((kind, what))


@inspected
class Inputs(beam.DoFn):
    def process(self, element: Any) -> None:
        note(Kind.INPUT, element)


@inspected
class Outputs(beam.DoFn):
    def process(self, element: Any, time: Any = beam.DoFn.TimestampParam) -> None:
        note(Kind.OUTPUT, (element, time.micros // 1000))

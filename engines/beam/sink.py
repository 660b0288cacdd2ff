"""Where the in-process runners leave what they saw. A separate DoFn behind the stateful one gets committed bundles
only; one pipeline runs at a time in a process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import apache_beam as beam


@dataclass
class Collected:
    """Elements in the order in which they came in and out."""

    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)


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


class Inputs(beam.DoFn):
    def process(self, element: Any) -> None:
        _current.inputs.append(element)


class Outputs(beam.DoFn):
    def process(self, element: Any) -> None:
        _current.outputs.append(element)

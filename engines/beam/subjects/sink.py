"""What comes out of a subject's pipeline, taken in this process: all runners that are asked run DoFns in it (Beam
2.77.0)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import IntervalWindow

from conformance.model.values import Json
from conformance.subjects.answers import TIME, told

_taken: list[dict[str, Json]] = []


@contextmanager
def taking(into: list[dict[str, Json]]) -> Iterator[None]:
    """Within this context, the rows of outputs go into the list."""
    global _taken
    _taken = into
    try:
        yield
    finally:
        _taken = []


def take(row: dict[str, Json]) -> None:
    _taken.append(row)


class Take(beam.DoFn):
    """An output of a subject, called ``name``; ``key`` is what the key of a pair is called; ``read`` makes columns of
    an element."""

    def __init__(self, name: str, key: str, read: Callable[[Any], Mapping[str, Any]] | None) -> None:
        self.name, self.key, self.read = name, key, read

    def process(self, element: Any, window: Any = beam.DoFn.WindowParam) -> None:
        from conformance.engines.beam.subjects import (
            sink as subject_sink,  # the module that this process has, not a copy of it
        )

        row: dict[str, Json] = {"output": self.name} if self.name else {}
        if isinstance(window, IntervalWindow):
            row["window"] = {"start": {TIME: window.start.micros}, "end": {TIME: window.end.micros}}
        subject_sink.take({**columns(element, self.key, self.read), **row})


def columns(element: Any, key: str, read: Callable[[Any], Mapping[str, Any]] | None) -> dict[str, Json]:
    """An element as columns: those of an object, or key and value of a pair."""
    found = read(element) if read else element
    if hasattr(found, "_asdict"):
        found = found._asdict()
    if isinstance(found, Mapping):
        return {str(name): told(value) for name, value in found.items()}
    if isinstance(found, tuple) and len(found) == 2 and key:
        return {key: told(found[0]), "value": told(found[1])}
    return {"value": told(found)}

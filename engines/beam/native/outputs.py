"""Outputs of Beam's own transforms as emissions. An output that no single element caused has no step here: the timing
tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import IntervalWindow

from conformance.engines.beam.pipelines.dofn import Emitted, Key
from conformance.engines.beam.pipelines.typed_keys import Typed
from conformance.model.program import Output, Program
from conformance.model.values import Json


def _emitted(key: Key, value: Json, step: int | None = None) -> Emitted:
    program, case, user_key = key
    return program, case, user_key, step, Output(value)


def _ids(values: Any) -> list[str]:
    return [event for _, event, _ in values]


def _millis(time: Any) -> int:
    return time.micros // 1000


class Counts(beam.DoFn):
    def process(self, element: Any) -> Iterator[Emitted]:
        key, count = element
        yield _emitted(key, {"count": count})


class Accepted(beam.DoFn):
    def process(self, element: Any) -> Iterator[Emitted]:
        key, (step, event, _) = element
        yield _emitted(key, {"accepted": event}, step)


class Sessions(beam.DoFn):
    """The program lists the ids of a session sorted: grouped values have no order of their own."""

    def process(self, element: Any, window: Any = beam.DoFn.WindowParam) -> Iterator[Emitted]:
        key, values = element
        yield _emitted(key, {"start": _millis(window.start), "end": _millis(window.end), "ids": sorted(_ids(values))})


class WindowCounts(beam.DoFn):
    def process(self, element: Any, window: Any = beam.DoFn.WindowParam) -> Iterator[Emitted]:
        key, count = element
        yield _emitted(key, {"window": _millis(window.start), "count": count})


def of_side(element: Any, name: str) -> bool:
    """Whether an element is one of the "lefts" or one of the "rights"."""
    _, (_, _, value) = element
    return f"{value}s" == name


class JoinedCounts(beam.DoFn):
    """As an inner join: nothing comes out of a window with elements of one side."""

    def process(self, element: Any, window: Any = beam.DoFn.WindowParam) -> Iterator[Emitted]:
        key, counts = element
        lefts, rights = (list(counts[name]) for name in ("lefts", "rights"))
        if lefts and rights:
            yield _emitted(key, {"window": _millis(window.start), "lefts": sum(lefts), "rights": sum(rights)})


class Batches(beam.DoFn):
    def process(self, element: Any) -> Iterator[Emitted]:
        key, values = element
        yield _emitted(key, {"batch": _ids(values)})


def pane(key: Key, ids: Any, window: Any, **more: Json) -> Emitted:
    """The global window has no start."""
    start = {"window": _millis(window.start)} if isinstance(window, IntervalWindow) else {}
    return _emitted(key, {"pane": sorted(ids), **start, **more})


class Panes(beam.DoFn):
    def process(self, element: Any, window: Any = beam.DoFn.WindowParam) -> Iterator[Emitted]:
        key, values = element
        yield pane(key, _ids(values), window)


class Beside(beam.DoFn):
    """Each element beside the count of its key."""

    def process(self, element: Any, counts: Any, window: Any = beam.DoFn.WindowParam) -> Iterator[Emitted]:
        key, (_, event, _) = element
        yield pane(key, [event], window, count=counts.get(key))


class Unbatched(beam.DoFn):
    """All elements of some batches."""

    def process(self, element: Any, window: Any = beam.DoFn.WindowParam) -> Iterator[Emitted]:
        key, batches = element
        yield pane(key, [event for batch in batches for event in _ids(batch)], window)


def event_of(element: Any) -> str:
    _, (_, event, _) = element
    return str(event)


def now(element: Any) -> Emitted:
    """An element as it came."""
    key, (step, event, _) = element
    return _emitted(key, {"now": event}, step)


class ByTypedKey(beam.PTransform):
    """A transform on elements with keys of one type. What comes out has the name of the key that the transform handed
    over."""

    def __init__(self, apply: Callable[[Any, Program], Any], program: Program, typed: Typed) -> None:
        super().__init__()
        self._apply, self._program, self._typed = apply, program, typed

    def expand(self, elements: Any) -> Any:
        return self._apply(elements, self._program) | beam.ParDo(_Named(self._program, self._typed))


class _Named(beam.DoFn):
    def __init__(self, program: Program, typed: Typed) -> None:
        self._program, self._typed = program, typed

    def process(self, element: Emitted) -> Iterator[Emitted]:
        program, case, key, step, output = element
        yield program, case, self._program.key_name(self._typed.handed(key)), step, output

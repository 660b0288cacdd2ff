"""What comes out of a subject's pipeline, taken in this process: all runners that are asked run DoFns in it (Beam
2.77.0). Beam's own values become values that answers tell: moments, durations, windows, and values with a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindow, IntervalWindow, TimestampedValue
from apache_beam.utils.timestamp import Duration, Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from conformance.model.types import micros
from conformance.model.values import Json, canonical
from conformance.subjects.answers import TIME, told
from conformance.subjects.schema import InvalidSubject

if TYPE_CHECKING:
    from conformance.subjects.subject import Subject


ADDRESS = " at 0x"
"""What the text of an object has that says nothing but where it is."""

FIRST, LAST = (micros(at.replace(tzinfo=timezone.utc)) for at in (datetime.min, datetime.max))
"""The moments that have a date (µs). Those beyond are Beam's ends of all time."""


def value_told(value: Any) -> Json:
    """A value of an output as JSON. Raises InvalidSubject for one that only an address tells from another."""
    return told(plain(value))


def plain(value: Any) -> Any:
    """A value without Beam's own ones in it. Raises InvalidSubject for one that only an address tells from another."""
    if isinstance(value, str | bytes | bytearray) or value is None:
        return value
    own = _of_beam(value)
    if own is not value:
        return own
    for fields in ("_asdict", "asDict"):
        if hasattr(value, fields):
            return plain(getattr(value, fields)())
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else canonical(value_told(key)): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted((value_told(each) for each in value), key=canonical)
    if hasattr(value, "tolist") or ADDRESS not in str(value):
        return value
    if isinstance(value, Iterable):
        return [plain(each) for each in value]
    raise InvalidSubject(
        f"the output has a value of {type(value).__name__}, which only its address tells from another; put out what "
        "is in it, as a dict or a pair, or make it one with output=…"
    )


def _of_beam(value: Any) -> Any:
    if isinstance(value, Timestamp):
        return {TIME: value.micros} if FIRST <= value.micros <= LAST else str(value)
    if isinstance(value, Duration):
        return timedelta(microseconds=value.micros)
    if isinstance(value, IntervalWindow):
        return {"start": plain(value.start), "end": plain(value.end)}
    if isinstance(value, GlobalWindow):
        return "GlobalWindow"
    if isinstance(value, TimestampedValue):
        return {"value": plain(value.value), "time": plain(value.timestamp)}
    if isinstance(value, WindowedValue):
        return {"value": plain(value.value), "time": plain(value.timestamp), "windows": plain([*value.windows])}
    return value


KEY = "key"
"""What the key of a pair is called where the subject names none."""


@dataclass
class Taken:
    """What a run puts out.

    Attributes:
        rows: its rows, in the order in which they came.
        refused: why values in it cannot be told.
    """

    rows: list[dict[str, Json]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


_taken = Taken()


@contextmanager
def taking() -> Iterator[Taken]:
    """What is put out within this context."""
    global _taken
    _taken = Taken()
    try:
        yield _taken
    finally:
        _taken = Taken()


def taken() -> Taken:
    return _taken


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
            row["window"] = plain(window)
        found = self.read(element) if self.read else element
        try:
            subject_sink.taken().rows.append({**columns(found, self.key), **row})
        except InvalidSubject as error:
            subject_sink.taken().refused.append(str(error))


class Expires(beam.DoFn):
    """Takes when the window of each element that comes to a place expires (ms), ``lateness`` (ms) behind its end."""

    def __init__(self, lateness: int, states: bool) -> None:
        self.lateness, self.states = lateness, states

    def process(self, element: Any, window: Any = beam.DoFn.WindowParam) -> None:
        from conformance.engines.beam.subjects import sink as subject_sink

        expires = window.end.micros // 1_000 + self.lateness
        subject_sink.taken().rows.append({"expires": expires, "states": self.states})


def columns(found: Any, key: str) -> dict[str, Json]:
    """An element as columns: those of an object, or key and value of a pair."""
    if hasattr(found, "_asdict"):
        found = found._asdict()
    if isinstance(found, Mapping):
        return {str(name): value_told(value) for name, value in found.items()}
    if isinstance(found, tuple) and len(found) == 2:
        return {key: value_told(found[0]), "value": value_told(found[1])}
    return {"value": value_told(found)}


def key_of_pairs(subject: Subject) -> str:
    """What the key of a pair is called."""
    return subject.own_key or next(iter(subject.keys), KEY)


def output_key(subject: Subject) -> tuple[str, ...]:
    """The columns that tell one answer from another in update mode, where the subject names none."""
    return tuple(dict.fromkeys(["output", *subject.keys, key_of_pairs(subject), "window"]))

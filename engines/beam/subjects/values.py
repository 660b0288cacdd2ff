"""Beam's own values in a subject's output, as values that answers tell: moments, durations, windows, and values with a
time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from apache_beam.transforms.window import GlobalWindow, IntervalWindow, TimestampedValue
from apache_beam.utils.timestamp import Duration, Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from conformance.model.types import micros
from conformance.model.values import Json, canonical
from conformance.subjects.answers import TIME, told
from conformance.subjects.schema import InvalidSubject

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

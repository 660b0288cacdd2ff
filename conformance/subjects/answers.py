"""What a run of a subject answers: its final rows, case by case, and how two answers differ."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from conformance.model.types import EPOCH, micros
from conformance.model.values import Json, canonical
from conformance.subjects.schema import DAY, moment_of
from conformance.subjects.scripts import UNITS_OF_A_MILLISECOND, earlier_dates
from conformance.support.grouping import grouped

TIME, DAY_OF = "$timestamp", "$date"
"""The one name in the object that a moment (µs since the epoch), or a date, is told by; no field is called so."""

DIGITS, NOTHING = 9, 1e-12
"""The digits by which numbers with a point are compared, and what is too little to be told from 0: sums in another
order differ in the last digits."""

ONE_ANSWER = ("",)
"""What tells one answer from another in update mode where there is one: an aggregate without a grouping."""

Answer = tuple[dict[str, Json], ...]
"""Rows of an output: column -> what ``told`` makes of its value."""


@dataclass(frozen=True)
class Ran:
    """A run of a subject.

    Attributes:
        outputs: number of a micro-batch -> the rows that it put out.
        dropped: the rows that the engine counted as late, or that are known to be late where it must drop them; None
            where nothing counts them.
        stored: the rows that its state has at the end; None where it does not tell.
        stateful: an operator keeps state.
        error: what the run failed with, "" if it ran to its end.
        refused: the engine has no such thing, by its own words, and took no row.
        hindered: the error is the machine's, and not the query's: no memory, no room, a process that does not come up.
        before: the operators that kept state in the micro-batches whose output is not shown; None if those ran in
            another release, which may name the same operators otherwise.
        operators: those that kept state in the last query.
        watermark: that at the end (ms); None where the engine does not tell.
        clocked: timers were set that go by the clock.
        whole: the rows are all that a sink of the user's own has at the end.
    """

    outputs: Mapping[int, Answer] = field(default_factory=dict)
    dropped: int | None = None
    stored: int | None = None
    stateful: bool = False
    error: str = ""
    refused: bool = False
    hindered: bool = False
    before: tuple[str, ...] | None = ()
    operators: tuple[str, ...] = ()
    watermark: int | None = None
    clocked: bool = False
    whole: bool = False

    @property
    def exchanged(self) -> bool:
        """Whether other operators keep state than before."""
        return self.before is not None and self.before != self.operators


def told(value: Any) -> Json:
    """A value of an output as JSON. Moments and dates are objects, so that they are told from texts and numbers."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return (float(f"{value:.{DIGITS}g}") if abs(value) >= NOTHING else 0.0) if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime):
        return {TIME: micros(value if value.tzinfo else value.replace(tzinfo=timezone.utc))}
    if isinstance(value, date):
        return {DAY_OF: value.isoformat()}
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else canonical(told(key)): told(each) for key, each in value.items()}
    for fields in ("_asdict", "asDict"):  # of a named tuple, of a row
        if hasattr(value, fields):
            return told(getattr(value, fields)())
    if isinstance(value, list | tuple):
        return [told(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted((told(each) for each in value), key=canonical)
    if isinstance(value, timedelta):
        return str(value)
    return told(value.tolist()) if hasattr(value, "tolist") else str(value)


def shown(value: Json) -> str:
    """A value of an answer as people read it."""
    if isinstance(value, dict) and [*value] == [TIME] and isinstance(value[TIME], int):
        return moment_of(EPOCH + timedelta(microseconds=value[TIME]))
    if isinstance(value, dict) and [*value] == [DAY_OF]:
        return str(value[DAY_OF])
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {shown(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    return canonical(value)


def shown_row(row: Mapping[str, Json]) -> str:
    return ", ".join(f"{name}={shown(value)}" for name, value in row.items())


def leaves(value: Json) -> Iterator[Json]:
    """What stands in a value of an answer: moments, dates, texts, numbers."""
    if isinstance(value, dict | list) and not _is_time(value):
        for each in value.values() if isinstance(value, dict) else value:
            yield from leaves(each)
    else:
        yield value


def kept(answer: Answer, first: int, last: int) -> frozenset[str]:
    """What an answer has that is no time of its rows where a run with other times has it, too. A moment or a date
    between ``first`` and ``last`` (ms) may be that of the clock, which other times must not keep."""
    return frozenset(
        canonical(leaf) for leaf in leaves([*answer]) if not _is_time(leaf) or not first <= _millis_of(leaf) <= last
    )


def moved_back(value: Json, by: int, first: int, last: int, known: Collection[str] = ()) -> Json:
    """A value of an answer with its times moved back by some ms, which are whole days, but for those that are
    ``known``. Dates in texts are times too, and numbers that are s, ms or µs between ``first`` and ``last`` (ms)."""
    if isinstance(value, dict) and not _is_time(value):
        return {name: moved_back(each, by, first, last, known) for name, each in value.items()}
    if isinstance(value, list):
        return [moved_back(each, by, first, last, known) for each in value]
    if canonical(value) in known:
        return value
    if isinstance(value, dict):
        return {TIME: value[TIME] - by * 1_000} if TIME in value else {DAY_OF: earlier_dates(value[DAY_OF], by)}
    if isinstance(value, str):
        return earlier_dates(value, by)
    if isinstance(value, int | float) and not isinstance(value, bool):
        for unit in UNITS_OF_A_MILLISECOND:
            if first * unit <= value <= last * unit:
                return value - type(value)(round(by * unit))
    return value


def _is_time(value: Json) -> bool:
    return isinstance(value, dict) and [*value] in ([TIME], [DAY_OF])


def _millis_of(value: Any) -> int:
    return value[TIME] // 1_000 if TIME in value else (date.fromisoformat(value[DAY_OF]) - EPOCH.date()).days * DAY


def final(ran: Ran, mode: str, output_key: Sequence[str]) -> Answer:
    """The rows that a run ends with: all of them in append mode, the last one of each key in update mode, and those of
    the last micro-batch in complete mode; what a sink of the user's own has."""
    batches = sorted(ran.outputs)
    if mode == "complete" and not ran.whole:
        return ran.outputs[batches[-1]] if batches else ()
    rows = [row for number in batches for row in ran.outputs[number]]
    if mode == "update" and output_key and not ran.whole:
        return tuple({canonical([row.get(name) for name in output_key]): row for row in rows}.values())
    return tuple(rows)


def by_case(answer: Answer, column: str, read: Callable[[Json], tuple[int, Json]]) -> dict[int, Answer]:
    """The rows of each case. ``read`` gives the case and the plain value of a key that was made a case's own."""
    read_rows = ((row, *read(row.get(column))) for row in answer)
    found = grouped((case, {**row, column: value}) for row, case, value in read_rows)
    return {case: tuple(rows) for case, rows in found.items()}


@dataclass(frozen=True)
class Difference:
    """Rows that one of two answers alone has."""

    lost: Answer
    new: Answer

    def __bool__(self) -> bool:
        return bool(self.lost or self.new)

    @property
    def words(self) -> str:
        parts = [
            f"{shown_row(row)} {what}"
            for rows, what in ((self.lost, "is lost"), (self.new, "is new"))
            for row in rows[:2]
        ]
        more = len(self.lost) + len(self.new) - len(parts)
        return "; ".join(parts) + (f"; and {more} more" if more > 0 else "")


def difference(one: Iterable[Mapping[str, Json]], two: Iterable[Mapping[str, Json]]) -> Difference:
    """How two answers differ as multisets of rows."""
    before, after = Counter(map(canonical, one)), Counter(map(canonical, two))
    rows = {canonical(row): dict(row) for row in (*one, *two)}
    return Difference(
        tuple(rows[text] for text in sorted((before - after).elements())),
        tuple(rows[text] for text in sorted((after - before).elements())),
    )

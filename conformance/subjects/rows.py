"""The rows of cases, as drawn, and how they are delivered.

A case is a handful of rows that belong together. The cases of a round share one stretch of event time and are delivered
together, so that one run of the engine has many of them. A delivery is micro-batches of rows. It keeps the watermark's
promise: a row is never behind the latest row before it by the delay or more, so the engine must not drop it.

The last two micro-batches are *closing* rows: copies of rows, far ahead in event time, that move the watermark past
everything.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import groupby, pairwise
from random import Random
from zoneinfo import ZoneInfo

from conformance.model.types import EPOCH, Array, Date, Long, Map, Struct, Timestamp, Type
from conformance.model.values import Json, canonical
from conformance.subjects.schema import DAY, InvalidSubject, LocalTimestamp, millis, misfit, moment
from conformance.subjects.subject import ONE, Subject
from conformance.support.grouping import grouped
from conformance.support.plain import Plain

START = 1_583_020_800_000
"""Where the event time of cases begins: 2020-03-01, a leap year's first day behind its leap day (ms)."""

CLOSING = -1
"""The number of the case of closing rows."""

OF_A_CASE = 1_000
"""The numbers of a case's rows begin with that of the case times this."""

BATCHES = 4
"""The micro-batches of a plain delivery, before the closing ones."""

YEARS = 3_000 * DAY
"""How long (ms) the rows of cases may go on one behind the other."""


@dataclass(frozen=True)
class Row(Plain):
    """A row of an input.

    Attributes:
        values: column -> value (JSON); the column of event time is left out.
        at: the event time (ms), None without one.
        case: the number of its case.
        input: the name of its input.
        nr: its number within its round; closing rows have negative ones.
        late: it breaks the watermark's promise on purpose: the watermark has passed all that it could belong to.
    """

    values: Mapping[str, Json]
    at: int | None = None
    case: int = 0
    input: str = ONE
    nr: int = 0
    late: bool = False

    @property
    def closing(self) -> bool:
        return self.case == CLOSING


Batch = tuple[Row, ...]
Delivery = tuple[Batch, ...]
"""The micro-batches of a run."""


@dataclass(frozen=True)
class Span:
    """The stretch of event time of a round.

    Attributes:
        durations: the times that the function goes by, smallest first (ms).
        delay: how far the watermark stays behind (ms), 0 for none.
        length: how far rows are from the first one at most (ms).
        zones: the time zones whose local times the function goes by.
    """

    durations: tuple[int, ...]
    delay: int
    length: int
    zones: tuple[str, ...] = ()

    @property
    def longest(self) -> int:
        return max((*self.durations, 1_000))

    @property
    def closing(self) -> int:
        """The event time of closing rows: what is open at the last row of a case has ended by then."""
        return START + self.length + self.delay + 4 * self.longest + DAY

    @property
    def long_past(self) -> int:
        """An event time of which nothing is open once any row of a case was seen."""
        return START - self.delay - 2 * self.longest - 1

    @property
    def moved(self) -> int:
        """How far times are moved to ask what a move changes, to later and to earlier times: 28 years, so that days
        have the same names and dates, and a multiple of every duration, so that windows begin where they began (ms)."""
        step = math.lcm(DAY, *self.durations)
        return math.ceil(28 * 365.25 * DAY / step) * step if step <= 400 * DAY else 0

    def alike(self, by: int) -> bool:
        """Whether all local times are as far from UTC when they are moved by some ms: the rules of a zone change."""

        def offset(zone: str, ms: int) -> timedelta | None:
            return (EPOCH + timedelta(milliseconds=ms)).astimezone(ZoneInfo(zone)).utcoffset()

        days = range(START - self.longest - DAY, START + self.length + self.longest + DAY, DAY)
        return all(offset(zone, at) == offset(zone, at + by) for zone in self.zones for at in days)


def span_of(durations: Iterable[int], delay: int | None, zones: tuple[str, ...] = ()) -> Span:
    known = tuple(sorted({d for d in durations if 0 < d <= 400 * DAY}))
    # Long enough for three windows, and not so long that most rows are in none together.
    longest = max((*known, 1_000))
    return Span(known, delay or 0, max(3 * longest, 2 * (delay or 0)), zones)


def closing(rows: Sequence[Row], span: Span) -> Delivery:
    """The two micro-batches of closing rows: a copy of each different row at the closing time, and once more a
    millisecond later."""
    first = {(row.input, canonical(row.values)): row for row in rows}
    return tuple(
        tuple(
            replace(row, at=None if row.at is None else span.closing + late, case=CLOSING, nr=-1 - 2 * nr - late)
            for nr, row in enumerate(first.values())
        )
        for late in (0, 1)
    )


def cut(rows: Sequence[Row], parts: int, random: Random | None = None) -> Delivery:
    """The rows in order, in so many micro-batches: of equal size, or cut at random places. None is empty if there are
    rows enough."""
    parts = max(1, min(parts, len(rows)))
    places = [len(rows) * n // parts for n in range(1, parts)]
    if random and len(rows) > parts:
        places = sorted(random.sample(range(1, len(rows)), parts - 1))
    return tuple(tuple(rows[a:b]) for a, b in zip([0, *places], [*places, len(rows)], strict=True))


def ending_together(rows: Sequence[Row], span: Span) -> list[Row]:
    """The rows of some cases, the last one of each at the end of the span: many compete for the last word."""
    last: dict[int, int] = {}
    for row in rows:
        last[row.case] = max(last.get(row.case, START), row.at or START)
    by = {case: START + span.length - at for case, at in last.items()}
    return in_time(row if row.at is None else replace(row, at=row.at + by[row.case]) for row in rows)


def one_behind_another(rows: Sequence[Row], span: Span) -> tuple[list[Row], Span]:
    """The rows of as many cases as a few years have room for, each behind all that the case before it leaves open, and
    the span that they have. All begin where windows of each duration do, if days have room for that."""
    step = math.lcm(DAY, *span.durations)
    unit = step if step <= 40 * DAY else span.longest
    apart = math.ceil((span.closing - START) / unit) * unit
    cases = sorted({row.case for row in rows})[: max(1, YEARS // apart)]
    moved = [
        replace(row, at=None if row.at is None else row.at + apart * cases.index(row.case))
        for row in rows
        if row.case in cases
    ]
    return in_time(moved), replace(span, length=span.length + apart * (len(cases) - 1))


def by_turns(rows: Sequence[Row], parts: int) -> Delivery:
    """The rows in order, in so many micro-batches or a few more. For each of several inputs one of them has no row of
    it: the longest stretch of rows of the others."""
    places = {len(rows) * n // parts for n in range(1, parts)}
    for of in sorted({row.input for row in rows}):
        others = [row.input != of for row in rows]
        stretches = [[*found] for other, found in groupby(range(len(rows)), others.__getitem__) if other]
        if stretches:
            longest = max(stretches, key=len)
            begin, end = longest[0], longest[-1] + 1
            places = {place for place in places if not begin < place < end} | {begin, end}
    return tuple(tuple(rows[a:b]) for a, b in pairwise(sorted({0, len(rows), *places})))


def in_time(rows: Iterable[Row]) -> list[Row]:
    """The rows in the order of their event time; rows of one time in the order of their numbers, and rows without a
    time in that of their numbers within their case, so that each micro-batch has rows of each case."""
    return sorted(rows, key=lambda row: (row.at or 0, row.nr % OF_A_CASE if row.at is None else 0, row.nr))


def other_orders(rows: Sequence[Row], delay: int | None, random: Random) -> tuple[list[Row], list[Row]]:
    """The rows in two other orders that keep the watermark's promise; in any order without a watermark (``delay``
    None). A row that comes early in one comes as late as it may in the other, so of two rows of one time each is the
    first in one of them."""
    found = list(rows)
    random.shuffle(found)
    most = max((delay or 0) - 1, 0)
    timed = delay is not None and any(row.at is not None for row in rows)
    few = most // 4
    held = {id(row): random.choice((0, most, random.randint(0, few), most - random.randint(0, few))) for row in found}

    def early(row: Row) -> int:
        return (row.at or 0) + held[id(row)] if timed else 0

    def late(row: Row) -> int:
        return (row.at or 0) + most - held[id(row)] if timed else 0

    backwards = found[::-1]
    return sorted(found, key=early), sorted(backwards, key=late)


def held_back(delivery: Delivery, delay: int, chosen: Callable[[Row], bool]) -> Delivery:
    """The micro-batches, the chosen rows held back until one that the watermark has passed by then, but that of the
    micro-batch before has not: an engine that goes by the latter still takes them. A row for which there is no such
    micro-batch stays. No micro-batch loses its last row of an input."""
    marks, latest = list[float](), dict[str, int]()
    inputs = {row.input for row in rows_in(delivery) if row.at is not None}
    for batch in delivery:  # the watermark of each micro-batch goes by those before it
        marks.append(min(latest.values()) - delay if latest.keys() == inputs else -math.inf)
        latest |= {row.input: max(row.at, latest.get(row.input, row.at)) for row in batch if row.at is not None}
    found: list[list[Row]] = [[] for _ in delivery]
    for number, batch in enumerate(delivery):
        last = {row.input: row for row in in_time(batch)}
        for row in batch:
            place = number
            if row.at is not None and not row.closing and row is not last[row.input] and chosen(row):
                later = (n for n in range(number + 1, len(delivery)) if marks[n - 1] < row.at <= marks[n])
                place = next(later, number)
            found[place].append(row)
    return tuple(map(tuple, found))


def in_batches_of(other: Delivery, rows: Iterable[Row], keys: Sequence[str]) -> Delivery:
    """The rows in their order, in the micro-batches of another delivery: each has as many rows of a case and a key as
    that one. Where both orders keep the watermark's promise, this delivery does, too."""

    def of(row: Row) -> str:
        return canonical([row.case, *(row.values.get(key) for key in keys)])

    left = {name: iter(mine) for name, mine in grouped((of(row), row) for row in rows).items()}
    return tuple(tuple(next(left[of(row)]) for row in batch) for batch in other)


# Values


def moved(kind: Type, value: Json, by: int) -> Json:
    """A value (JSON) of a type with all times in it moved by some ms; dates move by whole days."""
    if value is None:
        return None
    if isinstance(kind, Timestamp):
        at = millis(value) if isinstance(value, str) else value
        return moment(at + by).removesuffix("Z" if isinstance(kind, LocalTimestamp) else "")
    if isinstance(kind, Date):
        return (date.fromisoformat(value) + timedelta(milliseconds=by)).isoformat()
    if isinstance(kind, Array):
        return [moved(kind.element, each, by) for each in value]
    if isinstance(kind, Map):
        return {key: moved(kind.value, each, by) for key, each in value.items()}
    if isinstance(kind, Struct):
        return {name: moved(field, value.get(name), by) for name, field in kind.fields}
    return value


def moved_rows(subject: Subject, delivery: Delivery, by: int) -> Delivery:
    """A delivery with all its times moved."""
    kinds = {of: {column.name: column.type for column in each.columns} for of, each in subject.inputs.items()}

    def move(row: Row) -> Row:
        values = {name: moved(kinds[row.input][name], value, by) for name, value in row.values.items()}
        return replace(row, values=values, at=None if row.at is None else row.at + by)

    return tuple(tuple(map(move, batch)) for batch in delivery)


def written(subject: Subject, row: Row, own: Callable[[Json, int], Json] | None = None) -> dict[str, Json]:
    """The row as it goes to the engine. ``own`` makes the value of the own key its case's own: (value, case) ->
    value."""
    found, mine = dict(row.values), subject.inputs[row.input]
    if mine.time and row.at is not None:
        column = subject.column(row.input, mine.time)
        found[mine.time] = row.at if column and isinstance(column.type, Long) else moment(row.at)
    if own and subject.own_key in found:
        found[subject.own_key] = own(found[subject.own_key], row.case)
    return {column.name: moved(column.type, found.get(column.name), 0) for column in mine.columns}


# Sample rows


def sample_rows(subject: Subject, lines: Iterable[str], where: str) -> list[Row]:
    """The rows of a file of sample rows: a JSON object a line. With several inputs, ``"_input"`` names a row's input.

    Raises:
        InvalidSubject: a line is not such a row.
    """
    import json

    found: list[Row] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except ValueError as error:
            raise InvalidSubject(f"{where}, line {number}: not JSON, with a row on each line: {error}") from None
        if not isinstance(data, dict):
            raise InvalidSubject(f"{where}, line {number}: a row is an object of columns, not {line.strip():.40}")
        found.append(_sample_row(subject, data, f"{where}, line {number}", len(found)))
    if not found:
        raise InvalidSubject(f"{where}: there is no row in it")
    return found


def _sample_row(subject: Subject, data: dict[str, Json], where: str, nr: int) -> Row:
    of = data.pop("_input", ONE if ONE in subject.inputs else "")
    if of not in subject.inputs:
        raise InvalidSubject(f"{where}: '_input' names one of {', '.join(subject.inputs)}, not {of!r}")
    names = {column.name for column in subject.inputs[of].columns}
    if strange := sorted({*data} - names):
        raise InvalidSubject(f"{where}: {strange[0]!r} is no column of the schema ({', '.join(sorted(names))})")
    for column in subject.inputs[of].columns:
        if column.name != subject.inputs[of].time and (
            wrong := misfit(column.type, data.get(column.name), column.name)
        ):
            raise InvalidSubject(f"{where}: {wrong}")
    time, at = subject.inputs[of].time, None
    if time:
        given = data.pop(time, None)
        try:
            at = given if isinstance(given, int) else millis(str(given))
        except ValueError:
            raise InvalidSubject(f"{where}: {time} is ISO 8601 or ms since the epoch, not {given!r}") from None
    return Row(data, at, input=of, nr=nr)


def within(rows: Sequence[Row], span: Span) -> list[Row]:
    """Sample rows with their times moved into a span: the first is at its start, and what lies beyond its end begins at
    the start again."""
    times = [row.at for row in rows if row.at is not None]
    first = min(times, default=0)
    return [row if row.at is None else replace(row, at=START + (row.at - first) % (span.length + 1)) for row in rows]


def day_of(ms: int) -> date:
    return (EPOCH + timedelta(milliseconds=ms)).date()


def rows_in(delivery: Delivery) -> Iterator[Row]:
    return (row for batch in delivery for row in batch)

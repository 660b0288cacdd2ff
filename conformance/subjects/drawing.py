"""Cases drawn by Hypothesis: rows of a schema, at times that matter to the function, or made of the user's sample
rows."""

import string
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from conformance.generation.examples import examples, seeded
from conformance.model.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Double,
    Float,
    Int,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
)
from conformance.model.values import Json, canonical
from conformance.subjects.rows import OF_A_CASE, START, Row, Span, day_of, in_time, within
from conformance.subjects.schema import Column, moment
from conformance.subjects.subject import Subject

LEAST, MOST = 4, 12
"""How many rows a case has."""

KEYS = 2
"""How many values a key has in a case."""

CROWDED = 4
"""One of so many cases has one key alone, and one stretch as long as the longest duration: many rows compete there."""

REPEATED = 3
"""One of so many cases has a row twice, with the same values and time: what drops duplicates goes by such rows."""

TWIN, LIKE = 6, 7
"""What makes a row a twin of the one before it, and one that is like it but for a column, among the numbers that say
where its time is."""

WORDS = ("a", "b", "c", "", "ä ß", "Ω'\"")
"""Texts that are drawn often: few, so that rows share them; one is empty, others need more than ASCII."""


def values_of(kind: Type, span: Span) -> st.SearchStrategy[Json]:
    """Values of a type, as JSON: often the same few. Numbers are small enough to be added up."""
    if isinstance(kind, Boolean):
        return st.booleans()
    if isinstance(kind, Int):
        return st.integers(-1, 3) | st.integers(-100, 100)
    if isinstance(kind, Double | Float):
        return st.integers(-8, 40).map(lambda n: n / 4)  # sums of quarters are exact in any order
    if isinstance(kind, Decimal):
        most = 10 ** min(kind.precision - kind.scale, 3) - 1
        return st.integers(-most, most).map(str)
    if isinstance(kind, String):
        return st.sampled_from(WORDS) | st.text(string.ascii_letters, max_size=4)
    if isinstance(kind, Binary):
        return st.sampled_from(["", "YQ==", "AP8="])
    if isinstance(kind, Date):
        return st.integers(0, 40).map(lambda n: day_of(START + n * 86_400_000).isoformat())
    if isinstance(kind, Timestamp):
        return times_of(span).map(moment)
    if isinstance(kind, Array):
        return st.lists(values_of(kind.element, span), max_size=3)
    if isinstance(kind, Map):
        return st.dictionaries(st.sampled_from(WORDS[:3]), values_of(kind.value, span), max_size=2)
    assert isinstance(kind, Struct)
    return st.fixed_dictionaries({name: values_of(field, span) for name, field in kind.fields})


def times_of(span: Span) -> st.SearchStrategy[int]:
    """Event times (ms) of a span: any, and those around whole multiples of the durations and of the delay."""
    edges = {START, START + span.length}
    for step in (*span.durations, span.delay):
        edges |= {START + step * n for n in range(1, 4) if step}
    near = st.builds(lambda edge, by: edge + by, st.sampled_from(sorted(edges)), st.sampled_from((-1, 0, 1)))
    anywhere = st.integers(START, START + span.length)
    return (near | anywhere).filter(lambda at: START <= at <= START + span.length)


def _keys(column: Column) -> st.SearchStrategy[Json]:
    if isinstance(column.type, String):
        return st.sampled_from([f"k{n}" for n in range(1, KEYS + 1)])
    return st.integers(1, KEYS)


def rows_of(subject: Subject, span: Span, sample: Sequence[Row] = ()) -> st.SearchStrategy[tuple[Row, ...]]:
    """The rows of a case. With sample rows, each is one of these: a column now and then has another row's value, and
    its time is another."""
    # A strategy that is made anew for each row takes longer than what it draws.
    rows = {of: _row(subject, of, span, sample) for of in subject.inputs}
    return st.lists(
        st.sampled_from(list(rows)).flatmap(rows.__getitem__),
        min_size=LEAST,
        max_size=MOST,
    ).map(lambda drawn: _with_boundaries(drawn, subject.keys, span))


def _row(subject: Subject, of: str, span: Span, sample: Sequence[Row]) -> st.SearchStrategy[Any]:
    time = subject.inputs[of].time
    columns = [column for column in subject.inputs[of].columns if column.name != time]
    there = [row for row in sample if row.input == of]
    fields = {column.name: _values(subject, column, span) for column in columns}
    if there:
        fields = {column.name: st.sampled_from([row.values.get(column.name) for row in there]) for column in columns}
    made = st.fixed_dictionaries(fields)
    values: st.SearchStrategy[Any] = made
    if there:
        kept = st.sampled_from([dict(row.values) for row in there])
        values = (
            kept | kept | st.builds(_mixed, kept, made, st.sets(st.sampled_from(sorted(fields) or [""]), max_size=1))
        )
    at = times_of(span) if time else st.none()
    return st.tuples(st.just(of), values, at, st.integers(0, LIKE))


def _mixed(kept: dict[str, Json], other: dict[str, Json], names: set[str]) -> dict[str, Json]:
    return {name: other.get(name) if name in names else value for name, value in kept.items()}


def _values(subject: Subject, column: Column, span: Span) -> st.SearchStrategy[Json]:
    if column.name in subject.values:
        return st.sampled_from(subject.values[column.name])
    if column.name in subject.keys and isinstance(column.type, String | Int):
        return _keys(column)
    found = values_of(column.type, span)
    if column.nullable and column.name not in subject.keys:
        return st.one_of(found, found, found, st.none())
    return found


def _with_boundaries(
    drawn: Sequence[tuple[str, dict[str, Json], int | None, int]], keys: Sequence[str], span: Span
) -> tuple[Row, ...]:
    """The rows, some of them a duration or the delay behind the row before, to the millisecond, or at the same time,
    or twins of it: at its time, and with its key, or with all of its values but one."""
    steps = [0, *span.durations, span.delay]
    found: list[Row] = []
    for nr, (of, values, at, how) in enumerate(drawn):
        if how >= TWIN and found:
            others = [name for name in values if name not in keys]
            own = {others[nr % len(others)]} if how == LIKE and others else {*others}
            values = {
                name: value if name in own else found[-1].values.get(name, value) for name, value in values.items()
            }
            at = at if at is None or found[-1].at is None else found[-1].at
        elif at is not None and found and how >= 3 and (before := found[-1].at) is not None:
            moved = before + steps[(nr + how) % len(steps)] + how - 4
            at = moved if START <= moved <= START + span.length else at
        found.append(Row(values, at, input=of, nr=nr))
    return tuple(found)


def _crowded(rows: tuple[Row, ...], keys: Sequence[str], span: Span) -> tuple[Row, ...]:
    """The rows with the key of the first one, in one stretch as long as the longest duration."""
    first, longest = rows[0], span.longest
    begin = min(((first.at or START) - START) // longest, span.length // longest - 1) * longest + START
    key = {name: first.values[name] for name in keys if name in first.values}
    return tuple(
        replace(
            row,
            values={**row.values, **key},
            at=None if row.at is None else begin + (row.at - START) % longest,
        )
        for row in rows
    )


def draw(subject: Subject, span: Span, wanted: int, seed: int, sample: Sequence[Row] = ()) -> list[Row]:
    """The rows of so many cases, in the order of time. The first case of sample rows is the sample itself, its first
    fifty rows. The same arguments give the same rows."""

    def identity(rows: tuple[Row, ...]) -> str:
        return canonical([[row.values, row.at, row.input] for row in rows])

    cases = examples(rows_of(subject, span, sample), wanted, seeded(subject.name, seed), identity)
    if sample:
        cases = [tuple(within(sample[:50], span)), *cases][:wanted]
    numbered = [
        replace(row, case=case, nr=case * OF_A_CASE + nr)
        for case, rows in enumerate(cases)
        for nr, row in enumerate(_varied(case, rows, subject.keys, span))
    ]
    return in_time(numbered)


def _varied(case: int, rows: tuple[Row, ...], keys: Sequence[str], span: Span) -> tuple[Row, ...]:
    """The rows of a case, by its number."""
    if (case + 1) % CROWDED == 0:
        return _crowded(rows, keys, span)
    middle = len(rows) // 2
    return rows if (case + 1) % REPEATED else (*rows[:middle], rows[middle], *rows[middle:])

"""A failing pair made smaller: rows first, then columns, then micro-batches. Only what still fails is kept."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from conformance.model.types import Double, Float, Int, String
from conformance.subjects.questions import Pair, Run, joined, means_something, numbers, with_value, without
from conformance.subjects.rows import rows_in
from conformance.subjects.schema import Column
from conformance.subjects.setup import OTHER
from conformance.subjects.subject import Subject

T = TypeVar("T")

First = Callable[[Sequence[Pair]], Pair | None]
"""The first of some pairs that fails, None where none does or no time is left."""

ROUNDS = 8
"""How often rows are taken away from what is left, at most."""


def fewer_rows(pair: Pair, first: First, inputs: Sequence[str], hollow: bool) -> Pair:
    """A pair with as few of its cases' rows as still fail. ``hollow``: micro-batches without rows stay, so that many
    candidates share a run. If not, each takes runs of its own: parts are tried one after the other, large ones
    first."""
    if not hollow:
        rows = [nr for nr in numbers(pair) if nr >= 0]

        def of(kept: Sequence[int]) -> Pair:
            return without(pair, [nr for nr in rows if nr not in kept])

        return of(fewest(rows, lambda kept: means_something(of(kept), inputs) and first([of(kept)]) is not None))
    for _ in range(ROUNDS):
        rows = [nr for nr in numbers(pair) if nr >= 0]
        smaller = [without(pair, gone, hollow) for gone in _chunks(rows)]
        found = first([candidate for candidate in smaller if means_something(candidate, inputs)])
        if found is None:
            return pair
        pair = found
    return pair


def fewest(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """As few of some items that fail together as still fail: parts are left out one after the other, large ones
    first."""
    left, size = [*items], len(items) // 2
    while size >= 1:
        at = 0
        while at < len(left):
            fewer = [*left[:at], *left[at + size :]]
            if fewer and fails(fewer):
                left = fewer
            else:
                at += size
        size //= 2
    return left


def _chunks(rows: Sequence[int]) -> Iterator[list[int]]:
    """Rows to take away: large parts first, single rows last."""
    size = len(rows) - 1
    while size >= 1:
        yield from (list(rows[at : at + size]) for at in range(0, len(rows), size))
        if size == 1:
            return
        size = max(1, size // 2)


def plainer(pair: Pair, subject: Subject, first: First, inputs: Sequence[str]) -> Pair:
    """A pair with plain values in the columns that do not matter, without closing rows that do not, and with as few
    micro-batches as still fail. Each step is tried alone."""
    for step in _steps(pair, subject):
        candidates = [step(pair)]
        found = first([each for each in candidates if each is not None and means_something(each, inputs)])
        pair = found or pair
    return _fewer_batches(pair, first, inputs)


def _steps(pair: Pair, subject: Subject) -> Iterator[Callable[[Pair], Pair | None]]:
    closing = [nr for nr in numbers(pair) if nr < 0]
    if closing:
        # Without closing rows a stream holds back what a batch query, or another engine, puts out.
        if not pair.varied.setup.bounded and pair.varied.setup.by != OTHER:
            yield lambda now: without(now, closing)
        yield lambda now: without(now, _all_but_one(now))
    columns = [
        (of, column.name, value)
        for of, each in subject.inputs.items()
        for column in each.columns
        if column.name not in (*subject.keys, *subject.times) and column.name not in subject.values
        for value in _plain(column)
    ]
    if columns:
        yield lambda now: _with_values(now, columns)


def _all_but_one(pair: Pair) -> list[int]:
    """Closing rows but the first of each micro-batch and input."""
    kept: dict[tuple[int, str], int] = {}
    return [row.nr for row in pair.rows if row.closing and kept.setdefault((row.nr % 2, row.input), row.nr) != row.nr]


def _with_values(pair: Pair, columns: Sequence[tuple[str, str, Any]]) -> Pair | None:
    found = pair
    for of, name, value in columns:
        if all(row.values.get(name) == value for row in rows_in(pair.plain.delivery) if row.input == of):
            continue
        found = with_value(found, of, name, value)
    return found if found != pair else None


def _plain(column: Column) -> tuple[Any, ...]:
    """The plainest value of a column, as JSON; none where each would be as good as those that it has."""
    if isinstance(column.type, String):
        return ("a",)
    if isinstance(column.type, Int):
        return (1,)
    if column.nullable:
        return (None,)
    return (1.0,) if isinstance(column.type, Double | Float) else ()


def _fewer_batches(pair: Pair, first: First, inputs: Sequence[str]) -> Pair:
    # Where both runs had micro-batches of the same sizes, something else makes the difference: they keep one shape.
    together = _shape(pair.plain) == _shape(pair.varied)
    for sides in (("plain", "varied"),) if together else (("plain",), ("varied",)):
        at = 0
        while at < len(getattr(pair, sides[0]).delivery) - 1:
            candidate = pair
            for side in sides:
                candidate = joined(candidate, side, at)
            across = pair.varied.setup.begun == at + 1
            if not across and means_something(candidate, inputs) and (found := first([candidate])):
                pair = found
            else:
                at += 1
    return pair


def _shape(run: Run) -> list[int]:
    """How many rows each micro-batch has."""
    return [len(batch) for batch in run.delivery]

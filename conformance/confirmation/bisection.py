"""Bisection: the fewest of some things that a failure needs."""

from collections.abc import Callable, Generator
from typing import TypeVar

T = TypeVar("T")
Question = TypeVar("Question")
Answer = TypeVar("Answer")

Search = Generator[tuple[T, ...], bool, tuple[T, ...]]
"""Asks whether it fails with some of the things, is sent the answer, and returns those that it needs."""


def answered(
    search: Search[T], ask: Callable[[tuple[T, ...]], Generator[Question, Answer, bool]]
) -> Generator[Question, Answer, tuple[T, ...]]:
    """What a search returns, with ``ask`` for the answer to each of its questions."""
    try:
        some = next(search)
        while True:
            some = search.send((yield from ask(some)))
    except StopIteration as end:
        found: tuple[T, ...] = end.value
        return found


def fewest(pool: tuple[T, ...], most: int, growth: int | None = None, suspects: tuple[T, ...] = ()) -> Search[T]:
    """The fewest things that a failure needs, after at most ``most`` questions. It fails with all of them, which is not
    asked.

    Bisection finds one needed thing at a time. It searches for the shortest prefix that makes it fail together with the
    things found so
    far: the last of that prefix is needed. With ``growth``, short prefixes are tried first, each ``growth`` times as
    long as the one before. ``suspects`` are tried alone before anything else. If the questions are used up first, it
    fails with the returned things, but some of them may not be needed.
    """
    needed = tuple[T, ...]()
    while pool and most > 0:
        most -= 1
        if (yield needed):
            return needed
        for suspect in suspects if len(pool) > 2 and not needed else ():
            most -= 1
            if (yield (suspect,)):
                return (suspect,)
        too_few, enough = 0, len(pool)
        size = 1 if growth else enough
        while enough - too_few > 1 and most > 0:
            tried = size if growth and size < enough else (too_few + enough) // 2
            most -= 1
            if (yield (*pool[:tried], *needed)):
                enough = tried
                size = enough
            else:
                too_few, size = tried, size * (growth or 1)
        if enough - too_few > 1:
            return *pool[:enough], *needed
        pool, needed = pool[: enough - 1], (pool[enough - 1], *needed)
    return *pool, *needed

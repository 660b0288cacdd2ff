"""Work for several processes of this machine that share what this process has in memory."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST = 4
"""The most processes: each has its own copy of what it changes."""

_work: Callable[[Any], Any] | None = None
"""What the processes do: they are forks of this process, so it need not be sent to them."""


def available() -> int:
    """The number of processes that this machine has cores for, at most MOST. 1 where a process cannot be forked."""
    if "fork" not in multiprocessing.get_all_start_methods():
        return 1
    return min(MOST, os.cpu_count() or 1)


def answers(work: Callable[[Item], Answer], items: Iterable[Item], processes: int) -> Iterator[Answer]:
    """The answers to items, in their order. With one process, this process works. What ``work`` changes elsewhere is lost otherwise."""
    global _work
    items = list(items)
    if processes < 2 or len(items) < 2:
        yield from map(work, items)
        return
    _work = work
    try:
        with multiprocessing.get_context("fork").Pool(min(processes, len(items)), _begin) as pool:
            yield from pool.imap(_do, items)
    finally:
        _work = None


def _begin() -> None:
    """The first process alone answers signals: it ends the others, which then have nothing to say."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _do(item: Any) -> Any:
    assert _work
    return _work(item)

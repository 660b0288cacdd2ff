"""Work for several processes of this machine that share what this process has in memory."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST = 4
"""The most processes: each has its own copy of what it changes."""

_work: Callable[[Any], Any] | None = None
"""What the processes do: they are forks of this process, so it need not be sent to them."""


def available() -> int:
    """The number of processes that this machine has cores for, at most MOST. 1 where this process cannot be forked, or
    has threads: a fork of such a process may crash at once."""
    if "fork" not in multiprocessing.get_all_start_methods() or threading.active_count() > 1:
        return 1
    return min(MOST, os.cpu_count() or 1)


Asked = Callable[[Iterable[Item]], Iterator[Answer]]
"""Gives the answers to items, in their order."""


@contextmanager
def workers(work: Callable[[Item], Answer], processes: int) -> Iterator[Asked[Item, Answer]]:
    """A function from items to the answers of ``work``. Its processes begin here: a process that already has threads
    must not fork. With one process, this process works. What ``work`` changes elsewhere is lost otherwise.

    Raises:
        concurrent.futures.process.BrokenProcessPool: a process ended before its answer, as the fork of a process with
        threads may.
    """
    global _work
    if processes < 2:
        yield lambda items: map(work, items)
        return
    _work = work
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("fork"), _begin)
    pool.submit(int).result()  # All processes begin here: later, this process may have threads.
    ended = False
    try:
        yield lambda items: pool.map(_do, items)
        ended = True
    finally:
        _work = None
        if not ended:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
        pool.shutdown(wait=ended, cancel_futures=True)


def answers(work: Callable[[Item], Answer], items: Iterable[Item], processes: int) -> Iterator[Answer]:
    """The answers to items, in their order, as ``workers`` finds them."""
    items = list(items)
    with workers(work, min(processes, len(items))) as ask:
        yield from ask(items)


def _begin() -> None:
    """The first process alone answers signals: it ends the others, which then have nothing to say."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _do(item: Any) -> Any:
    assert _work
    return _work(item)

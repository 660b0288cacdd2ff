"""Work for several processes of this machine that share what this process has in memory."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST = 4
"""The most processes: each has its own copy of what it changes."""


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
    must not fork. A process is a fork, and so has ``work``; it is sent items alone. With one process, this process
    works. What ``work`` changes elsewhere is lost otherwise.

    No thread is about: those of ``ProcessPoolExecutor`` may write a traceback where an interrupt ends the processes
    (Python 3.11.7).

    Raises:
        BrokenProcessPool: a process ended before its answer, as the fork of a process with threads may.
    """
    if processes < 2:
        yield lambda items: map(work, items)
        return
    fork = multiprocessing.get_context("fork")
    pipes, started = list[Connection](), list[Any]()
    for _ in range(processes):
        mine, other = fork.Pipe()
        pipes.append(mine)
        started.append(fork.Process(target=_serve, args=(work, other, [*pipes]), daemon=True))
        started[-1].start()
        other.close()
    try:
        yield lambda items: _answered(items, pipes)
    finally:
        for process in started:
            process.kill()
        for process, pipe in zip(started, pipes, strict=True):
            process.join()
            pipe.close()


def _serve(work: Callable[[Any], Any], pipe: Connection, others: Iterable[Connection]) -> None:
    """Answers items until the process that sends them closes its end of the pipe, or ends. That one alone answers
    signals: it ends the others, which then have nothing to say."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in others:
        other.close()
    with suppress(EOFError, OSError):
        while True:
            item = pipe.recv()
            try:
                found = True, work(item)
            except Exception as error:
                found = False, error
            pipe.send(found)


def _answered(items: Iterable[Any], pipes: Iterable[Connection]) -> Iterator[Any]:
    """The answers to items, in their order. Each process has one item at a time."""
    asked, idle, busy, found = enumerate(items), [*pipes], dict[Connection, int](), dict[int, Any]()
    following = 0
    while True:
        while idle and (one := next(asked, None)):
            pipe = idle.pop()
            busy[pipe], item = one
            pipe.send(item)
        if not busy:
            return
        for pipe in [pipe for pipe in wait([*busy]) if isinstance(pipe, Connection)]:
            try:
                answered, answer = pipe.recv()
            except EOFError:
                raise BrokenProcessPool("a process ended before its answer") from None
            if not answered:
                raise answer
            found[busy.pop(pipe)] = answer
            idle.append(pipe)
        while following in found:
            yield found.pop(following)
            following += 1


def answers(work: Callable[[Item], Answer], items: Iterable[Item], processes: int) -> Iterator[Answer]:
    """The answers to items, in their order, as ``workers`` finds them."""
    items = list(items)
    with workers(work, min(processes, len(items))) as ask:
        yield from ask(items)

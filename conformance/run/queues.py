"""Queues: engines that take turns. Queues run side by side, and one that has nothing left to do helps another."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from conformance.execution.cached import Process
from conformance.model.engine import EngineInfo
from conformance.run.hosts import Hosts, host_names
from conformance.run.turn import Turn

HEAVY_QUEUES = 2
"""Number of heavy engines that run at a time if they are of several releases. Each release has a process of its own."""


def queues(infos: Iterable[EngineInfo]) -> Iterator[list[EngineInfo]]:
    """The engines in the order of their turns, queue by queue: heavy engines in queues by release, light engines in one
    queue. Without heavy engines, there is an empty queue beside that."""
    infos = list(infos)
    releases = list(dict.fromkeys(_release(info) for info in infos if info.capabilities.heavy))
    for number in range(min(len(releases), HEAVY_QUEUES)):
        mine = releases[number::HEAVY_QUEUES]
        yield [info for info in infos if info.capabilities.heavy and _release(info) in mine]
    light = [info for info in infos if not info.capabilities.heavy]
    if light:
        yield light
    if light and not releases:
        yield []  # this queue helps the other


def _release(info: EngineInfo) -> str:
    return info.id.partition("@")[2]


class Cases:
    """Whether the cases of a run are stored. Queues wait for this."""

    def __init__(self) -> None:
        self._told, self._there = threading.Event(), False

    def tell(self, there: bool) -> None:
        """Says, once, that the cases are stored, or that there will be none."""
        self._there = there
        self._told.set()

    def wait(self) -> bool:
        """Waits until it is known whether there are cases, and returns whether there are."""
        self._told.wait()
        return self._there


class Waiting:
    """The turns of a run that have not begun, by queue. Several threads take turns at a time, one for each queue.

    A queue that has no turn left takes one of light engines from another queue, the last one first, unless the process that it needs
    is busy with another turn.
    """

    def __init__(self, queues: Iterable[Sequence[Turn]], hosts: Hosts) -> None:
        self._waiting = [list(queue) for queue in queues]
        self._hosts, self._lock = hosts, threading.Lock()
        self._needs = Counter(name for queue in self._waiting for turn in queue for name in host_names(turn.info))
        self._busy: Counter[str] = Counter()
        self._begun: dict[str, Process | None] = {}

    def begin(self, queue: int) -> None:
        """Replays the stored witnesses of the engines in the queue's first process."""
        with self._lock:
            if not self._waiting[queue]:
                return  # other queues were quicker
            first = host_names(self._waiting[queue][0].info)
            turns = [turn for turn in self._waiting[queue] if host_names(turn.info) == first]
            self._busy.update(first)
        for turn in turns:
            self._begun[turn.info.id] = turn.begin()
        with self._lock:
            self._busy.subtract(first)

    def take(self, queue: int) -> Turn | None:
        """The next turn of a queue, which ``end`` ends; None if there is none for it to take."""
        with self._lock:
            if found := self._next(queue):
                self._busy.update(host_names(found.info))
            return found

    def _next(self, queue: int) -> Turn | None:
        if mine := self._waiting[queue]:
            return mine.pop(0)
        for others in self._waiting:
            for turn in reversed(others):
                if self._is_free(turn):
                    others.remove(turn)
                    return turn
        return None

    def engine(self, turn: Turn) -> Process | None:
        """The engine of a turn, in a living process. None if the engine cannot start."""
        engine = self._begun[turn.info.id] if turn.info.id in self._begun else turn.begin()
        if engine and not engine.alive:  # its process has ended since, with another engine
            return turn.open()
        return engine

    def end(self, turn: Turn) -> None:
        """Says that a turn is over. A process that no other turn needs is closed."""
        with self._lock:
            names = host_names(turn.info)
            self._busy.subtract(names)
            self._needs.subtract(names)
            done = [name for name in names if not self._needs[name]]
        for name in done:
            self._hosts.close(name)

    def _is_free(self, turn: Turn) -> bool:
        return not turn.info.capabilities.heavy and not any(self._busy[name] for name in host_names(turn.info))


def run_queue(number: int, waiting: Waiting, cases: Cases) -> None:
    """Runs the turns of engines. Engines in a queue's first process replay their witnesses while cases are generated.
    Another process starts at the turn of its first engine."""
    waiting.begin(number)
    if not cases.wait():
        return
    while turn := waiting.take(number):
        if engine := waiting.engine(turn):
            turn.run(engine)
        waiting.end(turn)

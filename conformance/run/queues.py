"""Queues: engines that take turns. Queues run side by side."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence

from conformance.execution.cached import Process
from conformance.model.engine import EngineInfo
from conformance.run.hosts import Hosts, host_names
from conformance.run.turn import Turn

HEAVY_QUEUES = 2
"""Number of heavy engines that run at a time if they are of several releases. Each release has a process of its own."""


def queues(infos: Iterable[EngineInfo]) -> Iterator[list[EngineInfo]]:
    """The engines in the order of their turns, queue by queue: heavy engines in queues by release, light engines in one
    queue."""
    infos = list(infos)
    releases = list(dict.fromkeys(_release(info) for info in infos if info.capabilities.heavy))
    for number in range(min(len(releases), HEAVY_QUEUES)):
        mine = releases[number::HEAVY_QUEUES]
        yield [info for info in infos if info.capabilities.heavy and _release(info) in mine]
    if light := [info for info in infos if not info.capabilities.heavy]:
        yield light


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


def run_queue(turns: Sequence[Turn], hosts: Hosts, cases: Cases) -> None:
    """Runs the turns of engines. Engines in a queue's first process replay their witnesses while cases are generated.
    Another process starts at the turn of its first engine."""
    first = host_names(turns[0].info)
    begun: dict[str, Process | None] = {t.info.id: t.begin() for t in turns if host_names(t.info) == first}
    if not cases.wait():
        return
    for number, turn in enumerate(turns):
        engine = begun[turn.info.id] if turn.info.id in begun else turn.begin()
        if engine and not engine.alive:  # its process has ended since, with another engine
            engine = turn.open()
        if engine:
            turn.run(engine)
        still_needed = {name for later in turns[number + 1 :] for name in host_names(later.info)}
        for name in {*host_names(turn.info)} - still_needed:
            hosts.close(name)

"""The order in which engines take turns: two at a time, of which one is heavy at the most."""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from conformance.model.engine import EngineInfo
from conformance.run.hosts import Hosts

AT_ONCE = 2
"""The number of engines that run at a time. A heavy one leaves some of two cores idle."""


class Deadline:
    """Seconds for a whole run, from now on; None for as long as it takes."""

    def __init__(self, seconds: float | None) -> None:
        self.limited, self._end = seconds is not None, time.monotonic() + (seconds or 0.0)

    @property
    def spent(self) -> bool:
        return self.limited and time.monotonic() >= self._end


def by_value(infos: Iterable[EngineInfo]) -> tuple[list[EngineInfo], list[EngineInfo]]:
    """Engines in the order of value: those that a run begins with, and those that follow its queries and pipelines.

    A run begins with the reference, and with the operators that most people use, which take least. Then come the
    programs that most people write, those of a quick run first, other operators, and at last the other engines of
    programs, which share much with the first ones."""

    def begins(info: EngineInfo) -> bool:
        can = info.capabilities
        return info.id == "reference" or (can.common and can.native_operator is not None)

    def rank(info: EngineInfo) -> tuple[bool, ...]:
        can = info.capabilities
        used = can.common or can.quick
        return (
            info.id != "reference",
            not (can.common and can.quick),
            not used,
            can.native_operator is None,
            not can.common,
        )

    ordered = sorted(infos, key=rank)
    return [info for info in ordered if begins(info)], [info for info in ordered if not begins(info)]


class Taken(Protocol):
    """A turn, as a queue sees it.

    Attributes:
        hosts: the names of its processes.
        heavy: whether no other heavy turn runs beside it.
    """

    @property
    def hosts(self) -> Sequence[str]: ...

    @property
    def heavy(self) -> bool: ...

    def run(self) -> None: ...


class Queue:
    """The turns of a run that have not begun. Several threads take turns at a time."""

    def __init__(self, turns: Iterable[Taken], hosts: Hosts) -> None:
        self._waiting, self._hosts = list(turns), hosts
        self._needs = Counter(name for turn in self._waiting for name in turn.hosts)
        self._busy: Counter[str] = Counter()
        self._free = threading.Condition()

    def run(self) -> None:
        """Takes turns until none is left."""
        while turn := self._take():
            try:
                turn.run()
            finally:
                self._end(turn)

    def _take(self) -> Taken | None:
        with self._free:
            while self._waiting:
                for turn in self._waiting:
                    if not any(self._busy[name] for name in self._uses(turn)):
                        self._waiting.remove(turn)
                        self._busy.update(self._uses(turn))
                        return turn
                self._free.wait()
            return None

    def _end(self, turn: Taken) -> None:
        with self._free:
            self._busy.subtract(self._uses(turn))
            self._needs.subtract(turn.hosts)
            done = [name for name in turn.hosts if not self._needs[name]]
            self._free.notify_all()
        for name in done:
            self._hosts.close(name)

    def _uses(self, turn: Taken) -> list[str]:
        """What no two turns may use at a time: a process, and what heavy engines need."""
        return [*turn.hosts, *(["heavy"] if turn.heavy else [])]

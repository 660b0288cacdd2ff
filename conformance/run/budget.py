"""A budget of time: how long each engine of a run may take, and which packs tell most.

Stored witnesses are replayed first: they take no more than ``REPLAYS`` of the time, shared by the engines of a queue. Engines of a queue
share the time that is left when their turns begin. Packs take no more than ``PACKS`` of an engine's share; the rest is for confirmation.
What did not run is left out as if it had not been drawn: no evidence speaks of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence

from conformance.model.runs import Pack

Asked = frozenset[tuple[str, str, str]]
"""(scenario, program, perturbation) of the cases that put one guarantee to the test, any of them."""

REPLAYS = 0.3
"""The fraction of the time that replays of stored witnesses may take."""

PACKS = 0.6
"""The fraction of an engine's time that its packs may take."""


class Budget:
    """Seconds for a whole run, from now on. Several threads may use one budget at a time.

    Args:
        seconds: None for as long as it takes.
        queues: the engines (ids) of each queue.
    """

    def __init__(
        self,
        seconds: float | None,
        queues: Iterable[Iterable[str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock, self.limited = clock, seconds is not None
        started = clock()
        self._end, self._replayed = started + (seconds or 0.0), started + (seconds or 0.0) * REPLAYS
        self._waiting = [set(queue) for queue in queues]
        self._replaying = [set(queue) for queue in self._waiting]
        self._lock = threading.Lock()
        self._until: dict[str, tuple[float, float]] = {}

    def begin(self, engine: str) -> None:
        """Gives an engine its share of what is left."""
        with self._lock:
            queue = next((queue for queue in self._waiting if engine in queue), {engine})
            now = self._clock()
            share = max(0.0, self._end - now) / len(queue)
            self._until[engine] = now + share * PACKS, now + share
            queue.discard(engine)

    def replays(self, engine: str) -> Callable[[], bool]:
        """Gives an engine its share of what is left for replays: whether it may begin another one."""
        with self._lock:
            queue = next((queue for queue in self._replaying if engine in queue), {engine})
            now = self._clock()
            until = now + max(0.0, self._replayed - now) / len(queue)
            queue.discard(engine)
        return lambda: not self.limited or self._clock() < until

    def packs_go_on(self, engine: str) -> bool:
        """Whether an engine may begin another pack."""
        return not self.limited or self._clock() < self._until[engine][0]

    def goes_on(self, engine: str) -> bool:
        """Whether an engine may begin to confirm violations."""
        return not self.limited or self._clock() < self._until[engine][1]

    @property
    def spent(self) -> bool:
        return self.limited and self._clock() >= self._end


def most_telling_first(packs: Sequence[Pack], guarantees: Iterable[Asked]) -> tuple[Pack, ...]:
    """The packs, each time the one that covers most guarantees that no earlier pack covers, then the one with most new pairs of a
    program and a perturbation for each step, then the one with most cases for each step. A twin counts once its base has run."""
    home = {case.id: number for number, pack in enumerate(packs) for case in pack.cases}
    contents = [
        [(home.get(c.base or c.id, number), (c.scenario, c.program, c.perturbation)) for c in pack.cases]
        for number, pack in enumerate(packs)
    ]
    unasked, had, order = list(guarantees), Asked(), list[int]()

    def worth(number: int) -> tuple[float, float, float, int]:
        there = {*order, number}
        new = frozenset(place for n in there for needed, place in contents[n] if needed in there) - had
        steps = max(1, len(packs[number].timeline))
        gained = sum(bool(guarantee & new) for guarantee in unasked)
        return gained, len(new) / steps, len(packs[number].cases) / steps, -number

    while len(order) < len(packs):
        best = max((number for number in range(len(packs)) if number not in order), key=worth)
        order.append(best)
        had |= frozenset(place for n in order for needed, place in contents[n] if needed in order)
        unasked = [guarantee for guarantee in unasked if not guarantee & had]
    return tuple(packs[number] for number in order)

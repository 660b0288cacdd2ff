"""An engine whose first runs are watched: one that fails them all in one way is given up."""

from __future__ import annotations

import re
import threading

from conformance.execution.carried import AnyEngine
from conformance.execution.host import EngineDown, NoAnswer
from conformance.execution.packing import Parts, whole
from conformance.model.feature import Feature
from conformance.model.runs import Pack, PackRun

PACKS = 2
"""An engine that fails so many packs in one way, before it gave an answer to any, is given up."""

PROCESSES = 3
"""So is one whose process has ended so often: a process that ends takes the packs beside the guilty one along."""

HUNG = 2
"""So is one that has hung so often."""


class GivenUp(EngineDown):
    """An engine that is not asked any more; the message says why in one line."""


class FirstRuns:
    """What the first runs of an engine came to, in all of its processes. Several threads may tell at once."""

    def __init__(self) -> None:
        self._lock, self._answered = threading.Lock(), False
        self._failed: dict[str, set[object]] = {}
        self.given_up = ""

    def answered(self) -> None:
        self._answered = True

    def failed(self, what: object, cause: str, most: int) -> None:
        """Take down what failed, a pack or a process. So many that fail in one way are enough."""
        way = re.sub(r"\d+", "#", cause.partition("; the full log")[0])
        with self._lock:
            found = self._failed.setdefault(way, set())
            found.add(what)
            if len(found) >= most and not self._answered and not self.given_up:
                self.given_up = f"given up, because its first runs failed in one way: {cause}"


class Watched:
    """An engine in its process, as ``AnyEngine``; it is not run any more once its first runs have failed in one way. ``parts``: what a pack
    falls into where it fails as a whole."""

    def __init__(self, engine: AnyEngine, first_runs: FirstRuns, parts: Parts = whole) -> None:
        self._engine, self._first_runs, self._parts = engine, first_runs, parts

    @property
    def alive(self) -> bool:
        return self._engine.alive

    @property
    def environment(self) -> dict[str, str]:
        return self._engine.environment

    @property
    def evidence(self) -> dict[Feature, str]:
        return self._engine.evidence

    @property
    def lacks(self) -> str:
        return self._engine.lacks

    @property
    def answers(self) -> dict[str, str]:
        return self._engine.answers

    @property
    def given_up(self) -> str:
        """Why the engine is not asked any more, "" while it is."""
        return self._first_runs.given_up

    def run(self, pack: Pack) -> PackRun:
        """Run one pack. Raises NotDriven, EngineDown, GivenUp."""
        if self.given_up:
            raise GivenUp(self.given_up)
        lived = self.alive
        try:
            run = self._engine.run(pack)
        except EngineDown as error:
            if lived and "[case " not in str(error):
                self._took_down(pack, error)
            raise
        self._first_runs.answered()
        return run

    def _took_down(self, pack: Pack, error: EngineDown) -> None:
        if self.alive:
            if len(self._parts(pack)) > 1:  # they run by themselves, and tell more
                return
            self._first_runs.failed(tuple(case.id for case in pack.cases), str(error), PACKS)
        else:
            hung = isinstance(error, NoAnswer)
            self._first_runs.failed(self._engine, str(error), HUNG if hung else PROCESSES)

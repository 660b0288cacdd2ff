"""Runs that begin before their question is asked: nearly everything holds, so nearly all of them are needed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from conformance.subjects.answers import Ran


class Ahead:
    """Runs by what tells them apart, as many at a time as an engine makes."""

    def __init__(self, at_once: int) -> None:
        self._pool = ThreadPoolExecutor(max_workers=at_once)
        self._runs: dict[str, list[Future[Ran]]] = {}

    def begin(self, name: str, run: Callable[[], Ran]) -> None:
        self._runs.setdefault(name, []).append(self._pool.submit(run))

    def taken(self, name: str) -> Ran | None:
        """A run of this name, each once; None where none was begun. Raises as the run does."""
        begun = self._runs.get(name)
        return begun.pop(0).result() if begun else None

    def close(self) -> None:
        """What has not begun is not run."""
        self._pool.shutdown(cancel_futures=True)

"""The processes of the engines of a run: selects the process of an engine, and starts, closes and restarts
processes."""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from conformance.execution.carried import AnyEngine, open_in
from conformance.execution.environments import python_of
from conformance.execution.host import EngineDown, Host, end_group
from conformance.model.engine import CannotRun, EngineInfo
from conformance.plugins.registry import releases_of
from conformance.results.store import file_name
from conformance.support.release import Release

AGAIN = "-again"
"""The name suffix of the process that runs packs again that failed in the first process."""

CONFIRMATION = "-confirmation"
"""The name suffix of the process that confirms witnesses."""


def host_names(info: EngineInfo) -> list[str]:
    """The names of the processes that an engine runs in, and of their logs: one process, or one for each
    release that goes on from the one before."""
    base, at, versions = (info.capabilities.host or info.id).partition("@")
    return [file_name(base + at + version) for version in versions.split("+")]


class Hosts:
    """The processes of one run, by name, all of which end with the ``with`` of a ``Hosts``. Several threads may use one
    at a time.

    Args:
        logs: the folder of their logs.
        timeout: seconds for one pack, or for an engine to start.
    """

    def __init__(self, logs: Path, timeout: float) -> None:
        self._logs, self._timeout = logs, timeout
        self._living: dict[str, Host] = {}
        self._started: Counter[str] = Counter()
        self._others: list[subprocess.Popen[str]] = []
        self._lock = threading.Lock()  # queues start processes, an interrupt ends processes
        self._interrupted = threading.Event()

    def __enter__(self) -> Hosts:
        return self

    def __exit__(self, *_: object) -> None:
        self.interrupt()

    @property
    def interrupted(self) -> bool:
        return self._interrupted.is_set()

    def interrupt(self) -> None:
        """Ends all processes at once. No other process starts afterwards."""
        self._interrupted.set()
        self.close_all()

    def open(self, info: EngineInfo) -> AnyEngine:
        """An engine in its process. Raises CannotRun."""
        return self._open(info)

    def open_beside(self, info: EngineInfo) -> AnyEngine:
        """An engine in another process beside the first one. Raises CannotRun."""
        return self._open(info, AGAIN)

    def open_again(self, info: EngineInfo) -> AnyEngine:
        """An engine in another process, with another seed for hashes. Raises CannotRun."""
        return self._open(info, CONFIRMATION, hash_seed=1)

    def lacking(self, engines: Iterable[str], version: str) -> dict[str, str]:
        """Engine (id without a release) -> that this version of its framework, which all of them share, does not have
        its API; "" where it has. Raises CannotRun."""
        names = {engine: f"{engine}@{version}" for engine in engines}
        try:
            return {
                engine: self.named(f"lacks-{version}", release=releases_of(name)[0]).lacks(name)
                for engine, name in names.items()
            }
        except EngineDown as error:
            raise CannotRun(str(error)) from None

    def named(self, name: str, hash_seed: int = 0, release: Release | None = None) -> Host:
        """The process of this name. If no such process lives, a new one starts, in the environment of its release if it
        has one.

        Raises:
            CannotRun: the run was interrupted, or the release is not available.
        """
        if release:
            python_of(release)  # building may take a minute, so other threads must not wait for the lock
        with self._lock:
            if self.interrupted:
                raise CannotRun("interrupted")
            if name in self._living and not self._living[name].alive:
                self._living.pop(name).close()
            if name not in self._living:
                self._logs.mkdir(parents=True, exist_ok=True)
                number = self._started[name]
                log = self._logs / (f"{name}-{number}.log" if number else f"{name}.log")
                self._living[name] = Host(log, self._timeout, hash_seed, release)
                self._started[name] += 1
            return self._living[name]

    def adopt(self, process: subprocess.Popen[str]) -> None:
        """Ends a process, the leader of a group of its own, together with all others."""
        with self._lock:
            self._others.append(process)
        if self.interrupted:
            self.close_all()

    def close(self, name: str) -> None:
        """Ends the process of this name, and the processes beside it."""
        with self._lock:
            for suffix in ("", AGAIN, CONFIRMATION):
                if host := self._living.pop(name + suffix, None):
                    host.close()

    def close_all(self) -> None:
        with self._lock:
            for host in self._living.values():
                host.close()
            for process in self._others:
                if process.poll() is None:
                    end_group(process)

    def _open(self, info: EngineInfo, suffix: str = "", hash_seed: int = 0) -> AnyEngine:
        releases: list[Release | None] = [*releases_of(info.id)]
        named = zip(host_names(info), releases or [None], strict=True)
        return open_in(info.id, [self.named(name + suffix, hash_seed, release) for name, release in named])

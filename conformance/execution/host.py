"""The run's end of a worker: start a worker, send it requests, and make sure that no part of it outlives the run."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance.execution.environments import python_in
from conformance.model.checker import Batch
from conformance.model.engine import CannotRun, NotDriven
from conformance.model.feature import Feature
from conformance.model.runs import Pack, PackRun
from conformance.plugins.loading import asked
from conformance.plugins.registry import values_for, values_for_checker
from conformance.results import tables
from conformance.support.release import Release


class EngineDown(Exception):
    """The engine refused a pack, or its process ended or hung. The message is the cause in one line."""


class EngineEnded(EngineDown):
    """The engine's process ended, or did not start."""


class NoAnswer(EngineEnded):
    """The engine's process hung, and was ended."""


def end_group(process: subprocess.Popen[Any]) -> None:
    """End a process that leads a group of its own, and its children, at once."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Host:
    """A process (and process group) that engines run in.

    Args:
        timeout: seconds for one pack, or for the start of an engine.
        hash_seed: Python's seed for hashes of strings, in the process and in those that it starts.
        release: the release whose environment the process runs in.

    Raises:
        CannotRun: the release is not available.
    """

    def __init__(self, log: Path, timeout: float, hash_seed: int = 0, release: Release | None = None) -> None:
        self.timeout = timeout
        self._scratch = tempfile.TemporaryDirectory(
            prefix="conformance-", dir=_fast_folder(), ignore_cleanup_errors=True
        )
        self._folder = Path(self._scratch.name)
        self._answers: dict[int, queue.Queue[dict[str, Any] | None]] = {}
        self._ended_reading, self._asking = False, threading.Lock()
        self._closing, self._closed = threading.Lock(), False
        self._gone = ""
        python, environment = python_in(self._folder, release, hash_seed)
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            [python, "-m", "conformance.execution.worker", str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
            env=environment | {"CONFORMANCE_RUNNER": str(os.getpid())},
        )
        threading.Thread(target=self._read, daemon=True).start()

    def start(self, engine: str) -> OpenEngine:
        """Start an engine in this host, beside the engines that run there already.

        Raises:
            CannotRun: the engine cannot run here.
        """
        answer = self._allowed({"open": engine} | _plugins(values_for(engine)))
        return OpenEngine(self, engine, answer["environment"], answer["lacks"])

    def told(self, engine: str, what: str) -> dict[str, str]:
        """What an engine that was started says of itself: its "evidence", or its "answers". Raises CannotRun."""
        told: dict[str, str] = self._allowed({"tell": what, "of": engine})["told"]
        return told

    def _given(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request. Raises NotDriven, EngineDown."""
        answer = self._answer(self._ask(request))
        if "not_driven" in answer:
            raise NotDriven(answer["not_driven"])
        if "gone" in answer:
            raise self._ended()
        if "failed" in answer:
            raise EngineDown(answer["failed"])
        return answer

    def _allowed(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request. Raises CannotRun where the engine cannot do it, or gives none."""
        try:
            answer = self._answer(self._ask(request))
        except EngineDown as error:
            raise CannotRun(str(error)) from None
        if why := answer.get("cannot", answer.get("gone")):
            raise CannotRun(why)
        return answer

    def lacks(self, engine: str) -> str:
        """What this host's release lacks for an engine, "" for nothing. The engine need not be started. Raises
        EngineDown."""
        lacks: str = self._given({"lacks": engine} | _plugins(values_for(engine)))["lacks"]
        return lacks

    def run(self, engine: str, pack: Pack, part: str = "", carried: str = "") -> PackRun:
        """Run one pack, or a ``part`` of it: "begin" leaves files in the folder ``carried``, and "resume" goes on from
        them. Several threads may call ``run`` at once.

        Raises:
            NotDriven: the engine did not run the requested schedule.
            EngineDown: the engine gave no answer.
        """
        asked, out = (tempfile.mktemp(dir=self._folder, suffix=suffix) for suffix in (".pack", ".run"))
        with self._closing:  # a file written during the removal of the folder would keep the folder
            if self._closed:
                raise self._ended()
            tables.send(Path(asked), tables.case_table(pack.cases))
        request = {"run": engine, "pack": asked, "out": out, "part": part, "carried": carried}
        self._given(request)
        try:
            run = tables.pack_run_of(tables.receive(Path(out)), pack)
            Path(asked).unlink()
            Path(out).unlink()
        except OSError:  # an interrupt has removed the folder
            raise self._ended() from None
        return run

    def check(self, checker: str, batch: Batch) -> None:
        """Let a checker check a batch of cases and traces.

        Raises:
            EngineDown: the checker gave no answer, or failed.
        """
        self._given({"check": checker, "batch": asdict(batch)} | _plugins(values_for_checker(checker)))

    def folder(self) -> str:
        """A new folder among the temporary files of this host. Raises EngineDown."""
        with self._closing:
            if self._closed:
                raise self._ended()
            return tempfile.mkdtemp(dir=self._folder, prefix="carried-")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End the process and its children, and remove its temporary files, in any state."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self.kill()
                self._log.close()
                self._scratch.cleanup()

    def kill(self) -> None:
        """End the process group at once."""
        end_group(self._process)

    def _ask(self, request: dict[str, Any]) -> int:
        """Send a request. The number returned identifies its answer. Raises EngineDown."""
        with self._asking:
            number = len(self._answers)
            self._answers[number] = queue.Queue()
            if self._ended_reading:
                self._answers[number].put(None)
            try:
                assert self._process.stdin
                self._process.stdin.write(json.dumps({"number": number, **request}).encode() + b"\n")
                self._process.stdin.flush()
            except (OSError, ValueError):
                raise self._ended() from None
        return number

    def _read(self) -> None:
        assert self._process.stdout
        try:
            for line in self._process.stdout:
                answer = json.loads(line)
                self._gone = answer.get("gone", "")
                self._answers[answer["number"]].put(answer)
        except ValueError:
            pass  # half a line of a process that was killed
        finally:
            with self._asking:
                self._ended_reading = True
                for waiting in self._answers.values():
                    waiting.put(None)

    def _answer(self, number: int) -> dict[str, Any]:
        try:
            answer = self._answers[number].get(timeout=self.timeout)
        except queue.Empty:
            self.kill()
            raise NoAnswer(f"no answer within {self.timeout:.0f} s; the full log is in {self._log.name}") from None
        if answer is None:
            raise self._ended()
        return answer

    def _ended(self) -> EngineEnded:
        how = f"the engine's process ended with code {self._process.wait()}"
        return EngineEnded(f"{self._gone or how}; the full log is in {self._log.name}")


class OpenEngine:
    """An engine that runs in a host. ``lacks`` says that its release does not have the API at all.

    The engine is asked for its evidence, and for its answers, when somebody wants to know: both take seconds. Raises
    CannotRun where it does not say.
    """

    def __init__(self, host: Host, engine: str, environment: dict[str, str], lacks: str) -> None:
        self.host, self.id = host, engine
        self.environment, self.lacks = environment, lacks

    @cached_property
    def evidence(self) -> dict[Feature, str]:
        """Its answers to requests for features that it lacks."""
        told = {} if self.lacks else self.host.told(self.id, "evidence")
        return {Feature[name]: text for name, text in told.items()}

    @cached_property
    def answers(self) -> dict[str, str]:
        """What it refuses (``Questioned``)."""
        return {} if self.lacks else self.host.told(self.id, "answers")

    def run(self, pack: Pack) -> PackRun:
        """Run one pack. Raises NotDriven, EngineDown."""
        return self.host.run(self.id, pack)

    @property
    def alive(self) -> bool:
        return self.host.alive


def _plugins(settings: Mapping[str, str]) -> dict[str, Any]:
    """The user's files and settings, as a part of a request."""
    return {"load": list(asked()), "settings": dict(settings)}


def _fast_folder() -> str | None:
    """A RAM-backed folder with room for checkpoints and inputs, if there is one (containers often have 64 MiB)."""
    shared_memory = "/dev/shm"
    if not os.access(shared_memory, os.W_OK) or shutil.disk_usage(shared_memory).free < 2**30:
        return None
    return shared_memory

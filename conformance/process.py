"""The runner's end of a worker: start it, ask it, and be sure that nothing of it outlives the run."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conformance import tables
from conformance.engine import CannotRun, Feature, NotDriven
from conformance.environments import Release, link_harness, python_of
from conformance.judging import Batch
from conformance.model import Pack, PackRun


class EngineDown(Exception):
    """The engine's process ended, hung, or refused a pack; the message is the cause in one line."""


class Host:
    """A process (and process group) that engines run in. ``timeout`` is seconds for one pack or an engine's start;
    ``hash_seed`` is Python's seed for hashes of strings, there and in the processes that it starts. With a ``release`` it runs
    in that release's environment.

    Raises:
        CannotRun: the release cannot be had.
    """

    def __init__(self, log: Path, timeout: float, hash_seed: int = 0, release: Release | None = None) -> None:
        python = str(python_of(release)) if release else sys.executable
        self.timeout = timeout
        self._scratch = tempfile.TemporaryDirectory(
            prefix="conformance-", dir=_fast_folder(), ignore_cleanup_errors=True
        )
        self._folder = Path(self._scratch.name)
        self._answers: dict[int, queue.Queue[dict[str, Any] | None]] = {}
        self._ended_reading, self._asking = False, threading.Lock()
        self._closing, self._closed = threading.Lock(), False
        self._gone = ""
        self._log = log.open("wb")
        own = {"PYTHONPATH": str(link_harness(self._folder)), "PYTHONNOUSERSITE": "1"} if release else {}
        self._process = subprocess.Popen(
            [python, "-m", "conformance.worker", str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
            env=os.environ
            | own
            | {"PYTHONHASHSEED": str(hash_seed), "TMPDIR": str(self._folder), "CONFORMANCE_RUNNER": str(os.getpid())},
        )
        threading.Thread(target=self._read, daemon=True).start()

    def start(self, engine: str) -> OpenEngine:
        """Start an engine here, beside those that are there already.

        Raises:
            CannotRun: it cannot run here.
        """
        try:
            answer = self._answer(self._ask({"open": engine}))
        except EngineDown as error:
            raise CannotRun(str(error)) from None
        if "cannot" in answer:
            raise CannotRun(answer["cannot"])
        evidence = {Feature[name]: text for name, text in answer["evidence"].items()}
        return OpenEngine(self, engine, answer["environment"], evidence, answer["lacks"])

    def run(self, engine: str, pack: Pack) -> PackRun:
        """Run one pack. Several threads may ask at once.

        Raises:
            NotDriven: the engine did not run the schedule that was asked for.
            EngineDown: it gave no answer.
        """
        asked, out = (tempfile.mktemp(dir=self._folder, suffix=suffix) for suffix in (".pack", ".run"))
        with self._closing:  # a file written while the folder is taken away would keep it
            if self._closed:
                raise EngineDown(self._ended())
            tables.send(Path(asked), tables.case_table(pack.cases))
        answer = self._answer(self._ask({"run": engine, "pack": asked, "out": out}))
        if "not_driven" in answer:
            raise NotDriven(answer["not_driven"])
        if "gone" in answer:
            raise EngineDown(self._ended())
        if "failed" in answer:
            raise EngineDown(answer["failed"])
        try:
            run = tables.pack_run_of(tables.receive(Path(out)), pack)
            Path(asked).unlink()
            Path(out).unlink()
        except OSError:  # an interrupt took the folder away
            raise EngineDown(self._ended()) from None
        return run

    def check(self, checker: str, batch: Batch) -> None:
        """Let a checker check a batch of cases and traces.

        Raises:
            EngineDown: it did not.
        """
        answer = self._answer(self._ask({"check": checker, "batch": asdict(batch)}))
        if "failed" in answer:
            raise EngineDown(answer["failed"])

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End the process, its children and its temporary files, whatever state they are in."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self.kill()
                self._log.close()
                self._scratch.cleanup()

    def kill(self) -> None:
        """End the process group at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _ask(self, request: dict[str, Any]) -> int:
        """Send a request; its number, to wait for the answer by. Raises EngineDown."""
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
                raise EngineDown(self._ended()) from None
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
            raise EngineDown(f"no answer within {self.timeout:.0f} s; the full log is in {self._log.name}") from None
        if answer is None:
            raise EngineDown(self._ended())
        return answer

    def _ended(self) -> str:
        how = f"the engine's process ended with code {self._process.wait()}"
        return f"{self._gone or how}; the full log is in {self._log.name}"


class OpenEngine:
    """An engine that runs in a host. ``evidence`` is what it answered when it was asked for features that it lacks; ``lacks`` says
    that its release does not have the API at all."""

    def __init__(
        self, host: Host, engine: str, environment: dict[str, str], evidence: dict[Feature, str], lacks: str
    ) -> None:
        self._host, self._engine = host, engine
        self.environment, self.evidence, self.lacks = environment, evidence, lacks

    def run(self, pack: Pack) -> PackRun:
        """Run one pack. Raises NotDriven, EngineDown."""
        return self._host.run(self._engine, pack)

    @property
    def alive(self) -> bool:
        return self._host.alive


def _fast_folder() -> str | None:
    """A RAM-backed folder for checkpoints and inputs, where there is one with room (containers often have 64 MiB)."""
    shared_memory = "/dev/shm"
    if not os.access(shared_memory, os.W_OK) or shutil.disk_usage(shared_memory).free < 2**30:
        return None
    return shared_memory

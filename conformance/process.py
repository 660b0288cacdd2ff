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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conformance import tables
from conformance.engine import CannotRun, Feature, NotDriven
from conformance.environments import FOREIGN, Release, link_harness, python_of
from conformance.judging import Batch
from conformance.model import Emission, Pack, PackRun, Restart, Trace
from conformance.registry import releases_of


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
            env={name: value for name, value in os.environ.items() if not release or name not in FOREIGN}
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

    def lacks(self, engine: str) -> str:
        """What the release here lacks for an engine, "" where nothing; it need not be started. Raises EngineDown."""
        lacks: str = self._answer(self._ask({"lacks": engine}))["lacks"]
        return lacks

    def run(self, engine: str, pack: Pack, part: str = "", carried: str = "") -> PackRun:
        """Run one pack, or a ``part`` of it: "begin" leaves in the folder ``carried`` what "resume" goes on from. Several threads
        may ask at once.

        Raises:
            NotDriven: the engine did not run the schedule that was asked for.
            EngineDown: it gave no answer.
        """
        asked, out = (tempfile.mktemp(dir=self._folder, suffix=suffix) for suffix in (".pack", ".run"))
        with self._closing:  # a file written while the folder is taken away would keep it
            if self._closed:
                raise EngineDown(self._ended())
            tables.send(Path(asked), tables.case_table(pack.cases))
        request = {"run": engine, "pack": asked, "out": out, "part": part, "carried": carried}
        answer = self._answer(self._ask(request))
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

    def folder(self) -> str:
        """A new folder among the temporary files of this process. Raises EngineDown."""
        with self._closing:
            if self._closed:
                raise EngineDown(self._ended())
            return tempfile.mkdtemp(dir=self._folder, prefix="carried-")

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
        self.host, self.id = host, engine
        self.environment, self.evidence, self.lacks = environment, evidence, lacks

    def run(self, pack: Pack) -> PackRun:
        """Run one pack. Raises NotDriven, EngineDown."""
        return self.host.run(self.id, pack)

    @property
    def alive(self) -> bool:
        return self.host.alive


class CarriedEngine:
    """One engine in two releases: what has a restart is begun in the old one and resumed in the new one, from its checkpoint.

    A case without a restart runs in both; where they differ on it, no answer of a restarted twin could be that of both, so that
    it says nothing.
    """

    def __init__(self, old: OpenEngine, new: OpenEngine) -> None:
        self._old, self._new = old, new
        names = dict.fromkeys([*old.environment, *new.environment])
        both = {name: [e.environment.get(name, "") for e in (old, new)] for name in names}
        self.environment = {name: told[0] if told[0] == told[1] else " then ".join(told) for name, told in both.items()}
        self.evidence = old.evidence | new.evidence
        self.lacks = old.lacks or new.lacks

    @property
    def alive(self) -> bool:
        return self._old.alive and self._new.alive

    def run(self, pack: Pack) -> PackRun:
        """Run one pack. Raises NotDriven, EngineDown."""
        if not any(isinstance(step, Restart) for step in pack.clock):
            return self._run_in_both(pack)
        folder = self._new.host.folder()
        try:
            self._old.host.run(self._old.id, pack, "begin", folder)
            return self._new.host.run(self._new.id, pack, "resume", folder)
        except EngineDown as error:
            if not self.alive:
                raise
            return self._not_resumed(pack, str(error))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run_in_both(self, pack: Pack) -> PackRun:
        old, new = self._old.run(pack), self._new.run(pack)
        differ = frozenset(name for name, trace in new.traces.items() if old.traces[name] != trace)
        return PackRun(new.traces, new.counts, old.untouched | new.untouched | differ, {**old.notes, **new.notes})

    def _not_resumed(self, pack: Pack, cause: str) -> PackRun:
        """The pack where the new release did not go on from the checkpoint: an answer, if each release does so from its own.

        Raises:
            EngineDown: one of them does not.
        """
        whole = self._old.run(pack)
        self._new.run(pack)
        first = next(step.id for step in pack.clock if isinstance(step, Restart))
        traces = {}
        for case in pack.cases:
            before = [emission for emission in whole.traces[case.id].emissions if emission.step < first]
            failed = Emission("", {"not resumed": cause.partition("; the full log")[0]}, first)
            traces[case.id] = Trace.collect([*before, failed])
        return PackRun(traces, whole.counts, whole.untouched, whole.notes)


AnyEngine = OpenEngine | CarriedEngine


def open_in(engine: str, hosts: Sequence[Host]) -> AnyEngine:
    """An engine in its host, or, as ``ID@OLD+NEW``, in two: one of each release. Raises CannotRun."""
    if len(hosts) == 1:
        return hosts[0].start(engine)
    name, _, versions = engine.partition("@")
    with ThreadPoolExecutor(max_workers=2) as pool:
        old, new = pool.map(Host.start, hosts, (f"{name}@{version}" for version in versions.split("+")))
    return CarriedEngine(old, new)


@contextlib.contextmanager
def opened(engine: str, log: Path, timeout: float) -> Iterator[AnyEngine]:
    """An engine in processes of its own, which log to ``log`` and beside it. Raises CannotRun."""
    with contextlib.ExitStack() as ending:
        hosts = []
        for number, release in enumerate(releases_of(engine) or (None,)):
            hosts.append(Host(log.with_stem(f"{log.stem}-{number}" if number else log.stem), timeout, release=release))
            ending.callback(hosts[-1].close)
        yield open_in(engine, hosts)


def _fast_folder() -> str | None:
    """A RAM-backed folder for checkpoints and inputs, where there is one with room (containers often have 64 MiB)."""
    shared_memory = "/dev/shm"
    if not os.access(shared_memory, os.W_OK) or shutil.disk_usage(shared_memory).free < 2**30:
        return None
    return shared_memory

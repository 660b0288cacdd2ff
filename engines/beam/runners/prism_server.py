"""A Prism of our own: started, waited for, and ended, all within bounds.

Beam's own way to start one (2.77.0) waits for its port without a bound, and leaves it running when the process is
killed.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from conformance.engines.beam.runners import prism_binary
from conformance.engines.beam.runners.environment import OfBeam

START_SECONDS = 30
JOB_SECONDS = 300

NO_SPLIT = "--experiments=prism_disable_sdf_split"
"""Without it, Prism 2.77.0 splits bundles that take long, within a key as well, and then loses state
(docs/findings.md). What a case gives would depend on how long its neighbours take."""

LOGGING, UNKNOWN_OPTION = ("--log_level=error", "--log_kind=text"), 2
"""Options that Prism 2.60.0 does not know, and the code that it then ends with."""

DIES_WITH_ITS_PARENT = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL; it outlasts exec
if os.getppid() != int(sys.argv[1]):
    sys.exit("its parent has gone")
os.execv(sys.argv[2], sys.argv[2:])
"""


class PrismServer:
    """The process of one Prism; started at its first use and again where it has ended."""

    def __init__(self, binary: Path) -> None:
        self.binary = binary
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    def options(self) -> list[str]:
        """The pipeline options that make PrismRunner, and DirectRunner, use this server; DoFns run in this process.

        Raises:
            RuntimeError: it did not start.
        """
        if self._process is None or self._process.poll() is not None:
            self._start()
        return [
            f"--job_endpoint=localhost:{self._port}",
            "--environment_type=LOOPBACK",
            NO_SPLIT,
            f"--job_server_timeout={JOB_SECONDS}",  # the streams of a job's state and messages end then
        ]

    def within(self, call: Callable[[], Any]) -> Any:
        """What ``call`` returns, which runs a job and waits for its end.

        Raises:
            TimeoutError: the job did not end; the server has been ended then, and with it whatever waited for it.
        """
        returned: list[Any] = []
        raised: list[BaseException] = []

        def run() -> None:
            try:
                returned.append(call())
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(JOB_SECONDS)
        if thread.is_alive():
            self.close()
            raise TimeoutError(f"a job on Prism did not end within {JOB_SECONDS} s")
        if raised:
            raise raised[0]
        return returned[0]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _start(self) -> None:
        with socket.socket() as free:
            free.bind(("localhost", 0))
            self._port = free.getsockname()[1]
        code = self._started(LOGGING)
        if code == UNKNOWN_OPTION:
            code = self._started(())
        if code is not None:
            raise RuntimeError(f"Prism ended with code {code} when it was started")

    def _started(self, more: Sequence[str]) -> int | None:
        """The code with which the process ended at its start, None if it listens."""
        settings = [f"--job_port={self._port}", "--serve_http=false", *more]
        command = [str(self.binary.absolute()), *settings]
        if sys.platform == "linux":
            command = [sys.executable, "-c", DIES_WITH_ITS_PARENT, str(os.getpid()), *command]
        else:
            command.append("--idle_shutdown_timeout=30m")
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        end = time.monotonic() + START_SECONDS
        while True:
            if (code := self._process.poll()) is not None:
                return code
            try:
                socket.create_connection(("localhost", self._port), timeout=1).close()
                return None
            except OSError:
                if time.monotonic() > end:
                    self.close()
                    raise RuntimeError(f"Prism did not open its port within {START_SECONDS} s") from None
                time.sleep(0.05)


class OnPrism(OfBeam):
    """Base of the engines that run on a Prism of their own, where there is one."""

    roots = staticmethod(prism_binary.roots)
    _server: PrismServer | None = None

    def close(self) -> None:
        if self._server:
            self._server.close()

    def environment(self) -> dict[str, str]:
        """Beside the versions, what Prism was built from, and the option that can change an answer."""
        found = super().environment()
        if self._server:
            found |= {"prism": prism_binary.built_from(self._server.binary) or "unknown", "options": NO_SPLIT}
        return found

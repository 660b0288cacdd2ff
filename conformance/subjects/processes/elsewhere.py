"""Where a version before a restart runs, if not in this process: a process of its own, in another release.

The process is ``python -m conformance.subjects.processes.beginning``. The checkpoint and the input are files, which
both processes name by the same paths.
"""

import json
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.model.engine import CannotRun
from conformance.support.plain import Plain


@dataclass(frozen=True)
class Began(Plain):
    """How the micro-batches before a restart ended.

    Attributes:
        operators: the operators that kept state.
        batches: how many micro-batches there were.
        error: what the query failed with, "" for nothing.
    """

    operators: tuple[str, ...] = ()
    batches: int = 0
    error: str = ""


@dataclass(frozen=True)
class Place(Plain):
    """Where a version before a restart runs.

    Attributes:
        python: the Python of the release.
        environment: the environment variables of its processes.
        file: the file of the version.
        driver: the name of the engine's driver.
        release: the release, for people.
    """

    python: str
    environment: Mapping[str, str] = field(default_factory=dict)
    file: str = ""
    driver: str = ""
    release: str = ""


class Beginner:
    """The other end of the process of a place. The process makes one run at a time. It starts with the first one, and
    ends with ``close``."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._process: subprocess.Popen[str] | None = None
        self._one_at_a_time = threading.Lock()

    def begin(self, name: str, folder: Path, files: int, settings: Mapping[str, str]) -> Began:
        """Run the subject of a name over the input of a folder.

        Raises:
            CannotRun: the process ended. The log has its output.
        """
        asked = {"name": name, "folder": str(folder), "files": files, "settings": dict(settings)}
        with self._one_at_a_time:
            return self._begun(json.dumps(asked))

    def _begun(self, asked: str) -> Began:
        if self._process is None:
            self._process = subprocess.Popen(
                [self.place.python, "-m", "conformance.subjects.processes.beginning", json.dumps(self.place.to_json())],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(self.place.environment),
            )  # fmt: skip
        told = ""
        if self._process.stdin and self._process.stdout:
            try:
                self._process.stdin.write(asked + "\n")
                self._process.stdin.flush()
                told = self._process.stdout.readline()
            except BrokenPipeError:
                pass
        if not told:
            raise CannotRun(
                f"the process of {self.place.release} ended with code {self._process.wait()}; the log has its output"
            )
        return Began.from_json(json.loads(told))

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = None

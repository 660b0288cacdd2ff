"""The binary of Prism that belongs to the installed Beam: found, or built with Go."""

from __future__ import annotations

import hashlib
import mmap
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path

from conformance.model.engine import CannotRun

VARIABLE = "CONFORMANCE_PRISM"
PACKAGE = "github.com/apache/beam/sdks/v2/go/cmd/prism"
BUILD_SECONDS = 600
"""Bounds a build, or waiting for another process that builds. It took 70 to 130 s on two cores, and 230 s beside a
run."""


def check() -> None:
    """Raise CannotRun where there is neither a binary nor a Go to build it with."""
    if find() is None and _go() is None:
        raise _none_to_be_had("there is no Go to build it with")


def obtain() -> Path:
    """The binary; it is built where there is none yet.

    Raises:
        CannotRun: there is none to be had; says how to get one.
    """
    return find() or _build()


def find() -> Path | None:
    """The binary that the environment names, else one on the search path, in Beam's own cache, or in ours.

    Raises:
        CannotRun: what the environment names is no program.
    """
    if named := os.environ.get(VARIABLE):
        if not os.access(named, os.X_OK) or Path(named).is_dir():
            raise CannotRun(f"the environment variable {VARIABLE} names {named}, which is no program")
        return Path(named)
    on_path = shutil.which("prism")
    if on_path and built_from(Path(on_path)) in (f"v{_beam()}", "(devel)"):  # other programs go by this name
        return Path(on_path)
    return next((path for path in (_of_beam(), _ours()) if os.access(path, os.X_OK)), None)


def built_from(binary: Path) -> str:
    """The version of Beam that a binary was built from: "(devel)" for a source tree, "" where it tells none."""
    with binary.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return ""
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = re.search(rb"path\t%s\nmod\t\S+\t([^\t\n]+)" % PACKAGE.encode(), content)
            return found[1].decode() if found else ""


def roots() -> dict[str, str]:
    """What identifies the binary that is there; nothing where there is none yet."""
    try:
        binary = find()
    except CannotRun:
        binary = None
    return {"prism": _content_of(str(binary), binary.stat().st_mtime_ns)} if binary else {}


@cache
def _content_of(binary: str, changed: int) -> str:
    """A digest of a binary's content. ``changed`` is its time of change."""
    digest = hashlib.sha256()
    with Path(binary).open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()[:12]


def _beam() -> str:
    return version("apache-beam")


def _of_beam() -> Path:
    """Where Beam 2.77.0 itself puts a binary that it has downloaded."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine().lower())
    name = f"apache_beam-v{_beam()}-prism-{platform.system().lower()}-{machine}"
    return Path.home() / ".apache_beam" / "cache" / "prism" / "bin" / name


def _ours() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "conformance" / f"prism-{_beam()}" / "prism"


def _go() -> str | None:
    return shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")  # where Go's own installer puts it


def _build() -> Path:
    go, folder = _go(), _ours().parent
    if go is None:
        raise _none_to_be_had("there is no Go to build it with")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.with_name(f"{folder.name}.lock")):
            if not os.access(_ours(), os.X_OK):  # else another process has built it meanwhile
                half = folder.with_name(f"{folder.name}.half")
                for leftover in (half, folder):
                    shutil.rmtree(leftover, ignore_errors=True)
                half.mkdir()
                _install(go, half)
                half.rename(folder)
    except (OSError, subprocess.SubprocessError, TimeoutError) as error:
        raise _none_to_be_had(f"its build failed ({_reason(error)})") from None
    return _ours()


def _install(go: str, folder: Path) -> None:
    """Builds the binary in a module of its own: ``go install`` refuses a release whose go.mod replaces a dependency,
    such as 2.63.0."""
    (module := folder / "module").mkdir()
    (module / "go.mod").write_text("module prism\n", encoding="utf-8")
    settings = {"GOTMPDIR": str(folder)}
    environment = {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")} | settings
    end = time.monotonic() + BUILD_SECONDS
    for command in (["get", f"{PACKAGE}@v{_beam()}"], ["build", "-o", str(folder / "prism"), PACKAGE]):
        done = subprocess.run(
            [go, *command],
            cwd=module,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=end - time.monotonic(),
        )
        if done.returncode:
            said = [line.strip() for line in done.stderr.splitlines() if not line.startswith("go: downloading")]
            raise subprocess.SubprocessError(" ".join(said) or "no message")


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time."""
    import fcntl

    with lock.open("w") as file:
        end = time.monotonic() + BUILD_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise TimeoutError(f"another process has been building it for {BUILD_SECONDS} s") from None
                time.sleep(0.2)
        yield


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not done within {BUILD_SECONDS} s"
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__


def _none_to_be_had(why: str) -> CannotRun:
    return CannotRun(f"no binary of Prism, and {why}: go install {PACKAGE}@v{_beam()}, then name it in {VARIABLE}")

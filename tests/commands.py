"""The command line as a user meets it, in this process: what a process of its own would say, without waiting for its
start.

``conformance`` is for most tests. ``conformance_process`` is for those that are about the process."""

import io
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass

from conformance.cli.main import main
from conformance.plugins import loading, settings


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    returncode: int
    stdout: str
    stderr: str


def conformance(*arguments, cwd, env=None, path=()):
    """``path`` lists folders that Python finds modules in, here and in the processes of engines."""
    out, err = io.StringIO(), io.StringIO()
    with _as_before(), redirect_stdout(out), redirect_stderr(err):
        os.chdir(cwd)
        os.environ.update(_environment(env, path))
        sys.path[:0] = map(str, path)
        loading.ask_for(())
        settings._given = None
        try:
            main.main([*map(str, arguments)], prog_name="conformance")
            code = 0
        except SystemExit as end:
            code = end.code or 0
    return Done(code, out.getvalue(), err.getvalue())


def conformance_process(*arguments, cwd, env=None, path=()):
    return subprocess.run(
        [sys.executable, "-m", "conformance.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | _environment(env, path),
        check=False,
    )


def _environment(env, path):
    if not path:
        return env or {}
    there = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join([*map(str, path), *([there] if there else [])])} | (env or {})


@contextmanager
def _as_before():
    """What a command changes in its process is as before when it has ended."""
    folder, environment, found, asked = os.getcwd(), dict(os.environ), [*sys.path], loading._asked
    given = settings._given
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:] = found
        loading._asked, settings._given = asked, given
        for number, handler in handlers.items():
            signal.signal(number, handler)

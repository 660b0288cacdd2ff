"""What the Beam adapters share about the framework: is it there, and which version."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from conformance.engine import CannotRun


def check() -> None:
    """Raise CannotRun where Beam is missing."""
    if find_spec("apache_beam") is None:
        raise CannotRun("Apache Beam is not installed: pip install 'conformance[beam]'")


def environment(runner: str) -> dict[str, str]:
    """Versions, and the runner in use."""
    import apache_beam

    return {"beam": apache_beam.__version__, "runner": runner, "python": sys.version.split()[0]}

"""What the Beam adapters share about the framework: is it there, and which version."""

from __future__ import annotations

import sys

from conformance.engine import CannotRun


def check() -> None:
    """Raise CannotRun where Beam is missing."""
    try:
        import apache_beam  # noqa: F401
    except ImportError:
        raise CannotRun("Apache Beam is not installed: pip install 'conformance[beam]'") from None


def environment(runner: str) -> dict[str, str]:
    """Versions, and the runner in use."""
    import apache_beam

    return {"beam": apache_beam.__version__, "runner": runner, "python": sys.version.split()[0]}

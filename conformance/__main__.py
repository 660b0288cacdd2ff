"""``python -m conformance`` is the command ``conformance``."""

import conformance.cli.__main__  # noqa: F401

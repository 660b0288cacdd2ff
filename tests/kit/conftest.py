"""The toy engines, imported by name; their folder is on the path no longer than that takes, so that other tests do not
find the toy's entry point."""

import sys
from pathlib import Path

TOY = Path(__file__).parent / "toy_engine"

sys.path.insert(0, str(TOY))
try:
    import broken_toys  # noqa: F401
    import toy_engine  # noqa: F401
finally:
    sys.path.remove(str(TOY))

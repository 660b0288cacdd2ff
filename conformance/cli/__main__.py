"""``python -m conformance.cli`` is the command ``conformance``."""

from conformance.cli.main import main

try:
    main()
finally:
    # CPython 3.11 remembers an interrupt that came within exec() of a text, even a caught one. A program started by -m
    # then ends by SIGINT, not with its exit code. Each dataclass is made by such an exec(). Another exec() makes the
    # interpreter forget.
    exec("")

"""``python -m conformance.cli`` is the command ``conformance``."""

from conformance.cli.main import main

try:
    main()
finally:
    # An interrupt within the exec() of a text, which every dataclass is made by, ends a program that was started by -m by its signal, even
    # if the interrupt was caught (CPython 3.11). Another exec() of a text makes the interpreter forget it.
    exec("")
